"""The autoscaler's list of instance types: one per machine shape of any group.

Karpenter's kwok provider looks types up by name only, and the name becomes the node's instance-type label. So a shape
has the cloud's name of the machine. If two groups use one machine type with different GPUs attached (GKE's N1), the
second shape gets its own name, and the fleet corrects the label on the node. Limitation: a pod that selects that
machine type by label does not scale such a second group from zero.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from rehearsal.fleet.capacity import allocatable
from rehearsal.simulation import NodeShape, SimulatedNodeGroup

CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
ZONE: Final = "topology.kubernetes.io/zone"

# Karpenter's kwok provider subtracts this from each type; it is added here to get the exact allocatable resources.
# https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/kwok/cloudprovider/helpers.go
_OVERHEAD_MILLICORES: Final = 100
_OVERHEAD_MIB: Final = 10

Offering = tuple[str, str]


def capacity_type(group: SimulatedNodeGroup) -> str:
    """Karpenter's capacity type of the group."""
    return "spot" if group.spot else "on-demand"


class InstanceTypes:
    """A growing catalogue; types are never removed, so a running autoscaler remains valid when a group is deleted."""

    def __init__(self) -> None:
        self._names: dict[NodeShape, str] = {}
        self._offerings: dict[NodeShape, dict[Offering, float]] = {}

    def add(self, group: SimulatedNodeGroup) -> bool:
        """Make the group's machine available in its zones; returns whether that changed the catalogue."""
        machine = group.machine
        self._names.setdefault(machine, self._new_name(machine))
        offerings = self._offerings.setdefault(machine, {})
        prices = {(zone, capacity_type(group)): group.hourly_usd for zone in group.zones}
        news = not prices.keys() <= offerings.keys()
        self._offerings[machine] = {**prices, **offerings}
        return news

    def name(self, machine: NodeShape) -> str:
        """The type's name: ``machine.type``, unless another shape already has that name."""
        return self._names.get(machine, machine.type)

    def document(self) -> str:
        """The file for ``--instance-types-file-path``."""
        return json.dumps([self._entry(machine) for machine in self._names], indent=1)

    def _new_name(self, machine: NodeShape) -> str:
        taken = self._names.values()
        if machine.type not in taken:
            return machine.type
        details = [machine.type, str(machine.gpus), re.sub(r"[^A-Za-z0-9]+", "-", machine.gpu_name) or "gpus"]
        name = ".".join(details)
        return name if name not in taken else f"{name}.{len(self._names)}"

    def _entry(self, machine: NodeShape) -> dict[str, Any]:
        free = allocatable(machine)
        gross = replace(
            free,
            cpu_millicores=free.cpu_millicores + _OVERHEAD_MILLICORES,
            memory_mib=free.memory_mib + _OVERHEAD_MIB,
        )
        return {
            "name": self._names[machine],
            "architecture": "amd64",
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
            ],
        }
