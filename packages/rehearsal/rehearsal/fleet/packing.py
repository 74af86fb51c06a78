"""Scale-down, as by a cluster-autoscaler.

Its rules (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#how-does-scale-down-work): a
node goes if it was unneeded for its group's time, and no node was added lately. Unneeded is a node whose utilisation is
not above a threshold and whose pods all fit on other nodes. Utilisation is the share of its allocatable resources that
pods request; on nodes with NVIDIA's GPUs only these count. A pod prevents it that has no controller of Kubernetes' own,
is annotated as not safe to evict, or is protected by a disruption budget. Karpenter, which creates the nodes, removes
none by itself (``node_pools``): this thread chooses nodes, and Karpenter drains them, one at a time, or some empty ones
together. A minute of the cloud's is a second.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from facts.concepts.kubernetes import RESOURCES, SAFE_TO_EVICT, pod_requests, quantity
from rehearsal.cluster.api import Api, ApiError, Object, condition, pod_path, report_event
from rehearsal.cluster.threads import Informer, PollingThread
from rehearsal.fleet.neighbours import Neighbours, Term, avoided
from rehearsal.fleet.node_pools import claim_path
from rehearsal.fleet.nodes import GROUP_LABEL, NodeTemplate
from rehearsal.fleet.pod_placement import refusal, selects
from rehearsal.simulation import Packing, SimulatedNodeGroup
from rehearsal.tools.own_autoscaler import NAME

_POLL_SECONDS: Final = 1.0
_UNNEEDED_MINUTES: Final = 10
"""``--scale-down-unneeded-time``, where nothing declares it; a minute of the cloud's is a second here."""

_AT_ONCE: Final = 10
"""``--max-scale-down-parallelism``: empty nodes that go together."""

_GOING: Final = "ToBeDeletedByClusterAutoscaler"
"""Taint of a node that goes:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/utils/taints/taints.go"""

_DEFAULTS: Final = Packing(gpus_below=0.5, others_below=0.5, moves_system_pods=False, moves_local_storage=False)

_NODES: Final = "/api/v1/nodes"
_PODS: Final = "/api/v1/pods"
_REQUESTED: Final = ("cpu", "memory", *RESOURCES.values())
_SYSTEM: Final = "kube-system"
_VOLUMES: Final = "/api/v1/persistentvolumes"
_BUDGETS: Final = f"/apis/policy/v1/namespaces/{_SYSTEM}/poddisruptionbudgets"
_ANNOTATION: Final = "cluster-autoscaler.kubernetes.io/"
_REPLICATED: Final = frozenset({"Job", "ReplicaSet", "ReplicationController", "StatefulSet"})
_LEAST_PRIORITY: Final = -10

Amounts = Mapping[str, Decimal]
Volumes = Mapping[tuple[str, str], Object]
"""(namespace, name) of a claim → the PersistentVolume that is bound to it."""


@dataclass(frozen=True)
class Used:
    """A node and its pods that have not ended."""

    node: Object
    pods: Sequence[Object]

    @cached_property
    def offered(self) -> Amounts:
        """What the node has for pods."""
        allocatable = self.node.get("status", {}).get("allocatable") or {}
        return {key: quantity(allocatable.get(key, "0")) for key in (*_REQUESTED, "pods")}

    @cached_property
    def free(self) -> Amounts:
        """What its pods do not request."""
        taken = [requests(pod) for pod in self.pods]
        left = {key: self.offered[key] - sum((each[key] for each in taken), Decimal()) for key in _REQUESTED}
        return {**left, "pods": self.offered["pods"] - len(self.pods)}

    def is_of(self, other: Used) -> bool:
        """Whether it was made of the same objects."""
        same = self.node is other.node and len(self.pods) == len(other.pods)
        return same and all(map(operator.is_, self.pods, other.pods))

    @cached_property
    def moving(self) -> Sequence[Object]:
        """Its pods that need another node when this one goes."""
        return [pod for pod in self.pods if moves(pod) and not expendable(pod)]

    @property
    def empty(self) -> bool:
        """Whether no pod needs another node when this one goes."""
        return not self.moving

    @property
    def name(self) -> str:
        """The node's name."""
        name: str = self.node["metadata"]["name"]
        return name

    @cached_property
    def avoided(self) -> Sequence[tuple[Object, Term]]:
        """Its pods that keep others away."""
        return avoided(self.pods)

    def below(self, packing: Packing) -> bool:
        """Whether its utilisation is not above the threshold: of the devices that the autoscaler knows, if it has some,
        else of CPU or memory, whichever is higher.

        https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/core/scaledown/eligibility/eligibility.go
        """
        devices = [each for each in packing.devices if self.offered[each]]
        counted = devices or ["cpu", "memory"]
        aside = [requests(pod) for pod in self.pods if packing.ignores_daemon_sets and not moves(pod)]
        whole = {key: self.offered[key] - sum((each[key] for each in aside), Decimal()) for key in counted}
        use = max(1 - self.free[key] / whole[key] if whole[key] else Decimal(1) for key in counted)
        return use <= Decimal(str(packing.gpus_below if devices else packing.others_below))


