"""The order in which GKE's autoscaler tries the pools of a ComputeClass, as its own code does it.

https://github.com/GoogleCloudPlatform/cluster-autoscaler/blob/main/pkg/computeclass/organizer.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.simulation import SimulatedNodeGroup

PATH: Final = "/apis/cloud.google.com/v1/computeclasses"
CLASS_LABEL: Final = "cloud.google.com/compute-class"

Classes = Mapping[str, Mapping[str, Any]]
"""ComputeClass → its ``spec``."""


def classes(cloud: SimulatedCloud) -> Classes:
    """The ComputeClasses in the cluster."""
    return {each["metadata"]["name"]: each.get("spec") or {} for each in cloud.machines().list_objects(PATH)}


def ordered(group: SimulatedNodeGroup, cloud: SimulatedCloud) -> SimulatedNodeGroup:
    """The group at its place in its class: that of the first priority that names it.

    A pool that none names is not scaled. A pool without a class, or of one that does not exist, keeps Google's order.
    """
    name = group.labels.get(CLASS_LABEL, "")
    known = classes(cloud) if name else {}
    if name not in known:
        return group
    priorities = known[name].get("priorities") or []
    place = next((index for index, each in enumerate(priorities) if group.name in each.get("nodepools", ())), None)
    if place is not None:
        return replace(group, rank=place)
    if known[name].get("whenUnsatisfiable") == "ScaleUpAnyway":
        return replace(group, rank=len(priorities))
    why = f"no priority of ComputeClass {name} names the pool"
    return replace(group, autoscaled=False, not_scaled_because=why)
