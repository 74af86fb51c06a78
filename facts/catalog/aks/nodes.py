"""What an AKS node leaves for pods.

Reservations: https://learn.microsoft.com/azure/aks/node-resource-reservations (AKS 1.29 and later, read 2026-08). They
are taken of what the guest sees. Azure does not publish that: nodes of 28 and of 32 GiB report 28736340Ki
(https://github.com/carverauto/threadr/issues/68) and 32865016Ki, so a 64th of the memory, which is what the kernel
needs to describe its pages, and 161.3 MiB are missing. Whether the latter grows on larger machines is not recorded.
"""

from __future__ import annotations

import math
import re
from typing import Final

from facts.catalog.model import Machine, Resources, tiered
from facts.concepts.parts import Image
from facts.concepts.pool import Pool

MAX_PODS: Final = 110
"""Pods on a node, for every pool. Azure CNI Overlay allows 250, but each costs 20 MiB of reserved memory."""

# Thousandths of successive cores. The table ends at 64; beyond, its last step goes on.
_CPU_TIERS: Final = ((1, 60), (1, 40), (2, 20), (float("inf"), 10))
_MEMORY_PER_POD_MIB: Final = 20
_MEMORY_BASE_MIB: Final = 50
_MEMORY_AT_MOST: Final = 0.25
_EVICTION_MIB: Final = 100
# Of node auto-provisioning: shares of successive GiB.
_PROVISIONING_TIERS: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (float("inf"), 0.02))
_PROVISIONING_OVERHEAD: Final = 0.075
_PROVISIONING_EVICTION_MIB: Final = 750
_FILE_SYSTEM: Final = 129886128 / 1024**2 / 128
_DISK_FREE: Final = 0.9
_KERNEL_SHARE: Final = 1 / 64
_KERNEL_MIB: Final = 162


# The letter r: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
_INFINIBAND: Final = re.compile(r"Standard_N[A-Z]\d+[a-z]*r[a-z]*_.*")


def most_nodes(machine_type: str) -> int:
    """Of one pool: https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update#agentpool.

    Machines with InfiniBand reach each other in one placement group, which has 100 at most
    (https://learn.microsoft.com/azure/virtual-machines/sizes-hpc). Whether AKS makes such a pool of one group or of
    several (https://github.com/Azure/AKS/issues/2725) is not certain: 100 are right either way.
    """
    return 100 if _INFINIBAND.fullmatch(machine_type) else 1000


def surge_nodes(pool: Pool) -> int:
    """Nodes that an upgrade of the pool adds meanwhile, beyond its maximum; they need quota and addresses.

    https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling. A spot pool has none
    (https://learn.microsoft.com/azure/aks/spot-node-pool), and a GPU pool by default: few have quota for one more.
    """
    if pool.scaling.spot:
        return 0
    upgrade = pool.nodes.upgrade
    if upgrade is not None and (upgrade.max_surge is not None or upgrade.max_unavailable is not None):
        return upgrade.max_surge or 0
    return 0 if pool.role == "gpu" else 1


def allocatable(machine: Machine) -> Resources:
    """What is left for pods on a node for ``MAX_PODS`` pods."""
    return Resources(
        milli_cpu=1000 * machine.vcpus - reserved_milli_cpu(machine.vcpus),
        memory_mib=int(1024 * machine.memory_gib) - reserved_mib(machine.memory_gib, MAX_PODS),
    )


def provisioned(machine: Machine) -> Resources:
    """What node auto-provisioning expects of a new node, less than the node has: of the nominal memory 7.5 % are the
    machine's, then shares as before AKS 1.29 and 750 MiB are reserved. For a pod that asks for more it starts no node.
    https://github.com/Azure/karpenter-provider-azure/blob/352646f5/pkg/providers/instancetype/instancetype.go"""
    mib = int(1024 * machine.memory_gib)
    reserved = int(1024 * tiered(machine.memory_gib, _PROVISIONING_TIERS))
    return Resources(
        milli_cpu=1000 * machine.vcpus - reserved_milli_cpu(machine.vcpus),
        memory_mib=max(0, mib - math.ceil(mib * _PROVISIONING_OVERHEAD) - reserved - _PROVISIONING_EVICTION_MIB),
    )


def reserved_mib(memory_gib: float, pods: int) -> int:
    """MiB that are not for pods on a node for so many: what kernel and firmware take of the memory, what AKS keeps for
    the system, and the eviction threshold."""
    mib = 1024 * memory_gib
    reserved = min(_MEMORY_PER_POD_MIB * pods + _MEMORY_BASE_MIB, _MEMORY_AT_MOST * mib)
    return math.ceil(mib * _KERNEL_SHARE + _KERNEL_MIB + reserved + _EVICTION_MIB)


def reserved_milli_cpu(vcpus: int) -> int:
    """Thousandths of a core that AKS keeps of a node with ``vcpus`` cores."""
    return int(tiered(vcpus, _CPU_TIERS))


def disk_mib(image: Image, size_gb: int) -> int:
    """Ephemeral storage for pods on a node whose disk has ``size_gb``, on any image.

    Of 128 GB, 129886128Ki are the file system's, of which the kubelet keeps a tenth free: 119703055367 bytes are left
    (a node of AKS 1.30.7, February 2025).
    """
    return int(1024 * size_gb * _FILE_SYSTEM * _DISK_FREE)
