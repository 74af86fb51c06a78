"""A GPU, or a device of a fabric, that fails under a job, and what Kubernetes does with the pods of a node that is out
of service."""

from __future__ import annotations

import time
from typing import Final

from facts.concepts.kubernetes import RESOURCES
from facts.concepts.pool import SIZE_KEY
from rehearsal.cluster.api import Api, Object, pod_path, timestamp
from rehearsal.cluster.threads import WatchingThread
from rehearsal.fleet.machine_types import EFA
from rehearsal.fleet.nodes import DRIVER, EFA_DEVICES, EFA_PLUGIN
from rehearsal.fleet.pod_placement import tolerates
from rehearsal.fleet.reclaim import disruption

_NODES: Final = "/api/v1/nodes"
_PATIENCE_SECONDS: Final = 240.0
_POLL_SECONDS: Final = 0.1
_STARTING: Final = ("karpenter.sh/", "node.kubernetes.io/", "rehearsal.gpucluster.dev/")
"""Prefixes of the NoExecute taints of nodes that start or are not ready."""


def wait_for_autoscaler(api: Api, name: str) -> None:
    """Return when the node's autoscaler has seen its GPUs, at the latest after four minutes.

    Until then Karpenter waits for them: it adds no other node, and never removes this one.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        labels = api.get(f"{_NODES}/{name}")["metadata"]["labels"]
        if "karpenter.sh/nodepool" not in labels or "karpenter.sh/initialized" in labels:
            return
        time.sleep(_POLL_SECONDS)


def break_gpu(api: Api, name: str) -> None:
    """One GPU of the node fails, as its device plugin reports it (sources: ``facts/concepts/broken_nodes.py``); on a
    node with EFA devices one of these, which the reaper has to count as well.

    GKE's plugin adds a condition and goes on offering the GPU; the others report a device as unhealthy, so that kubelet
    no longer counts it as allocatable.
    """
    wait_for_autoscaler(api, name)
    node = api.get(f"{_NODES}/{name}")
    labels, status = node["metadata"]["labels"], node["status"]
    if EFA_DEVICES in node["metadata"]["annotations"]:
        _lose(api, node, EFA_PLUGIN, EFA, 1)
        return
    if "cloud.google.com/gke-accelerator" in labels:
        # 79: the machine no longer reaches the GPU (https://docs.nvidia.com/deploy/xid-errors/index.html).
        xid = {"type": "XidCriticalError", "status": "True", "reason": '{"79":true}'}
        conditions = [
            *status["conditions"],
            {**xid, "lastHeartbeatTime": timestamp(), "lastTransitionTime": timestamp()},
        ]
        api.merge(f"{_NODES}/{name}/status", {"status": {"conditions": conditions}})
        return
    (resource,) = status["capacity"].keys() & {*RESOURCES.values()}
    _lose(api, node, DRIVER, resource, int(status["capacity"][resource]) // int(labels[SIZE_KEY]))


def _lose(api: Api, node: Object, annotation: str, resource: str, lost: int) -> None:
    path = f"{_NODES}/{node['metadata']['name']}"
    # Else kwok would offer all again.
    api.merge(path, {"metadata": {"annotations": {annotation: "lost"}}})
    usable = int(node["status"]["capacity"][resource]) - lost
    api.merge(f"{path}/status", {"status": {"allocatable": {resource: str(usable)}}})


class TaintEviction(WatchingThread):
    """Deletes pods that do not tolerate a NoExecute taint of their node, whatever their disruption budgets say.

    The real controller is left out (``rehearsal/cluster/flags.yaml``); tolerations for a time count as tolerations.
    https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
    """

    def __init__(self, api: Api) -> None:
        super().__init__("taint-eviction", api, _NODES)

    def notice(self, kind: str, node: Object, /) -> None:
        """End the pods of a node with such a taint."""
        executing = (each for each in node["spec"].get("taints") or () if each["effect"] == "NoExecute")
        taints = [each for each in executing if not each["key"].startswith(_STARTING)]
        if kind == "DELETED" or not taints:
            return
        for pod in self._api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node['metadata']['name']}"):
            tolerated = pod["spec"].get("tolerations") or ()
            if all(any(tolerates(each, taint) for each in tolerated) for taint in taints):
                continue
            conditions = disruption(pod, "DeletionByTaintManager")
            self._api.merge_if_there(f"{pod_path(pod)}/status", {"status": {"conditions": conditions}})
            self._api.delete(pod_path(pod))
