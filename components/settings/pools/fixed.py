"""Pools of nodes that the program does not rent, from the entries of a stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.catalog.machines import GPUS
from facts.concepts.kubernetes import Taint, resource_of
from facts.concepts.parts import NO_GPUS, Drivers, Gpus, Nodes, Scaling, SharedGpu
from facts.concepts.pool import (
    SKYPILOT_LABEL,
    TEAMS_LABEL,
    Pool,
    Role,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

MACHINE_TYPE: Final = "own"
"""What a pool of own machines has in place of a machine type."""


def gpu_pools(entries: Sequence[Any], nodes: Sequence[int], drivers: Sequence[Drivers]) -> tuple[Pool, ...]:
    """GPU pools of entries with the keys of ``OwnGpuPool``, each with its number of nodes and who installs drivers."""
    open_to_all = of_all(entries)
    smallest = min(entry.gpus_per_node for entry in open_to_all)
    whole = {entry.gpus_per_node for entry in open_to_all if entry.time_sharing is None}
    together = zip(entries, nodes, drivers, strict=True)
    return tuple(_gpu_pool(index, *each, smallest, whole) for index, each in enumerate(together))


def of_all(entries: Sequence[Any]) -> Sequence[Any]:
    """The entries that are not for teams; all if there are no others. Of their pools the smallest takes a pod that only
    sets a GPU limit."""
    return [entry for entry in entries if not entry.teams] or entries


def _gpu_pool(index: int, entry: Any, nodes: int, drivers: Drivers, smallest: int, whole: set[int]) -> Pool:
    size, sharing = entry.gpus_per_node, entry.time_sharing
    gpus = Gpus(
        type=entry.gpu,
        accelerator=entry.gpu,
        per_node=size,
        resource=resource_of(entry.gpu),
        drivers=drivers,
        time_sharing=None if sharing is None else SharedGpu(clients_per_gpu=sharing.clients_per_gpu),
    )
    launcher = {SKYPILOT_LABEL: GPUS[entry.gpu].skypilot.lower()} if entry.gpu in GPUS and sharing is None else {}
    of_teams = {TEAMS_LABEL: entry.name} if entry.teams else {}
    name = f"{entry.name}-{size}"
    pool = fixed_pool(
        name,
        "gpu",
        nodes,
        {**launcher, **gpu_pool_labels(name, entry.gpu, size, {**of_teams, **entry.labels})},
        gpus=gpus,
        taints=gpu_pool_taints(
            size,
            smallest,
            (
                *(Taint(key, value, "NoSchedule") for key, value in of_teams.items()),
                *(taint.node_taint() for taint in entry.taints),
            ),
            shares=gpus.shares if size in whole else 1,
        ),
        usd=entry.hourly_usd,
        declared_at=f"gpuPools[{index}]",
    )
    return replace(pool, nodes=replace(pool.nodes, teams=entry.teams))


def cpu_pool(index: int, entry: Any, nodes: int) -> Pool:
    """A CPU pool of an entry with the keys of ``OwnCpuPool``."""
    return fixed_pool(
        entry.name,
        "cpu",
        nodes,
        cpu_pool_labels(entry.name, entry.labels),
        taints=tuple(taint.node_taint() for taint in entry.taints),
        usd=entry.hourly_usd,
        declared_at=f"cpuPools[{index}]",
    )


def fixed_pool(
    name: str,
    role: Role,
    nodes: int,
    labels: Mapping[str, str],
    *,
    taints: tuple[Taint, ...] = (),
    gpus: Gpus = NO_GPUS,
    usd: float | None = None,
    declared_at: str = "",
) -> Pool:
    """A pool of so many nodes that are always there; ``usd`` is what one costs an hour."""
    return Pool(
        name=name,
        role=role,
        nodes=Nodes(
            machine_types=(MACHINE_TYPE,),
            zones=(),
            labels=labels,
            taints=taints,
            image="ubuntu",
            hourly_usd=usd,
            dearest_hourly_usd=usd,
        ),
        scaling=Scaling(min_nodes=nodes, max_nodes=nodes, autoscaled=False, capacity_type="fixed"),
        gpus=gpus,
        declared_at=declared_at,
        own_hourly_usd=usd,
    )