class Packer(PollingThread):
    """Checks every second; ``template_of`` returns a group's template by name."""

    def __init__(self, api: Api, template_of: Callable[[str], NodeTemplate | None]) -> None:
        super().__init__("packer", _POLL_SECONDS)
        self._api = api
        self._nodes = Informer("packer-nodes", api, _NODES)
        self._pods = Informer("packer-pods", api, _PODS)
        self._claims = Informer("packer-claims", api, claim_path())
        self._used: dict[str, Used] = {}
        self._template_of = template_of
        self._unneeded: dict[str, float] = {}
        self._grown: dict[str, float] = {}
        self._known: set[str] = set()
        self._budgets: list[Object] = []
        self._volumes: Volumes = {}

    def run(self) -> None:
        """The thread's loop; its informers run as long."""
        informers = (self._nodes, self._pods, self._claims)
        for each in informers:
            each.start()
        try:
            super().run()
        finally:
            for each in informers:
                each.stop()
            for each in informers:
                each.close()

    def look(self) -> None:
        """Remove the nodes that have been unneeded for long enough: some empty ones, or else one that is not."""
        now, listed = time.monotonic(), self._nodes.items()
        self._note_growth(listed, now)
        nodes = used_nodes(listed, self._pods.items(), cordoned=True, before=self._used)
        self._used = {each.name: each for each in nodes}
        self._budgets = self._api.list(_BUDGETS)
        self._volumes = by_claim(self._api.list(_VOLUMES))
        unneeded = {each.name for each in nodes if self._may_go(each, nodes)}
        self._unneeded = {name: self._unneeded.get(name, now) for name in unneeded}
        due = [each for each in nodes if self._is_due(each, now)]
        chosen = [each.name for each in due if each.empty][:_AT_ONCE] or [each.name for each in due][:1]
        # New lists: watches report new pods late while the API server is busy.
        nodes = used_nodes(self._api.list(_NODES), self._api.list(_PODS), cordoned=True) if chosen else []
        for each in nodes:
            if each.name in chosen and self._may_go(each, nodes) and self._budgets_allow(each):
                self._remove(each)

    def _remove(self, used: Used) -> None:
        taints = used.node["spec"].get("taints") or []
        going = {"key": _GOING, "value": str(int(time.time())), "effect": "NoSchedule"}
        path = f"{_NODES}/{used.name}"
        self._api.merge_if_there(path, {"spec": {"taints": [*taints, going]}})
        placed = filter(_runs, self._api.list(_PODS, fieldSelector=f"spec.nodeName={used.name}"))
        if used.empty and not Used(used.node, [*placed]).empty:
            # A pod was placed before the taint was there.
            self._api.merge_if_there(path, {"spec": {"taints": taints}})
            return
        self._tell(used.node, "marked the node as toBeDeleted/unschedulable")
        for pod in used.moving:
            self._tell(pod, "deleting pod for node scale down")
        for claim in self._claims.items():
            if claim.get("status", {}).get("nodeName") == used.name:
                self._api.delete(claim_path(claim["metadata"]["name"]))
        if not used.empty:
            # Its pods may move to the other nodes.
            self._unneeded.clear()

    def _tell(self, about: Object, text: str) -> None:
        """An event with the words of
        https://github.com/kubernetes/autoscaler/tree/cluster-autoscaler-1.36.1/cluster-autoscaler/core/scaledown/actuation.

        A node is told once: of events with one reason, one in five minutes gets through, and the removal comes later:
        https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/utils/kubernetes/factory.go.
        """
        report_event(self._api, about, "ScaleDown", text, type="Normal", source=NAME)

    def _note_growth(self, nodes: Sequence[Object], now: float) -> None:
        """Remember when each group got its newest node."""
        names = {node["metadata"]["name"]: _group(node) for node in nodes}
        self._grown |= {group: now for name, group in names.items() if name not in self._known and group}
        self._known = {*names}

    def _is_due(self, used: Used, now: float) -> bool:
        template = self._template_of(_group(used.node))
        if template is None or used.name not in self._unneeded:
            return False
        packing = template.group.packing or _DEFAULTS
        grown = (
            self._grown.get(_group(used.node)) if packing.delay_by_group else max(self._grown.values(), default=None)
        )
        idle = now - self._unneeded[used.name] >= unneeded_seconds(template.group)
        return idle and (grown is None or now - grown >= packing.delay_minutes)

    def _may_go(self, used: Used, nodes: Sequence[Used]) -> bool:
        template = self._template_of(_group(used.node))
        if template is None or not has_devices(used.node):
            return False
        group = template.group
        scaled = group.scaling.autoscaled and not group.atomic
        return scaled and unneeded(used, nodes, group.packing, self._budgets, self._volumes)

    def _budgets_allow(self, used: Used) -> bool:
        """Whether the API server, which knows the disruption budgets, would evict every pod."""
        try:
            for pod in used.moving:
                evict(self._api, pod, dryRun=["All"])
        except ApiError:
            return False
        return True


