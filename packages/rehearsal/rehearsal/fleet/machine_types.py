"""Allocatable resources of a machine, and the autoscaler's instance types: one per machine shape of any group.

A machine may declare its reservations, including the eviction threshold and what its kernel takes; those of the clouds
do. The default is the tiers of GKE's documentation alone (versions up to 1.36):
https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes#memory_and_cpu_reservations

Karpenter's kwok provider looks a type up by its name alone, and its name becomes the node's instance-type label. So a
shape is called what the cloud calls the machine; where two groups use one machine type with different GPUs attached
(GKE's N1), the second shape gets a name of its own, and the fleet corrects the label on the node. The limit that
remains: a pod that selects that machine type by label does not make such a second group grow from zero.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from rehearsal.simulation import NodeShape, SimulatedNodeGroup

GPU: Final = "nvidia.com/gpu"
EFA: Final = "vpc.amazonaws.com/efa"
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
    efa: int = 0
    gpu_resource: str = GPU

    def resources(self, gpus: int | None = None) -> dict[str, str]:
        """A Kubernetes ResourceList. ``gpus`` replaces the number of GPUs, before a plugin offers any device; machines
        without GPUs or EFA have no such key."""
        quantities = {
            "cpu": f"{self.cpu_millicores}m",
            "memory": f"{self.memory_mib}Mi",
            "ephemeral-storage": f"{self.disk_mib}Mi",
            "pods": str(self.pods),
        }
        if self.gpus:
            quantities[self.gpu_resource] = str(self.gpus if gpus is None else gpus)
        if self.efa:
            quantities[EFA] = str(self.efa if gpus is None else 0)
        return quantities


def capacity(machine: NodeShape) -> Capacity:
    """The whole machine."""
    return Capacity(
        round(machine.cpu * 1000),
        round(machine.memory_gib * 1024),
        machine.gpus,
        machine.max_pods,
        machine.disk_mib,
        machine.efa,
        machine.gpu_resource,
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


CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
ZONE: Final = "topology.kubernetes.io/zone"

# Karpenter's kwok provider subtracts this from each type; it is added here to get the exact allocatable resources.
# https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/kwok/cloudprovider/helpers.go
_OVERHEAD_MILLICORES: Final = 100
_OVERHEAD_MIB: Final = 10

Offering = tuple[str, str]
_Machine = tuple[str, NodeShape]


def _machine(group: SimulatedNodeGroup) -> _Machine:
    """What is one type: the cloud's machine type with what is attached to it, as the autoscaler plans with it."""
    return group.nodes.machine_type, group.planned_machine


def capacity_type(group: SimulatedNodeGroup) -> str:
    """Karpenter's capacity type of the group."""
    return "spot" if group.scaling.spot else "on-demand"


class InstanceTypes:
    """A growing catalogue; types are never removed, so a running autoscaler remains valid when a group is deleted."""

    def __init__(self) -> None:
        self._names: dict[_Machine, str] = {}
        self._machines: dict[str, _Machine] = {}
        self._offerings: dict[_Machine, dict[Offering, float]] = {}
        self._exhausted: frozenset[tuple[str, str, str]] = frozenset()

    def add(self, group: SimulatedNodeGroup) -> bool:
        """Make the group's machine available in its zones; returns whether that changed the catalogue."""
        machine = _machine(group)
        before = self._machines.get(group.name, machine)
        self._machines[group.name] = machine
        if machine not in self._names and before[0] == machine[0] and before not in self._machines.values():
            # What is known of the group's machine has changed, as after another tag: it is the same type.
            self._names[machine] = self._names.pop(before, machine[0])
            self._offerings.pop(before, None)
        self._names.setdefault(machine, self._new_name(machine))
        offerings = self._offerings.setdefault(machine, {})
        prices = {(zone, capacity_type(group)): group.nodes.hourly_usd or 0.0 for zone in group.nodes.zones}
        news = not prices.keys() <= offerings.keys()
        self._offerings[machine] = {**prices, **offerings}
        return news

    def exhaust(self, offers: Iterable[tuple[str, str, str]]) -> bool:
        """From now on exactly these (type, zone, capacity type) have no machine; returns whether that is a change."""
        before, self._exhausted = self._exhausted, frozenset(offers)
        return before != self._exhausted

    def name(self, group: SimulatedNodeGroup) -> str:
        """The type's name: that of the machine type, unless another shape already has that name."""
        return self._names.get(_machine(group), group.nodes.machine_type)

    def document(self) -> str:
        """The file for ``--instance-types-file-path``."""
        return json.dumps([self._entry(machine) for machine in self._names], indent=1)

    def _new_name(self, machine: _Machine) -> str:
        (machine_type, shape), taken = machine, self._names.values()
        if machine_type not in taken:
            return machine_type
        details = [machine_type, str(shape.gpus), re.sub(r"[^A-Za-z0-9]+", "-", shape.gpu_name) or "gpus"]
        name = ".".join(details)
        return name if name not in taken else f"{name}.{len(self._names)}"

    def _entry(self, machine: _Machine) -> dict[str, Any]:
        _, shape = machine
        free = allocatable(shape)
        gross = replace(
            free, cpu_millicores=free.cpu_millicores + _OVERHEAD_MILLICORES, memory_mib=free.memory_mib + _OVERHEAD_MIB
        )
        return {
            "name": self._names[machine],
            "architecture": shape.arch,
            "operatingSystems": ["linux"],
            "resources": gross.resources(),
            "offerings": [
                {
                    "Price": price,
                    "Available": True,
                    "Requirements": [
                        {"key": ZONE, "operator": "In", "values": [zone]},
                        {"key": CAPACITY_TYPE, "operator": "In", "values": [kind]},
                    ],
                }
                for (zone, kind), price in self._offerings[machine].items()
                if (self._names[machine], zone, kind) not in self._exhausted
            ],
        }
