"""How a node of a group looks: labels, annotations for kwok's stages, and whole Node objects.

The annotations carry the node's size to the stages (``rehearsal/stages/node-*.yaml``), because a node that the
autoscaler makes starts with the size of the pods it was made for.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.fleet.capacity import allocatable, capacity
from rehearsal.simulation import NodeGroup

PREFIX: Final = "rehearsal.gpucluster.dev/"
GROUP_LABEL: Final = PREFIX + "group"
DRIVER: Final = PREFIX + "driver"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"


@dataclass(frozen=True)
class ClusterFacts:
    """What every node of a cluster has in common. ``version`` is the kubelet's, without ``v``."""

    name: str
    region: str
    version: str


def labels(group: NodeGroup, cluster: ClusterFacts) -> dict[str, str]:
    """The labels of every node in the group, whatever its zone: the declared ones, region and membership."""
    return {**group.labels, REGION: cluster.region, GROUP_LABEL: group.name}


def stage_annotations(group: NodeGroup, cluster: ClusterFacts) -> dict[str, str]:
    """What the stages need. GPUs start at 0; ``driver`` says whether the cloud installs the driver by itself."""
    result = {
        PREFIX + "capacity": json.dumps(capacity(group.machine).resources(gpus=0)),
        PREFIX + "allocatable": json.dumps(allocatable(group.machine).resources(gpus=0)),
        PREFIX + "kubelet-version": f"v{cluster.version}",
    }
    if group.machine.gpus:
        result[PREFIX + "gpus"] = str(group.machine.gpus)
        result[DRIVER] = "ready" if group.gpus_advertised_by == "cloud" else "missing"
    return result


def taints(group: NodeGroup) -> list[dict[str, str]]:
    """The declared taints, in the API's form."""
    return [dict(taint) for taint in group.taints]


def permanent_node(group: NodeGroup, cluster: ClusterFacts, zone: str) -> dict[str, Any]:
    """A Node that the autoscaler never removes: of a group without autoscaling, or below the group's minimum."""
    name = f"{cluster.name}-{group.name}"[:54].rstrip("-.") + f"-{secrets.token_hex(4)}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **labels(group, cluster),
                INSTANCE_TYPE: group.machine.type,
                ZONE: zone,
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
            },
            "annotations": stage_annotations(group, cluster),
        },
        "spec": {"taints": taints(group), "providerID": f"simulated://{zone}/{name}"},
    }


def spread(count: int, zones: tuple[str, ...]) -> dict[str, int]:
    """``count`` nodes over the zones, as evenly as possible, the first zones first."""
    return {zone: count // len(zones) + (index < count % len(zones)) for index, zone in enumerate(zones)}


def permanent_counts(group: NodeGroup) -> dict[str, int]:
    """Zone → nodes that always exist: the minimum of an autoscaled group, all nodes of another."""
    if not group.autoscaled:
        return dict.fromkeys(group.zones, group.initial_nodes)
    if group.per_zone:
        return dict.fromkeys(group.zones, group.min_nodes)
    return spread(group.min_nodes, group.zones)


def condition(node: Mapping[str, Any], kind: str) -> bool:
    """Whether the node's condition ``kind`` is True."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
