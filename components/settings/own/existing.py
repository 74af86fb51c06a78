"""A stack file for a cluster that somebody else made → settings, or every problem at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from components.settings.fields import ValidationContext
from components.settings.own import pools
from components.settings.own.existing_sections import (
    ExistingAdminPool,
    ExistingCpuPool,
    ExistingGpuPool,
    ExistingStackFile,
)
from components.settings.own.resolved import ExistingNodes, Resolved, cloud_only, names_apart, own_keys
from components.settings.problems import Problem, invalid
from facts import catalog
from facts.concepts.pool import ADMIN_POOL_NAME, Pool, admin_pool_labels

Entry = ExistingAdminPool | ExistingGpuPool | ExistingCpuPool

_THERE: Final = "the cluster is there already, somebody else made it"
_NODES_THERE: Final = "the nodes are there already, somebody else made them"
# Key of other stack files → what to do instead.
_NOT_OURS: Final[Mapping[str, str]] = {
    "region": "Leave it out",
    "zones": "Leave it out; select nodes by their zone: selector: {topology.kubernetes.io/zone: …}",
    "availability": "Leave it out",
    "kubernetes": "Leave it out; the cluster's owner upgrades it",
    "network": "Leave it out; the cluster's owner decides who reaches it",
    "monitoring": "Leave it out; workloads.monitoring installs Prometheus",
    "maintenance": "Leave it out; the cluster's owner decides when it is upgraded",
    "autoscaling": "Write capacity: autoscaled in the pools whose nodes the cluster's autoscaler makes",
    "addons": "Leave it out; install them as you do on that cluster",
    "identities": "Leave it out; bind service accounts to your cloud's identities yourself",
    "labels": "Leave it out; labels of nodes are gpuPools[].labels",
    "tags": "Leave it out; no resource of a cloud is made",
    "raw": "Leave it out; no resource of a cloud is made",
    "ssh": "Leave it out: no machine is logged in to. To make a cluster of machines, write cloud: kubeadm",
    "packages": "Leave it out: nothing is installed on machines. To make a cluster of machines, write cloud: kubeadm",
}
_NOT_OURS_IN_POOLS: Final[Mapping[str, str]] = {
    "minNodes": "Leave it out; the autoscaler's owner decides",
    "zones": "Leave it out; select nodes by a label: selector: {topology.kubernetes.io/zone: …}",
    "driverVersion": "Leave it out; the nodes' owner installs their driver",
    "mig": "Leave it out; the nodes' owner partitions their GPUs",
    **dict.fromkeys(
        ("machineType", "machineTypes", "image", "diskGb", "raw", "unneededMinutes", "locationPolicy", "upgrade",
         "placement", "imageStreaming", "reservation", "nodes"),
        "Leave it out; the nodes' owner chose it",
    ),
}  # fmt: skip


def resolve(raw: Mapping[str, Any]) -> Resolved | list[Problem]:
    """The pools and nodes of a stack file, or all its problems."""
    cloud = str(raw["cloud"])
    refused = [*_not_ours(own_keys(raw))]
    cleaned = _without(own_keys(raw))
    try:
        file = ExistingStackFile.model_validate(cleaned, context=ValidationContext(cloud, catalog.of(cloud), None, ()))
    except ValidationError as error:
        return [*refused, *invalid(error, ExistingStackFile, cleaned)]
    problems = [*refused, *names_apart(file), *cloud_only(raw), *_nodes(file), *_one_pool_each(file), *_tools(file)]
    if problems:
        return problems
    drivers: list[Any] = ["managed" if entry.drivers == "device-plugin" else "none" for entry in file.gpu_pools]
    gpu_pools = pools.gpu_pools(file.gpu_pools, [_count(entry) for entry in file.gpu_pools], drivers)
    gpu_pools = tuple(
        _scaled(pool) if entry.capacity == "autoscaled" else pool
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


def _scaled(pool: Pool) -> Pool:
    """A pool whose nodes come and go without the program."""
    return replace(pool, min_nodes=0, autoscaled=True, owned=False)


def _not_ours(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for key, remedy in _NOT_OURS.items():
        if key in raw:
            yield Problem(key, _THERE, remedy)
    for where, entry in _pool_entries(raw):
        yield from (
            Problem(f"{where}.{key}", _NODES_THERE, remedy)
            for key, remedy in _NOT_OURS_IN_POOLS.items()
            if key in entry
        )


def _without(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The file without what ``_not_ours`` reports."""
    cleaned = {key: value for key, value in raw.items() if key not in _NOT_OURS}
    for key in ("adminPool", "gpuPools", "cpuPools"):
        value = cleaned.get(key)
        if isinstance(value, list):
            cleaned[key] = [_of_entry(entry) for entry in value]
        elif isinstance(value, dict):
            cleaned[key] = _of_entry(value)
    return cleaned


def _of_entry(entry: Any) -> Any:
    return {k: v for k, v in entry.items() if k not in _NOT_OURS_IN_POOLS} if isinstance(entry, dict) else entry


def _pool_entries(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("adminPool", "gpuPools", "cpuPools"):
        value = raw.get(key)
        if isinstance(value, dict):
            yield key, value
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            if isinstance(entry, dict):
                yield f"{key}[{index}]", entry


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
