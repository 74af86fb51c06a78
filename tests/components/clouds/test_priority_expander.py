"""The order in which an autoscaler inside the cluster tries the pools that fit."""

from __future__ import annotations

import random
import re

import yaml

from components.clouds.priority_expander import Pool, priorities, priority_config_map
from tests.components import specs
from tests.tables import cases

SPOT = specs.gpu_pool("spot-1")
FALLBACK = specs.gpu_pool("spot-1-ondemand", spot=False, preference=1)
ALWAYS = specs.gpu_pool("always-1", spot=False)
BIG = specs.gpu_pool("big-8", size=8)
RESERVED = specs.gpu_pool("reserved-1", spot=False, reservation="cr-0123456789abcdef0")
CHEAP = specs.gpu_pool("cheap-1", hourly_usd=0.2)
DEAR = specs.gpu_pool("dear-1", hourly_usd=3.0)
POOLS = {pool.name: pool for pool in (SPOT, FALLBACK, ALWAYS, BIG, RESERVED, CHEAP, DEAR)}


def exactly(pool: Pool) -> str:
    return f"^{re.escape(pool.name)}$"


def order(*pools: Pool) -> list[list[str]]:
    """Names of the pools in the order in which the expander tries them, as it reads the object's own text."""
    text = priority_config_map(priorities(pools, exactly))["data"]["priorities"]
    read: dict[int, list[str]] = yaml.safe_load(text)
    assert all(number > 0 for number in read)
    names = [pool.name for pool in pools]
    (last,) = read.pop(min(read))
    assert all(re.search(last, name) for name in ("any-group", *names))
    return [
        [name for name in names if any(re.search(expression, name) for expression in read[number])]
        for number in sorted(read, reverse=True)
    ]


@cases
def test_one_pool_comes_before_the_other_however_they_are_written(first: str, second: str) -> None:
    one, other = POOLS[first], POOLS[second]
    assert order(one, other) == order(other, one) == [[first], [second]]


def test_pools_that_nothing_tells_apart_share_a_priority() -> None:
    zones = [specs.gpu_pool(f"t4-1-{letter}", hourly_usd=0.2) for letter in "abc"]
    assert order(*zones, FALLBACK) == [["t4-1-a", "t4-1-b", "t4-1-c"], ["spot-1-ondemand"]]


def test_every_pool_has_exactly_one_place() -> None:
    pools = [SPOT, FALLBACK, ALWAYS, BIG, CHEAP, DEAR, RESERVED, specs.cpu_pool("cpu")]
    random.Random(4).shuffle(pools)
    tried = [name for names in order(*pools) for name in names]
    assert sorted(tried) == sorted(pool.name for pool in pools)


def test_the_expander_finds_the_object() -> None:
    metadata = priority_config_map({10: ["a"]})["metadata"]
    assert metadata == {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"}
