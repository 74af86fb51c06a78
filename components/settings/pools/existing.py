"""A cluster that somebody else made: what its stack file becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from components.settings.pools import fixed
from components.settings.pools.own import ExistingNodes, in_common
from components.settings.sections.existing_cluster import (
    ExistingAdminPool,
    ExistingCpuPool,
    ExistingGpuPool,
    ExistingStackFile,
)
from components.settings.sections.stack_file import StackFile
from facts.concepts.parts import Scaling
from facts.concepts.pool import ADMIN_POOL_NAME, admin_pool_labels

Entry = ExistingAdminPool | ExistingGpuPool | ExistingCpuPool


def resolved(file: ExistingStackFile) -> tuple[StackFile, ExistingNodes]:
    """What the file has in common with a cloud's, and its nodes."""
    drivers: list[Any] = ["managed" if entry.drivers == "device-plugin" else "none" for entry in file.gpu_pools]
    gpu_pools = fixed.gpu_pools(file.gpu_pools, [_count(entry) for entry in file.gpu_pools], drivers)
    gpu_pools = tuple(
        replace(pool, scaling=Scaling(max_nodes=pool.scaling.max_nodes)) if entry.capacity == "autoscaled" else pool
        for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)
    )
    cpu_pools = tuple(fixed.cpu_pool(index, entry, _count(entry)) for index, entry in enumerate(file.cpu_pools))
    admin = file.admin_pool or ExistingAdminPool()
    entries: dict[str, Entry] = {ADMIN_POOL_NAME: admin}
    entries |= zip([pool.name for pool in (*gpu_pools, *cpu_pools)], (*file.gpu_pools, *file.cpu_pools), strict=True)
    own = ExistingNodes(
        admin_pool=fixed.fixed_pool(ADMIN_POOL_NAME, "admin", _count(admin), admin_pool_labels()),
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        context=file.context,
        machines={name: entry.machines for name, entry in entries.items() if entry.machines},
        selectors={name: entry.selector for name, entry in entries.items() if entry.selector},
    )
    return in_common(file), own


def _count(entry: Entry) -> int:
    return entry.max_nodes or len(entry.machines)
