"""Scale-down of underused nodes, as by a cluster-autoscaler.

Its rules (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#how-does-scale-down-work): a
node is drained if its utilisation is below a threshold and all its pods fit on other nodes. Utilisation is the share of
its allocatable resources that pods request; on nodes with NVIDIA's GPUs only these count. A pod prevents it that has no
controller of Kubernetes' own, is annotated as not safe to evict, or is protected by a disruption budget. Karpenter,
which creates the nodes, only removes empty ones (``node_pools``), so this thread chooses a node and Karpenter drains
it, one at a time. It keeps Karpenter from an empty node whose DaemonSets alone reach the threshold.

Pods with volumes of their own, pod affinity or spread constraints also prevent it: their placement is not simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from facts.concepts.kubernetes import DO_NOT_DISRUPT, RESOURCES, SAFE_TO_EVICT, pod_requests, quantity
from rehearsal.cluster.api import Api, ApiError, Object, condition, pod_path
from rehearsal.cluster.threads import Informer, PollingThread
from rehearsal.fleet.node_pools import claim_path
from rehearsal.fleet.nodes import GROUP_LABEL, NodeTemplate
from rehearsal.fleet.pod_placement import matches, refusal
from rehearsal.simulation import Packing

_POLL_SECONDS: Final = 1.0
_UNNEEDED_SECONDS: Final = 15.0
"""A cloud's minutes, compressed: idle nodes are removed after about the same time."""

_NODES: Final = "/api/v1/nodes"
_PODS: Final = "/api/v1/pods"
_REQUESTED: Final = ("cpu", "memory", *RESOURCES.values())
_MOVABLE_VOLUMES: Final = frozenset({"configMap", "downwardAPI", "emptyDir", "name", "projected", "secret"})
_SYSTEM: Final = "kube-system"
_BUDGETS: Final = f"/apis/policy/v1/namespaces/{_SYSTEM}/poddisruptionbudgets"
_ANNOTATION: Final = "cluster-autoscaler.kubernetes.io/"
_REPLICATED: Final = frozenset({"Job", "ReplicaSet", "ReplicationController", "StatefulSet"})
_LEAST_PRIORITY: Final = -10
"""Pods below it are expendable: ``--expendable-pods-priority-cutoff``."""

Amounts = Mapping[str, Decimal]


@dataclass(frozen=True)
class Used:
    """A node and its pods that have not ended. ``free``: resources that they do not request."""

    node: Object
    pods: Sequence[Object]
    offered: Amounts = field(init=False)
    free: Amounts = field(init=False)

    def __post_init__(self) -> None:
        allocatable = self.node.get("status", {}).get("allocatable") or {}
        offered = {key: quantity(allocatable.get(key, "0")) for key in (*_REQUESTED, "pods")}
        taken = [requests(pod) for pod in self.pods]
        left = {key: offered[key] - sum((each[key] for each in taken), Decimal()) for key in _REQUESTED}
        object.__setattr__(self, "offered", offered)
        object.__setattr__(self, "free", {**left, "pods": offered["pods"] - len(self.pods)})

    @property
    def name(self) -> str:
        """The node's name."""
        name: str = self.node["metadata"]["name"]
        return name

    def below(self, packing: Packing) -> bool:
        """Whether its utilisation is below the threshold: of the devices that the autoscaler knows, if it has some,
        else of CPU or memory, whichever is higher.

        https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/simulator/utilization/info.go
        """
        devices = [each for each in packing.devices if self.offered[each]]
        counted = devices or ["cpu", "memory"]
        aside = [requests(pod) for pod in self.pods if packing.ignores_daemon_sets and not moves(pod)]
        whole = {key: self.offered[key] - sum((each[key] for each in aside), Decimal()) for key in counted}
        use = max(1 - self.free[key] / whole[key] if whole[key] else Decimal(1) for key in counted)
        return use < Decimal(str(packing.gpus_below if devices else packing.others_below))


