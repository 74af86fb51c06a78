"""What an EKS node leaves for pods.

Reservations: ``nodeadm/internal/kubelet/config.go`` of https://github.com/awslabs/amazon-eks-ami (July 2026). There
memory depends on the pods that a node's network interfaces could address one by one, which is mostly fewer than the
pods it may run with prefix delegation; this module reserves for all of them, so a node has at least what it says.
Memory is nominal: the firmware and kernel take a part first (Karpenter's ``vmMemoryOverheadPercent``, 7.5 %).

Pods per node: https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
"""

from __future__ import annotations

from typing import Final

from facts.catalog.model import Machine, Resources, tiered
from facts.concepts.parts import Image, Upgrade
from facts.concepts.pool import ARM, Pool

ADDRESSES_PER_PREFIX: Final = 16

# Thousandths of successive cores.
_CPU_TIERS: Final = ((1, 60), (1, 10), (2, 5), (float("inf"), 2.5))
_RESERVED_MIB: Final = 255
_RESERVED_MIB_PER_POD: Final = 11
_EVICTION_MIB: Final = 100
VM_OVERHEAD: Final = 0.075
"""The share of the nominal memory that firmware and kernel take."""

# Memory that Graviton keeps for devices, and that Karpenter does not plan with (``memory`` in its instance types):
# https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instancetype/types.go
_GRAVITON_MIB: Final = 64

_MANY_VCPUS: Final = 30
# Sizes, and one type, whose interfaces hold so few prefixes that addresses are what limits pods.
_FEW_PREFIXES: Final = {"nano": 2, "micro": 2, "medium": 6, "t3.medium": None, "t3a.medium": None, "t3a.small": 6}
_PODS_ON_THE_HOST: Final = 2
_DISK_FREE: Final = 0.9
FILE_SYSTEM: Final = {"al2023": 20893676 / 20 / 1024**2, "bottlerocket": 0.983}
"""Shares of a volume that its file system makes usable."""


# The families of the catalogue that are not built on Nitro, as the listing behind ``machines.csv`` says.
_XEN: Final = ("c4", "m4", "r4", "t2")


# Its first card has no EFA, by the listing behind ``machines.csv``.
_FIRST_CARD_FOR_PODS: Final = ("p6-b300",)


def network_interfaces(machine_type: str, devices: int) -> list[tuple[int, int, str]]:
    """Network card, device index and type of each interface of a node with a fabric: one for pods, and ``devices`` with
    EFA alone, which take no addresses.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
    """
    first = 1 if machine_type.partition(".")[0] in _FIRST_CARD_FOR_PODS else 0
    cards = range(first, first + devices)
    return [(0, 0, "interface"), *((card, 0 if card else 1, "efa-only") for card in cards)]


def takes_prefixes(machine_type: str) -> bool:
    """Whether the machine's addresses come in prefixes; on machines before Nitro they come one by one.

    https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html
    """
    return machine_type.partition(".")[0] not in _XEN


def max_pods(machine: Machine) -> int:
    """Pods that EKS allows on a node whose addresses come in prefixes: as many as it has addresses for, and no more
    than 110 or, with 30 vCPUs and more, 250."""
    prefixes = _FEW_PREFIXES.get(machine.type, _FEW_PREFIXES.get(machine.type.rpartition(".")[2]))
    if prefixes is not None:
        return prefixes * ADDRESSES_PER_PREFIX + _PODS_ON_THE_HOST
    return 250 if machine.vcpus >= _MANY_VCPUS else 110


def surge_nodes(pool: Pool) -> int:
    """The most nodes that an update of the node group starts before it ends old ones, beyond its maximum.

    Two for each zone, or as many as are updated at once: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html.
    A GPU pool has none: few accounts have quota for one more GPU machine.
    """
    upgrade = pool.nodes.upgrade or Upgrade()
    return (
        0
        if pool.role == "gpu" or upgrade.max_surge == 0
        else max(2 * len(pool.nodes.zones), upgrade.max_unavailable or 1)
    )


def allocatable(machine: Machine) -> Resources:
    """Capacity less what the node image reserves for the system and for eviction."""
    reserved_memory = _RESERVED_MIB + _RESERVED_MIB_PER_POD * max_pods(machine) + _EVICTION_MIB
    usable_memory = (1024 * machine.memory_gib - (_GRAVITON_MIB if machine.arch == ARM else 0)) * (1 - VM_OVERHEAD)
    return Resources(
        milli_cpu=int(1000 * machine.vcpus - reserved_milli_cpu(machine.vcpus)),
        memory_mib=max(0, int(usable_memory - reserved_memory)),
    )


def most_memory_mib(machine: Machine) -> int:
    """What a node can have for pods at most: what firmware and kernel take is not known, and pods with addresses one by
    one need no less than this. A pod that an autoscaler must not give up on has a node if it asks for less."""
    return int(1024 * machine.memory_gib) - _RESERVED_MIB - _EVICTION_MIB


def disk_mib(image: Image, size_gb: int) -> int:
    """Ephemeral storage for pods on a node whose disk for images and pods has ``size_gb``.

    The kubelet keeps a tenth free (``nodefs.available``) and 1 GiB for itself: ``nodeadm/internal/kubelet/config.go``;
    of 20 GiB, 20893676Ki of which are the file system's, AL2023 leaves 18181869946 bytes (a node of EKS 1.34, November
    2025). Bottlerocket's needs more for itself: 17933882132 bytes (https://github.com/bottlerocket-os/bottlerocket/issues/1563).
    """
    usable = FILE_SYSTEM["bottlerocket" if image == "bottlerocket" else "al2023"]
    return int(1024 * size_gb * usable * _DISK_FREE) - 1024


def reserved_milli_cpu(cores: float) -> int:
    """Thousandths of a core that the node image keeps for the system."""
    # The node image counts whole thousandths of a core.
    return int(tiered(cores, _CPU_TIERS))