def _group(node: Object) -> str:
    group: str = (node["metadata"].get("labels") or {}).get(GROUP_LABEL, "")
    return group


def unneeded_seconds(group: SimulatedNodeGroup) -> float:
    """For how long nobody needs a node of the group before it goes."""
    minutes = group.scaling.unneeded_minutes
    return _UNNEEDED_MINUTES if minutes is None else minutes


def has_devices(node: Object) -> bool:
    """Whether a node that the autoscaler made has its devices; until then a pod may wait for these."""
    return (node["metadata"].get("labels") or {}).get("karpenter.sh/initialized") == "true"


def used_nodes(
    nodes: Sequence[Object],
    pods: Sequence[Object],
    *,
    cordoned: bool = False,
    before: Mapping[str, Used] = MappingProxyType({}),
) -> list[Used]:
    """Every usable node with its pods; with ``cordoned`` also those that take no pod. ``before``: by name, those of an
    earlier look, of which the unchanged ones (the same objects) are kept with what they know of themselves."""
    placed: dict[str, list[Object]] = {}
    for pod in pods:
        if pod["spec"].get("nodeName") and _runs(pod):
            placed.setdefault(pod["spec"]["nodeName"], []).append(pod)
    there = [Used(node, placed.get(node["metadata"]["name"], [])) for node in nodes if usable(node, cordoned)]
    return [known if (known := before.get(each.name)) and known.is_of(each) else each for each in there]


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def usable(node: Object, cordoned: bool = False) -> bool:
    """Whether the node is ready, schedulable or ``cordoned``, and not being deleted."""
    going = node["metadata"].get("deletionTimestamp") or (node["spec"].get("unschedulable") and not cordoned)
    going = going or any(taint["key"] == "karpenter.sh/disrupted" for taint in node["spec"].get("taints", []))
    return not going and condition(node, "Ready")


def unneeded(
    used: Used,
    nodes: Sequence[Used],
    packing: Packing | None,
    budgets: Sequence[Object] = (),
    volumes: Volumes = MappingProxyType({}),
) -> bool:
    """Whether nobody needs a node: it is underused, and its pods may be evicted and fit on others of the ``nodes``.

    Without ``packing`` it only has to be empty. ``budgets``: the PodDisruptionBudgets of ``kube-system``.
    """
    if (used.node["metadata"].get("annotations") or {}).get(f"{_ANNOTATION}scale-down-disabled") == "true":
        return False
    if packing is None:
        return used.empty
    # Expendable pods are not there, for this question.
    pods = [pod for pod in used.pods if not expendable(pod)]
    counted = used if len(pods) == len(used.pods) else replace(used, pods=pods)
    if not counted.below(packing) or any(keeps_node(pod, packing, budgets) for pod in counted.moving):
        return False
    if counted.empty:
        return True
    others = [each for each in nodes if each is not used and not each.node["spec"].get("unschedulable")]
    # The node itself is there until its pods are gone: where a spread is asked for, it counts as one without pods.
    around = Neighbours([(used.node, (), ()), *((each.node, each.pods, each.avoided) for each in others)])
    by_cpu, free = sorted(counted.moving, key=lambda pod: -requests(pod)["cpu"]), dict[str, Amounts]()
    return all(_place(pod, others, free, around, volumes) for pod in by_cpu)


