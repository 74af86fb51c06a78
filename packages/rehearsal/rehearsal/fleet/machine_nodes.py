"""Nodes of machines that join by themselves: their cloud creates, stops and removes them one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from rehearsal.cluster.api import Api, ApiError, Object, warn
from rehearsal.fleet.machine_types import EFA
from rehearsal.fleet.nodes import ADVERTISED_BY, DRIVER, EFA_DEVICES, EFA_PLUGIN, GPUS, PREFIX, kubelet_version
from rehearsal.fleet.reclaim import lose_pods
from rehearsal.simulation import NO_NODE, Node

STOPPED: Final = PREFIX + "stopped"
"""Annotation of a node whose machine has stopped: kwok's stages leave it alone from then on."""

_NODES: Final = "/api/v1/nodes"


def make(api: Api, node: Node) -> None:
    """Register the node as its kubelet does; an existing one is not changed."""
    node = replace(node, kubelet_version="v" + kubelet_version(node.kubelet_version, api.version()))
    try:
        api.create(_NODES, manifest(node))
    except ApiError as error:
        if error.status != 409:
            raise


def stop(api: Api, name: str) -> None:
    """The kubelet no longer answers: readiness of the node and its pods is unknown."""
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    unknown["message"] = "Kubelet stopped posting node status."
    api.merge_if_there(f"{_NODES}/{name}", {"metadata": {"annotations": {STOPPED: "true"}}})
    api.merge_if_there(f"{_NODES}/{name}/status", {"status": {"conditions": [unknown]}})


def remove(api: Api, name: str) -> None:
    """Its pods are lost, and the cloud's controller deletes the Node; finalizers are left to their owners."""
    stop(api, name)
    lose_pods(api, name)
    api.delete(f"{_NODES}/{name}")


def report(api: Api, name: str, because: str) -> None:
    """An event about a Node that does not join."""
    warn(api, {"metadata": {"name": name, "uid": name}}, NO_NODE, because)


def manifest(node: Node) -> Object:
    """The Node object, with its size from the start, as a kubelet registers it; GPUs start at 0.

    The size goes into annotations, too, for kwok's stages.
    """
    capacity, allocatable = _without_gpus(node, node.capacity), _without_gpus(node, node.allocatable)
    annotations = {
        PREFIX + "capacity": json.dumps(capacity),
        PREFIX + "allocatable": json.dumps(allocatable),
        PREFIX + "kubelet-version": node.kubelet_version,
        PREFIX + "os-image": node.os_image,
    }
    if node.efa:
        annotations |= {EFA_DEVICES: str(node.efa), EFA_PLUGIN: "missing"}
    if node.gpus:
        annotations[GPUS] = str(node.gpus)
        annotations[DRIVER] = "ready" if node.gpus_advertised_by == "cloud" else "missing"
        annotations[ADVERTISED_BY] = node.gpus_advertised_by
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": annotations},
        "spec": {"taints": [dict(taint) for taint in node.taints], "providerID": node.provider_id},
        # Karpenter learns a type's memory from a new node: without it, no pod would fit that type again.
        "status": {"capacity": capacity, "allocatable": allocatable},
    }


def _without_gpus(node: Node, resources: Any) -> dict[str, str]:
    return {**resources, **({node.gpu_resource: "0"} if node.gpus else {}), **({EFA: "0"} if node.efa else {})}
