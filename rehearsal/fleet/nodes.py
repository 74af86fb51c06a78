"""How a node of a group looks: labels, annotations for kwok's stages, and whole Node objects.

The annotations carry the node's size to the stages (``rehearsal/cluster/stages/node-*.yaml``), because a node that the
autoscaler makes starts with the size of the pods it was made for.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rehearsal.fleet.capacity import allocatable, capacity
from rehearsal.simulation import MACHINE_GPUS, NodeGroup

PREFIX: Final = "rehearsal.gpucluster.dev/"
GROUP_LABEL: Final = PREFIX + "group"
DRIVER: Final = PREFIX + "driver"
GPUS: Final = MACHINE_GPUS
ADVERTISED_BY: Final = PREFIX + "gpus-advertised-by"
PODS_ENDED_BY: Final = PREFIX + "pods-ended-by"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_INSTANCE_TYPE: Final = "beta.kubernetes.io/instance-type"
"""What kubelets still set beside ``node.kubernetes.io/instance-type``, and older manifests select."""

UNSEEN_TAINT: Final = {"key": PREFIX + "unseen", "effect": "NoSchedule"}
"""Keeps pods off a new node until it has what its group's autoscaler could not see."""


@dataclass(frozen=True)
class ClusterFacts:
    """What every node of a cluster has in common. ``version`` is the kubelet's, without ``v``."""

    name: str
    region: str
    version: str


def kubelet_version(wanted: str, server: str) -> str:
    """A kubelet's version without ``v``: three parts, and never newer than the API server's.

    https://kubernetes.io/releases/version-skew-policy/#kubelet
    """
    wanted, server = wanted.removeprefix("v"), server.removeprefix("v")
    number = [int(part) for part in re.findall(r"[0-9]+", wanted.partition("-")[0])]
    if number[:2] > [int(part) for part in server.split(".")[:2]]:
        return server
    return wanted if len(number) > 2 else ".".join(map(str, [*number, 0]))


def labels(group: NodeGroup, cluster: ClusterFacts) -> dict[str, str]:
    """The labels of every node in the group, whatever its zone: the declared ones, region and membership."""
    return {**seen_labels(group, cluster), **group.unseen_labels}


def seen_labels(group: NodeGroup, cluster: ClusterFacts) -> dict[str, str]:
    """The labels that the autoscaler plans with."""
    return {**group.labels, REGION: cluster.region, GROUP_LABEL: group.name}


def stage_annotations(group: NodeGroup, cluster: ClusterFacts) -> dict[str, str]:
    """What the stages need. GPUs start at 0; ``driver`` says whether the cloud installs the driver by itself."""
    gpus = own_gpus(group)
    result = {
        PREFIX + "capacity": json.dumps(replace(capacity(group.machine), gpus=gpus).resources(gpus=0)),
        PREFIX + "allocatable": json.dumps(replace(allocatable(group.machine), gpus=gpus).resources(gpus=0)),
        PREFIX + "kubelet-version": f"v{cluster.version}",
        PODS_ENDED_BY: group.pods_ended_by,
    }
    if gpus:
        result[GPUS] = str(gpus)
        result[DRIVER] = "ready" if group.gpus_advertised_by == "cloud" else "missing"
        result[ADVERTISED_BY] = group.gpus_advertised_by
    return result


def own_gpus(group: NodeGroup) -> int:
    """GPUs that a node really has, before a device plugin shares each out: not always what the autoscaler expects."""
    return group.machine.gpus if group.offered_gpus is None else group.offered_gpus


def seen_taints(group: NodeGroup) -> list[dict[str, str]]:
    """The taints that the autoscaler plans with, in the API's form."""
    return [_taint(taint) for taint in group.taints]


def taints(group: NodeGroup) -> list[dict[str, str]]:
    """The taints of every node in the group, in the API's form."""
    return [*seen_taints(group), *map(_taint, group.unseen_taints)]


def _taint(taint: Mapping[str, str]) -> dict[str, str]:
    # Karpenter's schema takes a value that is left out, and no empty one.
    return {key: value for key, value in taint.items() if value}


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
                BETA_INSTANCE_TYPE: group.machine.type,
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
    """Zone → nodes that always exist: the minimum, and all initial nodes of a group without autoscaling."""
    minimum = dict.fromkeys(group.zones, group.min_nodes) if group.per_zone else spread(group.min_nodes, group.zones)
    if group.autoscaled:
        return minimum
    return {zone: max(count, group.initial_nodes) for zone, count in minimum.items()}


def condition(node: Mapping[str, Any], kind: str) -> bool:
    """Whether the node's condition ``kind`` is True."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