def by_claim(volumes: Sequence[Object]) -> Volumes:
    """PersistentVolumes by what they are bound to."""
    bound = ((each["spec"].get("claimRef") or {}, each) for each in volumes)
    return {(claim["namespace"], claim["name"]): volume for claim, volume in bound if claim}


def evict(api: Api, pod: Object, **options: Any) -> None:
    """Evict the pod; ``options`` are DeleteOptions. Raises ApiError: 429 if a disruption budget does not allow it."""
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    api.create(f"{pod_path(pod)}/eviction", eviction)


def expendable(pod: Object) -> bool:
    """Whether the autoscaler neither starts nor keeps a node for the pod: ``--expendable-pods-priority-cutoff``."""
    return (pod["spec"].get("priority") or 0) < _LEAST_PRIORITY


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
    evictable = annotations.get(f"{_ANNOTATION}safe-to-evict-local-volumes", "").split(",")
    volumes = [volume for volume in spec.get("volumes") or [] if volume["name"] not in evictable]
    owners = metadata.get("ownerReferences", [])
    return (
        not any(owner.get("controller") and owner["kind"] in _REPLICATED for owner in owners)
        or (not packing.moves_local_storage and any(_on_disk(volume) for volume in volumes))
        or (
            not packing.moves_system_pods
            and metadata["namespace"] == _SYSTEM
            and not _older(metadata, packing.system_pods_minutes)
            and not any(selects(each["spec"].get("selector") or {}, metadata.get("labels") or {}) for each in budgets)
        )
    )


def requests(pod: Object) -> Amounts:
    """The pod's requests for the resources that count here."""
    amounts = pod_requests(pod["spec"])
    return {key: amounts.get(key, Decimal()) for key in _REQUESTED}


def _older(metadata: Mapping[str, Any], minutes: float | None) -> bool:
    if minutes is None or "creationTimestamp" not in metadata:
        return False
    made = datetime.fromisoformat(metadata["creationTimestamp"].replace("Z", "+00:00"))
    # A minute of the cloud's is a second here.
    return time.time() - made.timestamp() > minutes


def _on_disk(volume: Mapping[str, Any]) -> bool:
    return "hostPath" in volume or ("emptyDir" in volume and (volume["emptyDir"] or {}).get("medium") != "Memory")


def _place(pod: Object, others: Sequence[Used], free: dict[str, Amounts], around: Neighbours, volumes: Volumes) -> bool:
    """Whether the pod fits on one of the nodes; if so, it is there from now on: for ``free`` (by name, of those that
    took a pod) and for ``around``."""
    asked, disks = {**requests(pod), "pods": Decimal(1)}, [volumes.get(claim) for claim in _claims(pod)]
    for each in others:
        left = free.get(each.name, each.free)
        if (
            all(left[key] >= asked[key] for key in asked)
            and refusal(pod["spec"], each.node) is None
            and all(disk is not None and _reaches(disk, each.node) for disk in disks)
            and around.allow(pod, each.node)
        ):
            free[each.name] = {key: left[key] - asked[key] for key in asked}
            around.add(pod, each.node)
            return True
    return False


def _claims(pod: Object) -> Iterator[tuple[str, str]]:
    """The claims of its volumes."""
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield pod["metadata"]["namespace"], f"{pod['metadata']['name']}-{volume['name']}"


def _reaches(disk: Object, node: Object) -> bool:
    """Whether a volume can be attached to the node."""
    required = (disk["spec"].get("nodeAffinity") or {}).get("required") or {}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return refusal({"affinity": affinity, "tolerations": [{"operator": "Exists"}]}, node) is None
