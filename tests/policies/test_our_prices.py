"""The gate counts what a stack file says that nodes cost (``hourlyUsd``), on every cloud and with every autoscaler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from facts import catalog
from facts.concepts.declared import Stack
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import UNKNOWN
from policies.rules.ceilings import hourly_cost, idle_cost
from tests import declared, one_stack
from tests.stacks import STACK_FILES, run_program, run_with, stack_name

USD = {"admin": 0.5, "cpu": 0.25, "gpu": 4.0}


def gated(cloud: str, autoscaler: str, **keys: Any) -> Stack:
    """What the gate reads in a stack with a pool of each role."""
    changes: dict[str, Any] = {
        "autoscaling": {"autoscaler": autoscaler},
        "adminPool": {"hourlyUsd": USD["admin"]},
        "cpuPools": [{"name": "cpu", "maxNodes": 3, "hourlyUsd": USD["cpu"]}],
        "gpuPools": [{"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2, "hourlyUsd": USD["gpu"]}],
        "workloads": {},
        **keys,
    }
    return declared.stack(run_with(one_stack.config(cloud, **changes), "one"))


def pool_of(labels: Any) -> str:
    return str(labels[POOL_LABEL]).partition("-")[0]


AUTOSCALERS = [(cloud, each) for cloud in one_stack.CLOUDS for each in catalog.of(cloud).choices.autoscalers]


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_every_pool_has_the_stack_files_price(cloud: str, autoscaler: str) -> None:
    prices = {
        (pool_of(group.nodes.labels), group.nodes.dearest_hourly_usd, group.nodes.price_at_most)
        for group in gated(cloud, autoscaler).groups
    }
    assert prices == {(pool, usd, False) for pool, usd in USD.items()}


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_without_a_price_of_its_own_a_pool_has_none_of_those(cloud: str, autoscaler: str) -> None:
    bare = gated(
        cloud, autoscaler, adminPool={}, cpuPools=[], gpuPools=[{"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2}]
    )
    assert bare.groups
    assert not {group.nodes.dearest_hourly_usd for group in bare.groups} & {*USD.values()}


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_ceilings_count_it(cloud: str, autoscaler: str) -> None:
    stack = gated(cloud, autoscaler)
    initial = [group.initial_nodes for group in stack.groups if pool_of(group.nodes.labels) == "admin"]
    admins = sum(nodes for nodes in initial if nodes is not UNKNOWN)
    (violation,) = idle_cost(stack, max_idle_usd=0)
    assert f"${admins * 0.5:.2f} an hour" in violation.message
    (violation,) = hourly_cost(stack, max_hourly_usd=0)
    assert "gpu" in violation.message
    assert "at most" not in violation.message


@pytest.mark.parametrize("file", [*STACK_FILES, *map(one_stack.variant, one_stack.VARIANTS)], ids=stack_name)
def test_ceilings_can_judge_every_stack_of_the_project(file: Path) -> None:
    stack = declared.stack(run_program(file))
    assert [*hourly_cost(stack, max_hourly_usd=10**6), *idle_cost(stack, max_idle_usd=10**6)] == []
