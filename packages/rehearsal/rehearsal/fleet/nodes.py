"""Nodes of a group: labels, annotations for kwok's stages, and Node objects.

The annotations pass the node's size to the stages (``rehearsal/cluster/stages/node-*.yaml``), because a node that the
autoscaler creates starts with the size of its pods.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rehearsal.cluster.api import Object
from rehearsal.fleet.machine_types import allocatable, capacity
from rehearsal.simulation import MACHINE_GPUS, SimulatedNodeGroup

PREFIX: Final = "rehearsal.gpucluster.dev/"
GROUP_LABEL: Final = PREFIX + "group"
DRIVER: Final = PREFIX + "driver"
GPUS: Final = MACHINE_GPUS
EFA_DEVICES: Final = PREFIX + "efa"
EFA_PLUGIN: Final = PREFIX + "efa-plugin"
ADVERTISED_BY: Final = PREFIX + "gpus-advertised-by"
PODS_ENDED_BY: Final = PREFIX + "pods-ended-by"
RENEWAL: Final = PREFIX + "renewal"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_LABELS: Final = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": REGION,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
}
"""Deprecated labels that kubelets and the clouds' controllers still set and older manifests select: those that they
repeat."""

GPU_LABELS: Final = ("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator")
"""The label by which cluster-autoscaler knows a GPU node on each cloud, the constant ``GPULabel`` of its provider:
https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider"""

LATE_TAINT: Final = {"key": PREFIX + "unseen", "effect": "NoSchedule"}
"""Taint of a new node until it has the labels and taints that its autoscaler does not use for planning."""


@dataclass(frozen=True)
class ClusterFacts:
    """Properties that all nodes of a cluster share. ``version`` is the kubelet's, without ``v``. ``zone_labels`` are
    the further labels with the zone, of the cluster's disk drivers."""

    name: str
    region: str
    version: str
    zone_labels: tuple[str, ...] = ()


def repeating_labels(labels: Mapping[str, str], zone_labels: Iterable[str] = ()) -> dict[str, str]:
    """The labels that repeat others of a node: deprecated ones, and those of disk drivers."""
    repeated = {**BETA_LABELS, **dict.fromkeys(zone_labels, ZONE)}
    return {key: labels[of] for key, of in repeated.items() if of in labels}


def kubelet_version(requested: str, server: str) -> str:
    """A kubelet's version without ``v``: three parts, not newer than the API server's.

    https://kubernetes.io/releases/version-skew-policy/#kubelet
    """
    requested, server = requested.removeprefix("v"), server.removeprefix("v")
    number = [int(part) for part in re.findall(r"[0-9]+", requested.partition("-")[0])]
    if number[:2] > [int(part) for part in server.split(".")[:2]]:
        return server
    return requested if len(number) > 2 else ".".join(map(str, [*number, 0]))


@dataclass(frozen=True)
class NodeTemplate:
    """Node template of ``group``; the autoscaler plans only with the fields that start with ``seen``."""

    group: SimulatedNodeGroup
    cluster: ClusterFacts

    @property
    def planned_labels(self) -> dict[str, str]:
        """The declared labels with region and membership, without the zone."""
        return {**self.group.nodes.labels, REGION: self.cluster.region, GROUP_LABEL: self.group.name}

    @property
    def labels(self) -> dict[str, str]:
        """All labels but the zone's."""
        return {**self.planned_labels, **self.group.late_labels}

    @property
    def planned_taints(self) -> list[dict[str, str]]:
        """In the API's form."""
        return [taint.manifest for taint in self.group.nodes.taints]

    @property
    def taints(self) -> list[dict[str, str]]:
        """All taints, in the API's form."""
        return [*self.planned_taints, *(taint.manifest for taint in self.group.late_taints)]

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations for the stages. GPUs start at 0; ``driver``: whether the cloud installs the driver."""
        machine, real = self.group.machine, {"gpus": self.group.gpus, "efa": self.group.efa}
        gpus = self.group.gpus
        result = {
            PREFIX + "capacity": json.dumps(replace(capacity(machine), **real).resources(gpus=0)),
            PREFIX + "allocatable": json.dumps(replace(allocatable(machine), **real).resources(gpus=0)),
            PREFIX + "kubelet-version": f"v{self.cluster.version}",
            PODS_ENDED_BY: self.group.pods_ended_by,
            RENEWAL: self.group.renewal,
        }
        if self.group.efa:
            result |= {EFA_DEVICES: str(self.group.efa), EFA_PLUGIN: "missing"}
        if gpus:
            result[GPUS] = str(gpus)
            result[DRIVER] = "ready" if self.group.gpus_advertised_by == "cloud" else "missing"
            result[ADVERTISED_BY] = self.group.gpus_advertised_by
        return result

    def node(self, zone: str) -> Object:
        """A new Node that no autoscaler created, so none removes it."""
        name = f"{self.cluster.name}-{self.group.name}"[:54].rstrip("-.") + f"-{secrets.token_hex(4)}"
        labels = {
            **self.labels,
            INSTANCE_TYPE: self.group.nodes.machine_type,
            ZONE: zone,
            "kubernetes.io/hostname": name,
            "kubernetes.io/arch": self.group.machine.arch,
            "kubernetes.io/os": "linux",
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {**labels, **repeating_labels(labels, self.cluster.zone_labels)},
                "annotations": self.annotations,
            },
            "spec": {"taints": self.taints, "providerID": f"simulated://{zone}/{name}"},
        }
