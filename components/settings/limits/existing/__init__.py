"""Valid keys for a cluster that somebody else made that do not go together."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits import own
from components.settings.limits.existing.refused import REFUSED
from components.settings.sections.existing_cluster import (
    ExistingAdminPool,
    ExistingCpuPool,
    ExistingGpuPool,
    ExistingStackFile,
)

STACK_FILE: Final = ExistingStackFile
"""The sections of the file."""


def _entries(file: ExistingStackFile) -> Iterator[tuple[str, ExistingAdminPool | ExistingGpuPool | ExistingCpuPool]]:
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
                yield Problem(f"{where}.maxNodes", "missing", "Write for example maxNodes: 4, the autoscaler's maximum")
        elif bool(entry.machines) == bool(entry.selector):
            if entry.machines:
                yield Problem(where, "has machines and a selector", "Leave out selector or machines")
            else:
                yield Problem(where, "has no nodes", "Write machines: [gpu1, gpu2], or a selector and maxNodes")
        elif entry.machines and entry.max_nodes is not None:
            yield Problem(f"{where}.maxNodes", "the machines are listed", "Leave it out")
        elif entry.selector and entry.max_nodes is None:
            yield Problem(
                f"{where}.maxNodes", "missing", "Write for example maxNodes: 4, as many nodes as the selector finds"
            )


def _one_pool_each(file: ExistingStackFile) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for where, entry in _entries(file):
        for name in entry.machines:
            if name in owners:
                yield Problem(
                    f"{where}.machines",
                    f"'{name}' is in {owners[name]} too",
                    f"Leave out '{name}' here, or in {owners[name]}",
                )
            owners.setdefault(name, where)


def _tools(file: ExistingStackFile) -> Iterator[Problem]:
    if file.workloads.tools and file.admin_pool is None:
        message = f"missing: {', '.join(file.workloads.tools)} of workloads run there"
        yield Problem("adminPool", message, "Write adminPool: {machines: […]} with nodes without GPUs")


CHECKS: Final = (functools.partial(own.of_clouds, rows=REFUSED), own.names_apart, _nodes, _one_pool_each, _tools)
"""What is checked of a file."""
