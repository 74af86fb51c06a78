"""A stack file for a cluster that somebody else made → settings, or every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from components.settings.own import pools
from components.settings.own.existing_sections import (
    ExistingAdminPool,
    ExistingCpuPool,
    ExistingGpuPool,
    ExistingStackFile,
)
from components.settings.own.resolved import ExistingNodes, Resolved
from components.settings.own.valid import valid
from components.settings.problems import Problem
from facts.concepts.parts import Scaling
from facts.concepts.pool import ADMIN_POOL_NAME, admin_pool_labels

Entry = ExistingAdminPool | ExistingGpuPool | ExistingCpuPool

STACK_FILE: Final = ExistingStackFile
"""The sections of the file."""


def resolve(raw: Mapping[str, Any]) -> Resolved | list[Problem]:
    """The pools and nodes of a stack file, or all its problems."""
    file = valid(raw, ExistingStackFile, _nodes, _one_pool_each, _tools)
    if isinstance(file, list):
        return file
    drivers: list[Any] = ["managed" if entry.drivers == "device-plugin" else "none" for entry in file.gpu_pools]
    gpu_pools = pools.gpu_pools(file.gpu_pools, [_count(entry) for entry in file.gpu_pools], drivers)
    gpu_pools = tuple(
        replace(pool, scaling=Scaling(max_nodes=pool.scaling.max_nodes)) if entry.capacity == "autoscaled" else pool
        for pool, entry in zip(gpu_pools, file.gpu_pools, strict=True)
    )
    cpu_pools = tuple(pools.cpu_pool(index, entry, _count(entry)) for index, entry in enumerate(file.cpu_pools))
    admin = file.admin_pool or ExistingAdminPool()
    entries: dict[str, Entry] = {ADMIN_POOL_NAME: admin}
    entries |= zip([pool.name for pool in (*gpu_pools, *cpu_pools)], (*file.gpu_pools, *file.cpu_pools), strict=True)
    return Resolved(
        file=file,
        version=None,
        network={},
        admin_pool=pools.fixed_pool(ADMIN_POOL_NAME, "admin", _count(admin), admin_pool_labels()),
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        own=ExistingNodes(
            context=file.context,
            machines={name: entry.machines for name, entry in entries.items() if entry.machines},
            selectors={name: entry.selector for name, entry in entries.items() if entry.selector},
        ),
    )


def _count(entry: Entry) -> int:
    return entry.max_nodes or len(entry.machines)


def _entries(file: ExistingStackFile) -> Iterator[tuple[str, Entry]]:
    yield from () if file.admin_pool is None else [("adminPool", file.admin_pool)]
    yield from ((f"gpuPools[{index}]", entry) for index, entry in enumerate(file.gpu_pools))
    yield from ((f"cpuPools[{index}]", entry) for index, entry in enumerate(file.cpu_pools))


def _nodes(file: ExistingStackFile) -> Iterator[Problem]:
    """Each pool says in one way which nodes it has."""
    for where, entry in _entries(file):
        if isinstance(entry, ExistingGpuPool) and entry.capacity == "autoscaled":
            for key in ("machines", "selector"):
                if getattr(entry, key):
                    message = "an autoscaled pool has the nodes that its node group labels"
                    yield Problem(f"{where}.{key}", message, "Leave it out, or write capacity: fixed")
            if entry.max_nodes is None:
                yield Problem(f"{where}.maxNodes", "missing", "Write the autoscaler's maximum, such as maxNodes: 4")
        elif bool(entry.machines) == bool(entry.selector):
            message = "has machines and a selector" if entry.machines else "has no nodes"
            yield Problem(where, message, "Write either machines: [gpu1, gpu2], or a selector and maxNodes")
        elif entry.machines and entry.max_nodes is not None:
            yield Problem(f"{where}.maxNodes", "the machines are listed", "Leave it out")
        elif entry.selector and entry.max_nodes is None:
            yield Problem(f"{where}.maxNodes", "missing", "Write how many nodes the selector finds")


def _one_pool_each(file: ExistingStackFile) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for where, entry in _entries(file):
        for name in entry.machines:
            if name in owners:
                yield Problem(f"{where}.machines", f"'{name}' is in {owners[name]} too", "Write each node once")
            owners.setdefault(name, where)


def _tools(file: ExistingStackFile) -> Iterator[Problem]:
    if file.workloads.tools and file.admin_pool is None:
        message = f"missing: {', '.join(file.workloads.tools)} of workloads run there"
        yield Problem("adminPool", message, "Write adminPool: {machines: […]} with nodes without GPUs")