class Packer(PollingThread):
    """Checks every second; ``template_of`` returns a group's template by name."""

    def __init__(self, api: Api, template_of: Callable[[str], NodeTemplate | None]) -> None:
        super().__init__("packer", _POLL_SECONDS)
        self._api = api
        self._nodes = Informer("packer-nodes", api, _NODES)
        self._pods = Informer("packer-pods", api, _PODS)
        self._template_of = template_of
        self._unneeded: dict[str, float] = {}
        self._budgets: list[Object] = []

    def run(self) -> None:
        """The thread's loop; its informers run as long."""
        self._nodes.start()
        self._pods.start()
        try:
            super().run()
        finally:
            self._nodes.stop()
            self._pods.close()
            self._nodes.close()

    def look(self) -> None:
        """Remove the first node that has been unneeded for long enough."""
        nodes = used_nodes(self._nodes.items(), self._pods.items())
        for each in filter(self._stays, nodes):
            self._api.merge_if_there(f"{_NODES}/{each.name}", {"metadata": {"annotations": {DO_NOT_DISRUPT: "true"}}})
        now, self._budgets = time.monotonic(), self._api.list(_BUDGETS)
        unneeded = {each.name for each in nodes if self._may_go(each, nodes)}
        self._unneeded = {name: self._unneeded.get(name, now) for name in unneeded}
        for each in nodes:
            if now - self._unneeded.get(each.name, now) >= _UNNEEDED_SECONDS and self._still_may_go(each.name):
                for claim in self._api.list(claim_path()):
                    if claim.get("status", {}).get("nodeName") == each.name:
                        self._api.delete(claim_path(claim["metadata"]["name"]))
                # Its pods may move to the other nodes.
                self._unneeded.clear()
                return

    def _packing(self, used: Used) -> Packing | None:
        labels = used.node["metadata"].get("labels", {})
        template = self._template_of(labels.get(GROUP_LABEL, ""))
        return None if template is None or "karpenter.sh/nodepool" not in labels else template.group.packing

    def _stays(self, used: Used) -> bool:
        packing, annotations = self._packing(used), used.node["metadata"].get("annotations") or {}
        if packing is None or DO_NOT_DISRUPT in annotations or any(map(moves, used.pods)):
            return False
        return not used.below(packing)

    def _may_go(self, used: Used, nodes: Sequence[Used]) -> bool:
        packing, others = self._packing(used), [each for each in nodes if each is not used]
        return packing is not None and unneeded(used, others, packing, self._budgets)

    def _still_may_go(self, name: str) -> bool:
        """Uses new lists: watches report new pods late while the API server is busy."""
        nodes = used_nodes(self._api.list(_NODES), self._api.list(_PODS))
        return any(each.name == name and self._may_go(each, nodes) and self._budgets_allow(each) for each in nodes)

    def _budgets_allow(self, used: Used) -> bool:
        """Whether the API server, which knows the disruption budgets, would evict every pod."""
        try:
            for pod in filter(moves, used.pods):
                evict(self._api, pod, dryRun=["All"])
        except ApiError:
            return False
        return True


def used_nodes(nodes: Sequence[Object], pods: Sequence[Object], *, cordoned: bool = False) -> list[Used]:
    """Every usable node with its pods; with ``cordoned`` also those that take no pod."""
    placed: dict[str, list[Object]] = {}
    for pod in pods:
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            placed.setdefault(pod["spec"]["nodeName"], []).append(pod)
    return [Used(node, placed.get(node["metadata"]["name"], [])) for node in nodes if usable(node, cordoned)]


def usable(node: Object, cordoned: bool = False) -> bool:
    """Whether the node is ready, schedulable or ``cordoned``, and not being deleted."""
    going = node["metadata"].get("deletionTimestamp") or (node["spec"].get("unschedulable") and not cordoned)
    going = going or any(taint["key"] == "karpenter.sh/disrupted" for taint in node["spec"].get("taints", []))
    return not going and condition(node, "Ready")


