"""Reclaim of a machine by the cloud, and its maintenance: what happens to nodes and pods.

The cloud gives notice, the pods end, and then the machine stops, with everything that still runs on it. Clouds differ
in who ends the pods (``NodeGroup.pods_ended_by``): Kubernetes' Eviction API drains the node, or the machine shuts down
and its kubelet ends them. Kubernetes' pod garbage collector deletes the remaining pods. Each sets the pod's condition
``DisruptionTarget``, by which a Job distinguishes a reclaim from a failure:
https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions

In a maintenance night the cloud gives GPU nodes another image in place, after it has drained them by evictions. A
disruption budget keeps a pod on its node until the cloud's drain time-out, which is seconds here; what the cloud does
then is ``SimulatedNodeGroup.renewal``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from rehearsal.cluster.api import Api, ApiError, Object, pod_path, timestamp
from rehearsal.fleet.node_pools import claim_path, claims_of
from rehearsal.fleet.nodes import GPUS, PODS_ENDED_BY, RENEWAL
from rehearsal.fleet.packing import evict, moves

_NODES: Final = "/api/v1/nodes"
_NOTICE_SECONDS: Final = 15.0
"""Seconds in which pods must end; a simulated program ends at once. A cloud's notice is 15 to 120 s."""

_SIGTERM: Final = 143
"""Exit code of a program without a handler for SIGTERM: 128 + 15."""

QUARANTINED: Final = {"kubernetes.azure.com/upgrade-status": "Quarantined"}
"""https://learn.microsoft.com/azure/aks/upgrade-options#scenario-2-node-drain-failures-and-pdbs"""
_DRAIN_SECONDS: Final = 4.0
_RETRY_SECONDS: Final = 0.5
_TERMINAL: Final = ("Succeeded", "Failed")


def reclaim(api: Api, name: str) -> bool:
    """Reclaim the node's machine with notice; returns whether the node existed, once the machine has stopped."""
    node = api.find(f"{_NODES}/{name}")
    if node is None:
        return False
    api.merge_if_there(f"{_NODES}/{name}", {"spec": {"unschedulable": True}})
    by_kubelet = node["metadata"].get("annotations", {}).get(PODS_ENDED_BY) == "kubelet"
    for pod in pods_to_end(api, name):
        _shut_down(api, pod) if by_kubelet else _evict(api, pod)
    deadline = time.monotonic() + _NOTICE_SECONDS
    while pods_to_end(api, name) and time.monotonic() < deadline:
        time.sleep(0.1)
    lose_pods(api, name)
    # A node of the simulation's autoscaler belongs to a claim; that autoscaler deletes both.
    for claim in claims_of(api):
        if claim.get("status", {}).get("nodeName") == name:
            api.delete(claim_path(claim["metadata"]["name"]))
            return True
    api.delete(f"{_NODES}/{name}")
    return True


def lose_pods(api: Api, node: str) -> None:
    """Delete the remaining pods of a stopped machine, as the pod garbage collector does after deletion of the Node.

    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection
    """
    for pod in api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}"):
        if pod.get("status", {}).get("phase") not in _TERMINAL:
            _fail(api, pod, "DeletionByPodGC", {"message": "PodGC: node no longer exists"})
        api.delete(pod_path(pod), gracePeriodSeconds=0)


def pods_to_end(api: Api, node: str) -> list[Object]:
    """The node's running pods, except its agents, which run until the end."""
    return [
        pod
        for pod in api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
        if pod.get("status", {}).get("phase") not in _TERMINAL and moves(pod)
    ]


def _evict(api: Api, pod: Object) -> None:
    """A disruption budget may prevent it until the machine stops."""
    try:
        evict(api, pod)
    except ApiError as error:
        if error.status not in (404, 429):
            raise


def _shut_down(api: Api, pod: Object) -> None:
    """https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#graceful-node-shutdown."""
    message = "Pod was terminated in response to imminent node shutdown."
    _fail(api, pod, "TerminationByKubelet", {"reason": "Terminated", "message": message})


def _fail(api: Api, pod: Object, reason: str, cause: Mapping[str, str]) -> None:
    conditions = disruption(pod, reason)
    ended = [_ended(each, timestamp()) for each in pod.get("status", {}).get("containerStatuses", [])]
    body = {"status": {"phase": "Failed", **cause, "conditions": conditions, "containerStatuses": ended}}
    api.merge_if_there(f"{pod_path(pod)}/status", body)


def disruption(pod: Object, reason: str) -> list[Object]:
    """The pod's conditions with ``DisruptionTarget``; a reason that it has stays."""
    conditions = pod.get("status", {}).get("conditions", [])
    target = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": timestamp()}
    return [*conditions, *([] if any(each["type"] == "DisruptionTarget" for each in conditions) else [target])]


def _ended(container: Mapping[str, Any], now: str) -> Object:
    terminated = {"exitCode": _SIGTERM, "reason": "Error", "finishedAt": now}
    return {**container, "ready": False, "started": False, "state": {"terminated": terminated}}


def renew_nodes(api: Api) -> dict[str, str]:
    """Renew the GPU nodes of groups that the cloud maintains; node → ``renewed``, ``quarantined`` or ``unchanged``."""
    outcomes = {}
    for node in api.list(_NODES):
        annotations = node["metadata"].get("annotations") or {}
        if annotations.get(RENEWAL) and GPUS in annotations:
            name = node["metadata"]["name"]
            outcomes[name] = _renew(api, name, annotations[RENEWAL])
    return outcomes


def _renew(api: Api, name: str, renewal: str) -> str:
    node = f"{_NODES}/{name}"
    api.merge_if_there(node, {"spec": {"unschedulable": True}})
    if not _drained(api, name):
        if renewal == "cordon":
            api.merge_if_there(node, {"metadata": {"labels": QUARANTINED}})
            return "quarantined"
        if renewal == "force":
            lose_pods(api, name)
    drained = not pods_to_end(api, name)
    api.merge_if_there(node, {"spec": {"unschedulable": False}})
    return "renewed" if drained else "unchanged"


def _drained(api: Api, name: str) -> bool:
    """Whether the node's pods left in time, each asked again and again."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    while pods := pods_to_end(api, name):
        for pod in pods:
            _evict(api, pod)
        if time.monotonic() > deadline:
            return False
        time.sleep(_RETRY_SECONDS)
    return True
