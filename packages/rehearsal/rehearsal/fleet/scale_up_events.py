"""What a cluster-autoscaler says to pods: which groups it grew for them, or why none of them helps.

Karpenter, which stands for it, says nothing. The words and their order are those of
https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/processors/status/eventing_scale_up_processor.go
and of the scheduler's filters. Of volumes and other pods only Karpenter knows: a pod for which it starts nothing,
although a group fits, hears after some seconds that these are the reason.

It also notices when a group's nodes have less for pods than the autoscaler takes them to have.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from facts.concepts.kubernetes import pod_requests, quantity
from rehearsal.cluster.api import Api, Object, condition, report_event
from rehearsal.cluster.threads import Informer, PollingThread
from rehearsal.fleet.external_grpc import planned_node, served_groups
from rehearsal.fleet.node_pools import claim_path, pools_of
from rehearsal.fleet.nodes import NodeTemplate
from rehearsal.fleet.packing import expendable, moves
from rehearsal.fleet.pod_placement import refusal, untolerated
from rehearsal.tools.own_autoscaler import NAME

_POLL_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 10.0
_MOST_PODS: Final = 200
"""Of very many that wait, as the oldest hear first."""

_POOL: Final = "karpenter.sh/nodepool"


@dataclass(frozen=True)
class GroupState:
    """A group as the autoscaler sees it. ``node``: what it plans with, ``free`` what its agents leave of that;
    ``size`` counts nodes that are starting; ``exhausted``: the last attempt to grow failed."""

    id: str
    node: Object
    free: Mapping[str, Decimal]
    size: int
    most: int
    exhausted: bool = False

    def reasons(self, pod_spec: Mapping[str, Any]) -> list[str]:
        """Why it does not grow for a pod; empty if it would."""
        if self.exhausted:
            return ["in backoff after failed scale-up"]
        if self.size >= self.most:
            return ["max node group size reached"]
        if untolerated(pod_spec, self.node):
            return ["node(s) had untolerated taint(s)"]
        if refusal(pod_spec, self.node) is not None:
            return ["node(s) didn't match Pod's node affinity/selector"]
        asked = pod_requests(pod_spec)
        return [f"Insufficient {key}" for key in asked if asked[key] > self.free.get(key, Decimal())]


def states(
    templates: Iterable[NodeTemplate],
    sizes: Mapping[str, int],
    agents: Sequence[Mapping[str, Any]] = (),
    exhausted: Iterable[str] = (),
) -> list[GroupState]:
    """The groups by id. ``sizes``: id → nodes; ``agents`` are the specs of DaemonSets' pods."""
    found = []
    for id, template in served_groups(templates).items():
        node = planned_node(template)
        free = {key: quantity(value) for key, value in node["status"]["allocatable"].items()}
        for agent in agents:
            asked = pod_requests(agent)
            # One that is larger than the machine takes no room of it.
            if refusal(agent, node) is None and all(free.get(key, 0) >= asked[key] for key in asked):
                free |= {key: free[key] - asked[key] for key in asked}
        most = template.group.scaling.max_nodes
        found.append(GroupState(id, node, free, sizes.get(id, 0), most, id in exhausted))
    return found


def not_triggered(pod_spec: Mapping[str, Any], groups: Sequence[GroupState], otherwise: str = "") -> str | None:
    """What a pod hears that no group helps; ``None`` if one does. ``otherwise``: why none of those that fit does."""
    reasons = [group.reasons(pod_spec) or [otherwise][: bool(otherwise)] for group in groups]
    if not all(reasons):
        return None
    counted = Counter(reason for each in reasons for reason in each)
    words = sorted(f"{count} {reason}" for reason, count in counted.items())
    return f"pod didn't trigger scale-up: {', '.join(words)}"


