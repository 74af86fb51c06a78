"""What an AKS node leaves for pods.

Reservations: https://learn.microsoft.com/azure/aks/node-resource-reservations (AKS 1.29 and later, read 2026-08).
"""

from __future__ import annotations

import re
from typing import Final

from facts.catalog.model import Machine, Resources, tiered
from facts.concepts.pool import Pool

MAX_PODS: Final = 110
"""Pods on a node, for every pool. Azure CNI Overlay allows 250, but each costs 20 MiB of reserved memory."""

# Thousandths of successive cores. The table ends at 64; beyond, its last step goes on.
_CPU_TIERS: Final = ((1, 60), (1, 40), (2, 20), (float("inf"), 10))
_MEMORY_PER_POD_MIB: Final = 20
_MEMORY_BASE_MIB: Final = 50
_MEMORY_AT_MOST: Final = 0.25
_EVICTION_MIB: Final = 100


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
    if pool.spot:
        return 0
    upgrade = pool.upgrade
    if upgrade is not None and (upgrade.max_surge is not None or upgrade.max_unavailable is not None):
        return upgrade.max_surge or 0
    return 0 if pool.gpu_part else 1


def allocatable(machine: Machine) -> Resources:
    """Capacity less what AKS reserves for the system and for eviction, at ``MAX_PODS`` pods."""
    memory_mib = 1024 * machine.memory_gib
    reserved = min(_MEMORY_PER_POD_MIB * MAX_PODS + _MEMORY_BASE_MIB, _MEMORY_AT_MOST * memory_mib)
    return Resources(
        milli_cpu=1000 * machine.vcpus - reserved_milli_cpu(machine.vcpus),
        memory_mib=int(memory_mib - reserved - _EVICTION_MIB),
    )


def reserved_milli_cpu(vcpus: int) -> int:
    """Thousandths of a core that AKS keeps of a node with ``vcpus`` cores."""
    return int(tiered(vcpus, _CPU_TIERS))
