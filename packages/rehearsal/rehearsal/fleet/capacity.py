"""Allocatable resources of a machine: its size less what the cloud reserves for the system.

A machine may declare its reservations, including the eviction threshold. The default is GKE's reservations
(versions up to 1.36):
https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes#memory_and_cpu_reservations
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from rehearsal.simulation import NodeShape

GPU: Final = "nvidia.com/gpu"
_EVICTION_MIB: Final = 100
_UNLIMITED: Final = math.inf
# (size of the band, reserved share of it)
_CPU_BANDS: Final = ((1, 0.06), (1, 0.01), (2, 0.005), (_UNLIMITED, 0.0025))
_MEMORY_GIB_BANDS: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (_UNLIMITED, 0.02))


@dataclass(frozen=True)
class Capacity:
    """Resources of one node. ``gpus``: those of the machine, even if no driver has made them usable."""

    cpu_millicores: int
    memory_mib: int
    gpus: int
    pods: int
    disk_mib: int

    def resources(self, gpus: int | None = None) -> dict[str, str]:
        """A Kubernetes ResourceList. ``gpus`` replaces the number of GPUs; machines without GPUs have no such key."""
        quantities = {
            "cpu": f"{self.cpu_millicores}m",
            "memory": f"{self.memory_mib}Mi",
            "ephemeral-storage": f"{self.disk_mib}Mi",
            "pods": str(self.pods),
        }
        if self.gpus:
            quantities[GPU] = str(self.gpus if gpus is None else gpus)
        return quantities


def capacity(machine: NodeShape) -> Capacity:
    """The whole machine."""
    return Capacity(
        round(machine.cpu * 1000), round(machine.memory_gib * 1024), machine.gpus, machine.max_pods, machine.disk_mib
    )


def allocatable(machine: NodeShape) -> Capacity:
    """Resources for pods, system pods included."""
    whole = capacity(machine)
    return replace(
        whole,
        cpu_millicores=whole.cpu_millicores - _reserved_millicores(machine),
        memory_mib=whole.memory_mib - _reserved_mib(machine),
    )


def _reserved_millicores(machine: NodeShape) -> int:
    if machine.reserved_milli_cpu is not None:
        return machine.reserved_milli_cpu
    return math.ceil(_banded(machine.cpu, _CPU_BANDS) * 1000)


def _reserved_mib(machine: NodeShape) -> int:
    if machine.reserved_memory_mib is not None:
        return machine.reserved_memory_mib
    reserved = 255 if machine.memory_gib < 1 else _banded(machine.memory_gib, _MEMORY_GIB_BANDS) * 1024
    return math.ceil(reserved) + _EVICTION_MIB


def _banded(size: float, bands: tuple[tuple[float, float], ...]) -> float:
    total = 0.0
    for width, share in bands:
        total += min(size, width) * share
        size = max(0.0, size - width)
    return total
