"""Facts about the pools, as variables of the policies in ``gpu-placement.yaml``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from facts.catalog.model import Resources
from facts.concepts.kubernetes import Taint, node_taints
from facts.concepts.pool import GPU_LABEL, GPU_TAINT, ROLE_LABEL, Pool, gpus_per_pod


def facts(
    pools: Sequence[Pool], *, adds_gpu_toleration: bool, room: Mapping[str, Resources] | None = None
) -> list[dict[str, str]]:
    """The variables that describe ``pools``, smallest and preferred first, without taints that the cloud tolerates.

    ``room``: the CPU and memory that a node of a pool leaves for pods, where that is known.
    """
    ordered = sorted(pools, key=lambda pool: (pool.gpus_per_node, pool.preference))
    implied = {GPU_TAINT} if adds_gpu_toleration else set()
    label_keys = sorted({ROLE_LABEL, *(key for pool in pools for key in pool.labels)})
    values: dict[str, Any] = {
        "pools": [pool.name for pool in ordered],
        "sizes": {pool.name: pool.gpus_per_node for pool in ordered},
        "types": {pool.name: pool.gpus.type for pool in ordered},
        "shares": {pool.name: pool.gpus.shares for pool in ordered},
        "capacity": {pool.name: gpus_per_pod(pool) for pool in ordered},
        "smallerSiblings": {pool.name: _most_gpus_of_smaller(pool, pools) for pool in ordered},
        "room": {name: {"cpu": each.milli_cpu, "memory": each.memory_mib} for name, each in (room or {}).items()},
        "labelKeys": label_keys,
        "labels": {pool.name: dict(pool.labels) for pool in ordered},
        "taints": {pool.name: _repelling(pool, implied) for pool in ordered},
        "advice": {pool.name: advice(pool, implied) for pool in ordered},
        "toleration": {pool.name: _tolerations(pool, implied) for pool in ordered},
        "triedBefore": {pool.name: _tried_before(pool, pools) for pool in ordered},
        "offered": {pool.name: pool.allocatable_gpus for pool in ordered},
    }
    return [{"name": name, "expression": json.dumps(value, ensure_ascii=False)} for name, value in values.items()]


def advice(pool: Pool, implied: set[Taint]) -> str:
    """What a pod needs to use ``pool`` and its fallback pools, in one line: a message must not contain line breaks."""
    tolerations = _tolerations(pool, implied)
    return f"{tolerations}{' and ' if tolerations else ''}nodeSelector: {{{GPU_LABEL}: {pool.gpus.type}}}"


def _tolerations(pool: Pool, implied: set[Taint]) -> str:
    lines = [
        f'{{key: {taint["key"]}, operator: Equal, value: "{taint["value"]}", effect: {taint["effect"]}}}'
        for taint in _repelling(pool, implied)
    ]
    return f"tolerations: [{', '.join(lines)}]" if lines else ""


def _tried_before(pool: Pool, pools: Sequence[Pool]) -> str:
    """The pool of the same entry that is tried before ``pool``; empty if there is none."""
    return next(
        (
            other.name
            for other in pools
            if (other.declared_at, other.gpus_per_node) == (pool.declared_at, pool.gpus_per_node)
            and other.preference < pool.preference
        ),
        "",
    )


def _most_gpus_of_smaller(pool: Pool, pools: Sequence[Pool]) -> int:
    """Maximum GPUs per pod in pools of the same GPU type and a smaller size; 0 without such a pool."""
    smaller = (
        other for other in pools if other.gpus.type == pool.gpus.type and other.gpus_per_node < pool.gpus_per_node
    )
    return max((gpus_per_pod(other) for other in smaller), default=0)


def _repelling(pool: Pool, implied: set[Taint]) -> list[dict[str, str]]:
    return node_taints(each for each in pool.taints if each.effect != "PreferNoSchedule" and each not in implied)
