"""The order in which cluster-autoscaler's ``priority`` expander tries the pools that fit a pending pod.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import yaml

from facts.concepts.kubernetes import manifest
from facts.concepts.pool import Pool

CONFIG_MAP: Final = "cluster-autoscaler-priority-expander"
"""The name that the expander looks for, in the namespace of the autoscaler."""

NAMESPACE: Final = "kube-system"

_REST: Final = {1: [".*"]}
"""Other groups come last, such as an autoscaled admin pool: a group without a match is never chosen while another
fits (https://github.com/kubernetes/autoscaler/issues/2768)."""

_STEP: Final = 10
"""Gap between two priorities, for pools that are declared elsewhere."""


def in_order(pools: Sequence[Pool]) -> list[list[Pool]]:
    """The pools in fallback order; pools of equal rank share a list.

    First choices come before fallbacks, then reserved machines (paid for, used or not), then spot before on-demand,
    then fewer GPUs per node, then the cheaper.
    """
    by_rank: dict[tuple[float, ...], list[Pool]] = defaultdict(list)
    for pool in pools:
        by_rank[_rank(pool)].append(pool)
    return [by_rank[rank] for rank in sorted(by_rank)]


def priorities(pools: Sequence[Pool], pattern: Callable[[Pool], str]) -> dict[int, list[str]]:
    """Priority (positive, the highest is tried first) → regular expressions for the names of the pools' groups.

    Among pools that share a number the next expander in line decides.
    """
    last_first = reversed(in_order(pools))
    return {_STEP * place: sorted(map(pattern, side)) for place, side in enumerate(last_first, start=1)}


def priority_config_map(priorities: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """The ConfigMap of the expander, which rereads it on changes; other groups come last."""
    all_groups = {**priorities, **_REST}
    best_first = {number: list(all_groups[number]) for number in sorted(all_groups, reverse=True)}
    data = {"priorities": yaml.safe_dump(best_first, sort_keys=False)}
    return manifest("v1", "ConfigMap", CONFIG_MAP, NAMESPACE, data=data)


def _rank(pool: Pool) -> tuple[float, ...]:
    """Smaller is better; a pool without a known price comes after those that have one."""
    price = float("inf") if pool.nodes.hourly_usd is None else pool.nodes.hourly_usd
    reserved = pool.scaling.reservation is not None
    return (pool.scaling.preference, not reserved, not pool.scaling.spot, pool.gpus.per_node, price)
