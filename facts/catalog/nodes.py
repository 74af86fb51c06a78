"""What runs on a cloud's nodes, and what they leave for the pods of users."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from facts.catalog import tables
from facts.catalog.model import Machine, Resources, SystemPod
from facts.concepts.parts import NO_FABRIC, Fabric, Image


@dataclass(frozen=True, kw_only=True)
class CloudNodes:
    """The nodes of clusters on ``cloud``. Of several words the first is the default."""

    cloud: str
    images: tuple[str, ...]
    """Operating systems of GPU nodes."""
    image_version: re.Pattern[str] | None = None
    """Versions that a pool's image may be pinned to, as in ``al2023@v20261101``; ``None``: none."""
    allocatable: Callable[[Machine], Resources]
    """What a node of a machine leaves for pods."""
    expected: Mapping[str, Callable[[Machine], Resources]] = field(default_factory=dict)
    """Autoscaler → what it expects a new node to leave, where that is less: for more it starts none."""
    most_memory_mib: Callable[[Machine], int] | None = None
    """The MiB that a node leaves for pods at most, where some leave more than ``allocatable``."""
    streaming_mib: Callable[[Machine], int] | None = None
    """The MiB of these that image streaming takes, where a pool may have it."""
    confidential_mib: Callable[[Machine, Mapping[str, Any], Mapping[str, Any]], int] = lambda machine, *raw: 0
    """Machine, raw inputs of the stack and of a pool → the MiB of these that confidential computing takes."""
    disk_mib: Callable[[Image, int], int] | None = None
    """Image and size of a node's disk in GB → ephemeral storage for pods; ``None`` where that is not known."""
    pod_addresses: int
    """Addresses that each node takes out of the pod range, or of the nodes' range where pods have none."""
    system_pods: tuple[SystemPod, ...] = ()
    """The cloud's own pods in a new cluster."""
    gpu_node_pods: tuple[SystemPod, ...] = ()
    """Pods of the cloud that may run on every node with GPUs."""
    volume_pods: tuple[SystemPod, ...] = ()
    """Pods of the cloud on every node of a stack with a shared volume."""
    system_replicas: Callable[[str, int, float], int] = lambda pod, nodes, vcpus: 1
    """Name of a system pod that is not on each node, the cluster's nodes and vCPUs → how many of it."""
    starves_small_nodes: bool = True
    """Whether the system pods were seen to need more on small machines than they ask for."""
    group_name: Callable[[str], str] = lambda pool: pool
    """A pool's name → the part of its node group's name that stands for it, as autoscalers report groups."""
    spot_notice_seconds: int
    """How long pods have, at best, on a spot node that the cloud takes away."""
    block_ends: str = ""
    """When machines of a capacity block begin to be taken away on its last day (``11:00``, UTC)."""
    fabric: Fabric = NO_FABRIC
    """How pods request the RDMA devices of a node, without their number; no ``resource`` where no pool has a fabric."""
    fabric_image: str = ""
    """An image with PyTorch that can use the RDMA devices."""
    fabric_network: str = ""
    """NCCL's name for the RDMA devices."""

    def offered(self, machine: Machine, autoscaler: str) -> Resources:
        """What a pod can ask for so that this autoscaler starts a node on which it runs."""
        left, expected = self.allocatable(machine), self.expected.get(autoscaler, self.allocatable)(machine)
        return Resources(
            milli_cpu=min(left.milli_cpu, expected.milli_cpu), memory_mib=min(left.memory_mib, expected.memory_mib)
        )

    def most(self, machine: Machine) -> Resources:
        """What a node leaves for pods at most: with it a warning that a pod stays pending is never false."""
        least = self.allocatable(machine)
        if self.most_memory_mib is None:
            return least
        return Resources(milli_cpu=least.milli_cpu, memory_mib=self.most_memory_mib(machine))

    @cached_property
    def recorded(self) -> frozenset[str]:
        """The machine types of which a real node was compared with what ``allocatable`` says. Of all others it is
        calculated alone."""
        return frozenset(row["type"] for row in tables.rows(self.cloud, "recorded_machines"))

    @cached_property
    def addon_pods(self) -> tuple[SystemPod, ...]:
        """The pods of all add-ons."""
        return tuple(_system_pod(row) for row in tables.rows(self.cloud, "addon_pods"))

    def runs(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a DaemonSet with these metadata is one of the cloud's own, for whose pods nodes have room already."""
        names = {pod.name for pod in (*self.system_pods, *self.addon_pods)}
        return metadata.get("namespace") == "kube-system" and metadata.get("name") in names

    def pods_of(self, addons: Collection[str]) -> tuple[SystemPod, ...]:
        """The pods of these add-ons."""
        return tuple(pod for pod in self.addon_pods if pod.addon in addons)


def system_pods(cloud: str, *where: str) -> tuple[SystemPod, ...]:
    """The cloud's own pods in these places, words of the column ``where`` of ``system_pods.csv``."""
    return tuple(_system_pod(row) for row in tables.rows(cloud, "system_pods") if row["where"] in where)


def _system_pod(row: tables.Row) -> SystemPod:
    return SystemPod(
        name=row["name"],
        request=Resources(milli_cpu=int(row["milli_cpu"]), memory_mib=int(row["memory_mib"])),
        per_node=row["where"] != "cluster",
        gpu_node=row["where"] == "gpu-node",
        addon=row.get("addon", ""),
        uncertain_milli_cpu=int(row.get("uncertain_milli_cpu", 0)),
    )
