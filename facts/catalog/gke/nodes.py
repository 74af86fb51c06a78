"""What a GKE node leaves for pods.

Reservations: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes, its tiers as kept in
https://github.com/hatemosphere/gke-node-allocatable-memory-calculator and others (read 2026-11-20), of memory with the
widths of ``pkg/cloudprovider/gke/reserved.go`` in https://github.com/GoogleCloudPlatform/cluster-autoscaler: thousands
of MiB. From 1.37 on GKE reserves less memory where few pods fit on a node; the tiers are then an upper bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, Final

from facts.catalog import tables
from facts.catalog.model import Machine, Resources, tiered
from facts.concepts.parts import Image
from facts.concepts.pool import Pool
from facts.concepts.unknown import at

# CPU: shares of successive cores. Memory: shares of successive MiB.
_CPU_TIERS: Final = ((1, 0.06), (1, 0.01), (2, 0.005), (float("inf"), 0.0025))
_MEMORY_TIERS: Final = ((4000, 0.25), (4000, 0.20), (8000, 0.10), (112000, 0.06), (float("inf"), 0.02))
_KERNEL_MEMORY: Final = {
    key: [
        (int(row["physical"]) / 1024**2, int(row["reserved"]) / 1024**2)
        for row in tables.rows("gke", "kernel_memory")
        if (row["arch"], row["confidential"] == "yes") == key
    ]
    for key in (("amd64", False), ("amd64", True), ("arm64", False))
}
"""By architecture, and whether with confidential computing: MiB of a machine and what its kernel and firmware take of
them, by size."""
_SHARED_CORE_RESERVED_MILLI: Final = 1060
_SMALL_MACHINE_RESERVED_MIB: Final = 255
_EVICTION_MIB: Final = 100
_STREAMING_SHARE: Final = 0.04
_KONNECTIVITY: Final = ((100, 12), (10, 8), (6, 6), (5, 5), (4, 4), (3, 3), (2, 2))
_FILE_SYSTEM: Final = 98831908 / 1024**2 / 100
_DISK_FREE: Final = 0.9


def allocatable(machine: Machine) -> Resources:
    """A machine less what its kernel takes, and what GKE reserves for the system and for eviction. Confidential nodes
    have less (``confidential_mib``)."""
    shared_e2 = machine.shared_core and machine.family == "e2"
    cpu = _SHARED_CORE_RESERVED_MILLI if shared_e2 else 1000 * tiered(machine.vcpus, _CPU_TIERS)
    mib = 1024 * machine.memory_gib
    memory = _reserved_mib(mib) + _EVICTION_MIB
    return Resources(
        milli_cpu=max(0, round(1000 * machine.vcpus - cpu)),
        memory_mib=max(0, int(mib - _kernel_mib(mib, (machine.arch, False)) - memory)),
    )


def _reserved_mib(mib: float) -> int:
    return _SMALL_MACHINE_RESERVED_MIB if mib <= 1000 else int(tiered(mib, _MEMORY_TIERS))


def streaming_mib(machine: Machine) -> int:
    """What GKE reserves more on a node with image streaming: ``gcfsReservedFactor`` of ``reserved.go``, rounded up."""
    return math.ceil(_STREAMING_SHARE * _reserved_mib(1024 * machine.memory_gib))


def confidential_mib(machine: Machine, *raw: Mapping[str, Any]) -> int:
    """What the kernel takes more if one of these inputs, of the cluster or of a node pool, asks for confidential nodes:
    https://cloud.google.com/kubernetes-engine/docs/how-to/confidential-gke-nodes"""
    asked = [at(each, *path, "confidentialNodes", "enabled") for each in raw for path in ((), ("nodeConfig",))]
    key, mib = (machine.arch, True), 1024 * machine.memory_gib
    if True not in asked or key not in _KERNEL_MEMORY:
        return 0
    return math.ceil(_kernel_mib(mib, key) - _kernel_mib(mib, (machine.arch, False)))


def _kernel_mib(mib: float, key: tuple[str, bool]) -> float:
    """What kernel and firmware take of a machine, on the line through the two measured sizes that are next to its."""
    measured = _KERNEL_MEMORY[key]
    place = min(max(1, bisect_left(measured, (mib,))), len(measured) - 1)
    (smaller, low), (larger, high) = measured[place - 1], measured[place]
    return low + (mib - smaller) * (high - low) / (larger - smaller)


def surge_nodes(pool: Pool) -> int:
    """Nodes that an upgrade of the pool adds meanwhile, beyond its maximum. Without quota for one it fails.

    https://cloud.google.com/kubernetes-engine/docs/how-to/node-upgrades-quota. A GPU pool has none by default: few
    projects have quota for one more GPU machine.
    """
    if pool.nodes.upgrade is not None:
        return pool.nodes.upgrade.max_surge or 0
    return 0 if pool.role == "gpu" else 1


def system_replicas(pod: str, nodes: int, vcpus: float) -> int:
    """How many pods of that name a cluster of that size has, tainted nodes included.

    DNS as in https://github.com/kubernetes/kubernetes/blob/master/cluster/addons/dns-horizontal-autoscaler/dns-horizontal-autoscaler.yaml
    (two from the second node on: https://github.com/kubernetes/kubernetes/pull/42065), konnectivity-agent as GKE's
    ConfigMap says in https://github.com/2i2c-org/infrastructure/issues/2490, up to 249 nodes. All others have one.
    """
    if pod == "kube-dns":
        return max(min(nodes, 2), math.ceil(nodes / 16), math.ceil(vcpus / 256))
    if pod == "konnectivity-agent":
        return next((count for least, count in _KONNECTIVITY if nodes >= least), 1)
    return 1


def disk_mib(image: Image, size_gb: int) -> int:
    """Ephemeral storage for pods on a node whose boot disk has ``size_gb``, on any image.

    Half of the disk, or 6 GiB with 35 % of it, or 100 GiB, whichever is least, is GKE's; the kubelet keeps a tenth of
    the file system free. The example of the page above (100 GB, of which 98831908Ki are the file system's, leave
    47060071478 bytes) comes out to the MiB. Machines whose local SSDs become ephemeral storage have more.
    """
    reserved_gib = min(0.5 * size_gb, 6 + 0.35 * size_gb, 100)
    return int(1024 * (_FILE_SYSTEM * size_gb * _DISK_FREE - reserved_gib))