def smaller(
    templates: Iterable[NodeTemplate], there: Collection[str], waiting: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The groups that are planned with more than their nodes have for pods, if one of ``waiting`` (specs) waits for
    that although they are ``there`` (ids)."""
    found = []
    for template in templates:
        known = replace(template, group=replace(template.group, plans_whole=False))
        if template.group.scaling.autoscaled and template.group.planned_machine != template.group.machine:
            pairs = zip(states([template], {}), states([known], {}), strict=True)
            if any(
                planned.id in there and not planned.reasons(spec) and actual.reasons(spec)
                for planned, actual in pairs
                for spec in waiting
            ):
                found.append(template.group.name)
    return found


def other_reason(pod_spec: Mapping[str, Any]) -> str:
    """What else may keep a pod off an empty node: volumes, other pods; empty if nothing does.

    https://github.com/kubernetes/kubernetes/tree/v1.36.2/pkg/scheduler/framework/plugins (``ErrReason…``)
    """
    affinity = pod_spec.get("affinity") or {}
    if any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in pod_spec.get("volumes") or ()):
        return "node(s) didn't match PersistentVolume's node affinity"
    if pod_spec.get("topologySpreadConstraints"):
        return "node(s) didn't match pod topology spread constraints"
    if affinity.get("podAffinity"):
        return "node(s) didn't match pod affinity rules"
    return "node(s) didn't match pod anti-affinity rules" if affinity.get("podAntiAffinity") else ""


class ScaleUpEvents(PollingThread):
    """Looks every second; ``templates`` are those of all groups. ``know`` is called with the name of a group whose
    nodes turn out to be smaller than planned while a pod waits for one."""

    def __init__(
        self, api: Api, templates: Callable[[], Iterable[NodeTemplate]], know: Callable[[str], None] = lambda name: None
    ) -> None:
        super().__init__("scale-up-events", _POLL_SECONDS)
        self._api = api
        self._templates = templates
        self._know = know
        self._claims = Informer("scale-up-events-claims", api, claim_path())
        self._sizes: dict[str, int] = {}
        self._last: dict[str, str] = {}
        self._since: dict[str, float] = {}

    def run(self) -> None:
        """The thread's loop; its informer runs as long."""
        self._claims.start()
        try:
            super().run()
        finally:
            self._claims.close()

    def look(self) -> None:
        """Tell each waiting pod what has changed for it."""
        claims = [claim for claim in self._claims.items() if _POOL in claim["metadata"].get("labels", {})]
        served = served_groups(self._templates()).items()
        always = {id: sum(template.group.permanent().values()) for id, template in served}
        sizes = Counter(claim["metadata"]["labels"][_POOL] for claim in claims) + Counter(always)
        before = {**always, **self._sizes}
        grown = {id: before[id] for id in always if sizes[id] > before[id]}
        self._sizes = dict(sizes)
        pods = self._api.list("/api/v1/pods", fieldSelector="spec.nodeName=,status.phase=Pending")
        waiting = {pod["metadata"]["uid"]: pod for pod in pods if _waits(pod)}
        self._last = {uid: text for uid, text in self._last.items() if uid in waiting}
        self._since = {uid: self._since.get(uid, time.monotonic()) for uid in waiting}
        if not waiting:
            return
        empty = [pool["metadata"]["name"] for pool in pools_of(self._api) if pool["spec"]["limits"].get("nodes") == "0"]
        agents = [each["spec"]["template"]["spec"] for each in self._api.list("/apis/apps/v1/daemonsets")]
        groups = states(self._templates(), sizes, agents, empty)
        there = {claim["metadata"]["labels"][_POOL] for claim in claims if condition(claim, "Initialized")}
        for name in smaller(self._templates(), there, [pod["spec"] for pod in waiting.values()]):
            self._know(name)
        starting = {claim["metadata"]["labels"][_POOL] for claim in claims if _starts(claim)}
        for pod in [*waiting.values()][:_MOST_PODS]:
            self._tell(pod, groups, grown, starting)

    def _tell(self, pod: Object, groups: Sequence[GroupState], grown: Mapping[str, int], starting: set[str]) -> None:
        fitting = {group.id for group in groups if not replace(group, size=0, exhausted=False).reasons(pod["spec"])}
        changes = [
            f"{{{group.id} {grown[group.id]}->{group.size} (max: {group.most})}}"
            for group in groups
            if group.id in grown and group.id in fitting
        ]
        if changes:
            self._report(pod, "TriggeredScaleUp", f"pod triggered scale-up: [{' '.join(changes)}]")
        # A node that is starting may have room for it.
        uid = pod["metadata"]["uid"]
        otherwise = other_reason(pod["spec"]) if time.monotonic() - self._since[uid] > _PATIENCE_SECONDS else ""
        text = None if fitting & starting else not_triggered(pod["spec"], groups, otherwise)
        if text is not None and self._last.get(uid) != text:
            self._report(pod, "NotTriggerScaleUp", text)
            self._last[uid] = text

    def _report(self, pod: Object, reason: str, text: str) -> None:
        report_event(self._api, pod, reason, text, type="Normal", source=NAME)


def _starts(claim: Object) -> bool:
    """Whether a node is still to have all it was started for; of one whose GPUs never come, the claim offers none."""
    offered = claim.get("status", {}).get("allocatable")
    asked = claim.get("spec", {}).get("resources", {}).get("requests") or {}
    return not condition(claim, "Initialized") and (offered is None or all(key in offered for key in asked))


def _waits(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    refused = any(each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable" for each in conditions)
    # No node is started for a DaemonSet's pod: core/podlistprocessor/filter_out_daemon_sets.go
    return refused and moves(pod) and not expendable(pod)
