"""Pools of nodes that the program does not rent, from the entries of a stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from facts.catalog.machines import GPUS
from facts.concepts.pool import (
    SKYPILOT_LABEL,
    Drivers,
    Pool,
    PoolGpus,
    SharedGpu,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

MACHINE_TYPE: Final = "own"
"""What a pool of own machines has in place of a machine type."""


def gpu_pools(entries: Sequence[Any], nodes: Sequence[int], drivers: Sequence[Drivers]) -> tuple[Pool, ...]:
    """GPU pools of entries with the keys of ``OwnGpuPool``, each with its number of nodes and who installs drivers."""
    smallest = min(entry.gpus_per_node for entry in entries)
    whole = {entry.gpus_per_node for entry in entries if entry.time_sharing is None}
    together = zip(entries, nodes, drivers, strict=True)
    return tuple(_gpu_pool(index, *each, smallest, whole) for index, each in enumerate(together))


def _gpu_pool(index: int, entry: Any, nodes: int, drivers: Drivers, smallest: int, whole: set[int]) -> Pool:
    size, sharing = entry.gpus_per_node, entry.time_sharing
    part = PoolGpus(
        type=entry.gpu,
        accelerator=entry.gpu,
        per_node=size,
        drivers=drivers,
        time_sharing=None if sharing is None else SharedGpu(clients_per_gpu=sharing.clients_per_gpu),
    )
    launcher = {SKYPILOT_LABEL: GPUS[entry.gpu].skypilot.lower()} if entry.gpu in GPUS and sharing is None else {}
    name = f"{entry.name}-{size}"
    return fixed_pool(
        name,
        "gpu",
        nodes,
        {**launcher, **gpu_pool_labels(name, entry.gpu, size, entry.labels)},
        gpu_part=part,
        taints=gpu_pool_taints(
            size,
            smallest,
            tuple(taint.node_taint() for taint in entry.taints),
            shares=part.shares if size in whole else 1,
        ),
        hourly_usd=entry.hourly_usd,
        dearest_hourly_usd=entry.hourly_usd,
        declared_at=f"gpuPools[{index}]",
    )


def cpu_pool(index: int, entry: Any, nodes: int) -> Pool:
    """A CPU pool of an entry with the keys of ``OwnCpuPool``."""
    return fixed_pool(
        entry.name,
        "cpu",
        nodes,
        cpu_pool_labels(entry.name, entry.labels),
        taints=tuple(taint.node_taint() for taint in entry.taints),
        hourly_usd=entry.hourly_usd,
        dearest_hourly_usd=entry.hourly_usd,
        declared_at=f"cpuPools[{index}]",
    )


def fixed_pool(name: str, role: Any, nodes: int, labels: Mapping[str, str], **more: Any) -> Pool:
    """A pool of so many nodes that are always there."""
    return Pool(
        name=name,
        role=role,
        machine_types=(MACHINE_TYPE,),
        image="ubuntu",
        disk_gb=0,
        min_nodes=nodes,
        max_nodes=nodes,
        autoscaled=False,
        owned=True,
        zones=(),
        labels=labels,
        **more,
    )