def unneeded(used: Used, others: Sequence[Used], packing: Packing, budgets: Sequence[Object] = ()) -> bool:
    """Whether to drain a node: it is underused, and its pods may be evicted and fit elsewhere.

    ``budgets``: the PodDisruptionBudgets of ``kube-system``.
    """
    # Expendable pods are not there, for this question.
    pods = [pod for pod in used.pods if (pod["spec"].get("priority") or 0) >= _LEAST_PRIORITY]
    counted = used if len(pods) == len(used.pods) else replace(used, pods=pods)
    moving = [pod for pod in counted.pods if moves(pod)]
    if not any(map(moves, used.pods)) or not counted.below(packing):
        return False
    disabled = (used.node["metadata"].get("annotations") or {}).get(f"{_ANNOTATION}scale-down-disabled") == "true"
    if disabled or any(keeps_node(pod, packing, budgets) for pod in moving):
        return False
    free = {each.name: dict(each.free) for each in others}
    return all(_place(pod, others, free) for pod in sorted(moving, key=lambda pod: -requests(pod)["cpu"]))


def evict(api: Api, pod: Object, **options: Any) -> None:
    """Evict the pod; ``options`` are DeleteOptions. Raises ApiError: 429 if a disruption budget does not allow it."""
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    api.create(f"{pod_path(pod)}/eviction", eviction)


def moves(pod: Object) -> bool:
    """Whether the pod needs another node when its own is removed; a DaemonSet's does not."""
    return all(owner["kind"] not in ("DaemonSet", "Node") for owner in pod["metadata"].get("ownerReferences", []))


def keeps_node(pod: Object, packing: Packing, budgets: Sequence[Object]) -> bool:
    """Whether the pod prevents removal of its node."""
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations") or {}
    annotation = annotations.get(SAFE_TO_EVICT)
    if annotation is not None:
        return bool(annotation != "true")
    affinity = spec.get("affinity") or {}
    evictable = annotations.get(f"{_ANNOTATION}safe-to-evict-local-volumes", "").split(",")
    volumes = [volume for volume in spec.get("volumes") or [] if volume["name"] not in evictable]
    owners = metadata.get("ownerReferences", [])
    return (
        not any(owner.get("controller") and owner["kind"] in _REPLICATED for owner in owners)
        or bool(affinity.get("podAffinity") or affinity.get("podAntiAffinity") or spec.get("topologySpreadConstraints"))
        or any(volume.keys() - _MOVABLE_VOLUMES for volume in volumes)
        or (not packing.moves_local_storage and any(_on_disk(volume) for volume in volumes))
        or (
            not packing.moves_system_pods
            and metadata["namespace"] == _SYSTEM
            and not any(_protects(budget, metadata.get("labels") or {}) for budget in budgets)
        )
    )


def requests(pod: Object) -> Amounts:
    """The pod's requests for the resources that count here."""
    amounts = pod_requests(pod["spec"])
    return {key: amounts.get(key, Decimal()) for key in _REQUESTED}


def _protects(budget: Object, labels: Mapping[str, str]) -> bool:
    selector = budget["spec"].get("selector") or {}
    expressions = [matches(each, labels) for each in selector.get("matchExpressions") or []]
    return all(expressions) and (selector.get("matchLabels") or {}).items() <= labels.items()


def _on_disk(volume: Mapping[str, Any]) -> bool:
    return "emptyDir" in volume and (volume["emptyDir"] or {}).get("medium") != "Memory"


def _place(pod: Object, others: Sequence[Used], free: dict[str, dict[str, Decimal]]) -> bool:
    """Whether the pod fits on one of the nodes; if so, deducts its requests from that node's ``free``."""
    asked = {**requests(pod), "pods": Decimal(1)}
    for each in others:
        left = free[each.name]
        if all(left[key] >= asked[key] for key in asked) and refusal(pod["spec"], each.node) is None:
            for key in asked:
                left[key] -= asked[key]
            return True
    return False
