"""Why a job waits, in one line, who can mend it and whether waiting helps: from what the user may read of the cluster.

Evidence before words. A pod's own claims, events and node come before what a cluster says of all: an autoscaler's text
counts node groups (``causes.py``), and is compared with the pools as the cluster publishes them (``fitting.py``). What
texts mean, and where they are from, is the table ``causes.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from facts.concepts import broken_nodes
from facts.concepts.counts import counted
from facts.concepts.kubernetes import gpu_count, gpu_limit
from facts.concepts.offer import Offer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at
from facts.jobs.job import CHECKPOINTS, QUEUE_LABEL
from gpu.causes import Cause, Reason, causes, knows_all, unknown
from gpu.fitting import measured, misses_of, pools_of
from gpu.ledger import allowed_pools, finished_pods, replaced_pods

Object = Mapping[str, Any]

_NODE_CLAIM: Final = re.compile(r"nodeclaim/([^\s,]+)")
_NODE: Final = re.compile(r"\bnode/([^\s,]+)")
_OTHER_POOL: Final = re.compile(rf"{re.escape(POOL_LABEL)} In \[[^\]]*\] not in {re.escape(POOL_LABEL)} In ")
_PASSED_OVER: Final = "NoCompatibleInstanceTypes"
_GROUP_FAILURES: Final = ("FailedToScaleUpGroup", "ScaleUpFailed", "ScaleUpTimedOut")
_CLAIM_FAILURES: Final = (
    "InsufficientCapacityError", "NodeClassNotReady", "NodeClassResolutionError", "AsyncProvisioningError",
)  # fmt: skip
_KUBELET_FAILURES: Final = (
    "FailedMount", "FailedMapVolume", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedPrepareDynamicResources",
    "FailedCreatePodContainer", "NetworkNotReady",
)  # fmt: skip
_VOLUME_FAILURES: Final = (
    "ProvisioningFailed", "FailedBinding", "VolumeMismatch", "ClaimMisbound", "ClaimLost", "ExternalProvisioning",
)  # fmt: skip
# With the feature gate UnadmittedWorkloadsObservability, the default after 0.19, Kueue says more than Pending:
# https://github.com/kubernetes-sigs/kueue/blob/ff69552/apis/kueue/v1beta2/workload_types.go
_NOT_ADMITTED: Final = (
    "Pending", "PendingEvaluation", "NoMatchingFlavor", "WaitingForQuota", "ExceedsMaxQuota", "Misconfigured",
    "TopologyPlacementFailed", "WaitingForPreemptedWorkloads", "Suspended", "WaitingForPodsReady",
)  # fmt: skip
_VOLUME_WAITS: Final = ("WaitForFirstConsumer", "WaitForPodScheduled", "ProvisioningSucceeded")
_JOINS_WITHIN: Final = timedelta(minutes=10)
"""A machine that joins the cluster does so within some minutes of its start; Karpenter gives up after 15:
https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/liveness.go"""
_EXAMINED: Final = 20
"""Pods of a job of which each is explained by itself: a sweep has thousands, and they wait for the same."""
_AGAIN: Final = 2
"""Evictions, or failed machines, after which another one is likely."""


@dataclass(frozen=True, kw_only=True)
class View:
    """What the user may read of the cluster beside pods and events; ``None``: not allowed, not there, or not needed.

    ``nodes``: of GPU pools. ``node_claims``: Karpenter's. ``claims``: the namespace's PersistentVolumeClaims.
    ``workloads``: Kueue's of the namespace.
    """

    nodes: Sequence[Object] | None = None
    node_claims: Sequence[Object] | None = None
    claims: Sequence[Object] | None = None
    workloads: Sequence[Object] | None = None
    offer: Offer | None = None
    now: datetime | None = None


NOTHING: Final = View()


def of_job(
    job: Object, pods: Sequence[Object], events: Iterable[Object], *, queues: bool = True, view: View = NOTHING
) -> Reason:
    """The job's state and its cause. ``events``: of its namespace, of NodeClaims and of the autoscaler, in any order.

    ``queues``: whether Kueue is installed, which starts suspended jobs.
    """
    ended = _ended(job)
    ordered = sorted(events, key=_when)
    if ended is not None and ended.kind == "succeeded":
        return ended
    deleted = finished_pods(job, pods, ordered)
    if ended is not None:
        return _failed(ended, [*pods, *deleted])
    if at(job, "spec", "suspend"):
        return _queued(job, ordered, view) if queues else _suspended(job)
    reason = _evictions(_state(job, pods, ordered, view), [*pods, *deleted])
    return _restarts(reason, job, pods, [each for each in deleted if at(each, "status", "reason") != "Evicted"])


def _state(job: Object, pods: Sequence[Object], events: Sequence[Object], view: View) -> Reason:
    pending = [pod for pod in pods if _phase(pod) == "Pending" and not _terminating(pod)]
    running = [pod for pod in pods if _phase(pod) == "Running" and not _terminating(pod)]
    if pending:
        reasons = [of_pod(pod, events, view, pods) for pod in pending[:_EXAMINED]]
        # One that somebody has to mend keeps the job from its end, whatever the others wait for.
        chosen = next((reason for reason in reasons if reason.waiting_helps is False), reasons[0])
        return replace(chosen, summary=_with_counts(chosen.summary, len(pending), len(running)))
    if running:
        return Reason("running", f"{counted(len(running), 'pod')} running")
    return _without_pods(job, pods, events)


def _evictions(reason: Reason, pods: Sequence[Object]) -> Reason:
    """``reason`` with how often and why kubelets evicted pods of the job, which a Job repeats without an end."""
    evicted = [pod for pod in pods if at(pod, "status", "reason") == "Evicted"]
    if not evicted:
        return reason
    last = max(evicted, key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
    why = _of_kubelet("Evicted", str(at(last, "status", "message") or ""))
    times = "once" if len(evicted) == 1 else f"{len(evicted)} times"
    summary = f"{reason.summary}; evicted {times}: {why.summary}"
    if len(evicted) >= _AGAIN:
        return replace(why, kind="evicted", summary=summary)
    return replace(reason, summary=summary, remedy=reason.remedy or why.remedy, message=reason.message or why.message)


def _restarts(reason: Reason, job: Object, pods: Sequence[Object], deleted: Sequence[Object]) -> Reason:
    """``reason`` with how often pods of the job were deleted and made again, as with a reclaimed node."""
    count = replaced_pods(job, pods, deleted)
    if not count:
        return reason
    times = "once" if count == 1 else f"{count} times"
    containers = at(job, "spec", "template", "spec", "containers") or ()
    saved = any(each.get("name") == CHECKPOINTS for container in containers for each in container.get("env") or ())
    summary = f"{reason.summary}; started again {times}: a pod was deleted, as with a reclaimed node"
    anew = "" if saved else "it started from the beginning, unless it saves its state (docs/workloads.md, Checkpoints)"
    return replace(reason, summary=summary, remedy=reason.remedy or anew)


def _suspended(job: Object) -> Reason:
    """A suspended job that nothing in the cluster resumes.

    https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job
    """
    place = job["metadata"]
    remedy = (
        f"`kubectl patch job {place['name']} -n {place.get('namespace')} --type=merge -p "
        """'{"spec":{"suspend":false}}'` starts it"""
    )
    queue = at(place, "labels", QUEUE_LABEL)
    where = f"suspended in queue {queue}" if queue else "suspended"
    summary = f"{where}, but Kueue is not installed: nothing starts the job"
    return Reason("queued", summary, remedy, mended_by="user", waiting_helps=False)


def _queued(job: Object, events: Sequence[Object], view: View) -> Reason:
    """Kueue's reason: a condition of the job's Workload, or an event of it if the user may not read Workloads.

    Of a queue that does not exist or is stopped there is no event, and events last an hour.
    """
    text, source = _not_admitted(job, view) or _refused_by_queue(job, events) or ("", "")
    if not text:
        return causes("queues", "PendingEvaluation")[0].reason("")
    message = text.partition(": ")[2]
    first = next(iter(causes("queues", text)), None)
    return unknown(message, source) if first is None else first.reason(message, source)


def _not_admitted(job: Object, view: View) -> tuple[str, str] | None:
    """Reason and message of the condition that keeps the job's Workload out, and where they are from.

    https://github.com/kubernetes-sigs/kueue/blob/ff69552/pkg/workload/workload.go
    """
    uid = job["metadata"].get("uid")
    for workload in view.workloads or ():
        if not any(owner.get("uid") == uid for owner in workload["metadata"].get("ownerReferences") or ()):
            continue
        conditions = {each["type"]: each for each in at(workload, "status", "conditions") or ()}
        inactive = at(workload, "spec", "active") is False
        for type in ("Evicted",) if inactive else ("QuotaReserved", "Admitted"):
            condition = conditions.get(type, {})
            if condition.get("status") == ("True" if inactive else "False"):
                source = f"condition {type} of Workload {workload['metadata']['name']}"
                return f"{condition.get('reason')}: {condition.get('message') or ''}", source
    return None


def _refused_by_queue(job: Object, events: Sequence[Object]) -> tuple[str, str] | None:
    """The same of the last event of the job's Workload, which is named ``job-<job>-<hash>``."""
    mine = re.compile(rf"job-{re.escape(str(job['metadata']['name']))}-[0-9a-f]+")
    refusals = [
        event
        for event in events
        if at(event, "involvedObject", "kind") == "Workload"
        and mine.fullmatch(str(at(event, "involvedObject", "name")))
        and event.get("reason") in _NOT_ADMITTED
    ]
    if not refusals:
        return None
    reason = refusals[-1]["reason"]
    return f"{reason}: {refusals[-1].get('message') or ''}", f"event {reason} of its Workload"


def ahead_of(pods: Sequence[Object], pending: Sequence[Object]) -> int:
    """How many of the ``pending`` pods get a node before the first of ``pods``: of higher priority, or older.

    So sorts the scheduler's queue: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    """

    def rank(pod: Object) -> tuple[int, str]:
        return -int(pod["spec"].get("priority") or 0), str(pod["metadata"].get("creationTimestamp"))

    mine = {pod["metadata"]["uid"] for pod in pods}
    first = min((rank(pod) for pod in pods if _phase(pod) == "Pending"), default=None)
    others = (pod for pod in pending if pod["metadata"]["uid"] not in mine and not pod["spec"].get("nodeName"))
    return 0 if first is None else sum(rank(pod) < first for pod in others)


def of_pod(pod: Object, events: Sequence[Object], view: View = NOTHING, siblings: Sequence[Object] = ()) -> Reason:
    """Why a pod is Pending; ``events`` oldest first, ``siblings``: all pods of its job."""
    return _on_node(pod, events, view) if pod["spec"].get("nodeName") else _unscheduled(pod, events, view, siblings)


def _on_node(pod: Object, events: Sequence[Object], view: View) -> Reason:
    """Why a pod that has a node does not run."""
    node, mine = pod["spec"]["nodeName"], [event for event in reversed(events) if _about(event, pod)]
    statuses = (at(pod, "status", f"{kind}Statuses") or () for kind in ("initContainer", "container"))
    for status in chain.from_iterable(statuses):
        waiting = at(status, "state", "waiting") or {}
        reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
        if reason == "ImagePullBackOff":  # it may say that it waits, and not why
            pulls = [event for event in mine if str(event.get("message")).startswith("Failed to pull image")]
            message = str(pulls[0]["message"]) if pulls else message
        if reason not in ("", "ContainerCreating", "PodInitializing"):
            return _of_kubelet(reason, message, str(status.get("image") or "?"))
    last = next(iter(mine), {})
    if last.get("reason") in _KUBELET_FAILURES:
        return _of_kubelet(str(last["reason"]), str(last.get("message") or ""))
    known = [each for each in view.nodes or () if each["metadata"]["name"] == node]
    if known and (state := _starting(known[0], pod, view)):
        return state
    return Reason("starting", f"pulling the image on node {node}", waiting_helps=True)


def _of_kubelet(reason: str, message: str, image: str = "?") -> Reason:
    """What a kubelet's reason and message mean."""
    source = f"{reason} of its pod"
    first = next(iter(causes("kubelet", f"{reason}: {message}")), None)
    return unknown(message or reason, source) if first is None else first.reason(message or reason, source, image=image)


def _unscheduled(pod: Object, events: Sequence[Object], view: View, siblings: Sequence[Object]) -> Reason:
    condition = next((each for each in at(pod, "status", "conditions") or () if each.get("type") == "PodScheduled"), {})
    scheduler = str(condition.get("message") or "")
    if "PodGroup" in scheduler or condition.get("reason") == "SchedulingGated":
        summary = "held by a scheduling gate until its queue admits it"
        return Reason("queued", summary, "wait", scheduler, "administrator", True, "the scheduler")
    mine = [event for event in reversed(events) if _about(event, pod)]
    unplaced = next((each for each in mine if each.get("reason") == "FailedScheduling" and not _of_karpenter(each)), {})
    scheduler = scheduler or str(unplaced.get("message") or "")
    volume = _volume(pod, events, view)
    if volume is not None:
        return volume
    if view.offer is not None and not _autoscaled(pod, view.offer):
        return _on_fixed_nodes(pod, scheduler, view.offer, view.nodes)
    # The latest attempt counts: an autoscaler that failed once may have started a node since.
    for event in mine:
        if event.get("reason") in ("TriggeredScaleUp", "Nominated"):
            return _announced(pod, event, events, view) or _taken(pod, event, unplaced, scheduler, view, siblings)
        if event.get("reason") == "FailedScaleUp":
            return _of_attempt(event, "pod")
        if event.get("reason") == "NotTriggerScaleUp" or _of_karpenter(event):
            uids = {str(each["metadata"].get("uid")) for each in (pod, *siblings)}
            return _refused(pod, event, events, view, uids)
    return _by_scheduler(scheduler) or Reason(
        "waiting", "no node fits; waiting for the autoscaler", "", scheduler, None, True, "the scheduler"
    )


def _by_scheduler(message: str) -> Reason | None:
    """What is true of every node, also of one that an autoscaler adds."""
    first = next(iter(causes("any_node", message)), None)
    return None if first is None else first.reason(message, "the scheduler")


def _autoscaled(pod: Object, offer: Offer) -> bool:
    pools = pools_of(pod, offer) or offer.pools
    return not all(pool.scaling.owned for pool in pools)


def _on_fixed_nodes(pod: Object, scheduler: str, offer: Offer, nodes: Sequence[Object] | None) -> Reason:
    """Why a pod waits for one of the machines that are there."""
    reason = _by_scheduler(scheduler) or _misfit(pod, measured(offer, nodes or ()), scheduler)
    names = [pool.name for pool in pools_of(pod, offer)]
    mine = [node for node in nodes or () if at(node, "metadata", "labels", POOL_LABEL) in names]
    if reason is None and nodes is not None and not any(_is_true(node, "Ready") for node in mine):
        down = causes("fixed_nodes", "no nodes available")[0]
        reason = down.reason(scheduler, "the scheduler")
    first = next(iter(causes("fixed_nodes", scheduler)), None)
    if reason is None and first is not None:
        reason = first.reason(scheduler, "the scheduler")
    if reason is None and scheduler:
        reason = unknown(scheduler, "the scheduler")
    return reason or Reason("waiting", "no machine has room, and no autoscaler adds one")


def _misfit(pod: Object, offer: Offer, message: str) -> Reason | None:
    """That no published pool fits the pod, and what the nearest lacks; ``None`` if one does.

    What is published of memory, CPU and disk is less than some nodes have, so these count only if ``message`` says so.
    """
    remedy = "request what a pool has: `gpu pools`, `gpu fit`"
    if not gpu_limit(pod["spec"]):
        return None
    named = allowed_pools(pod)
    if named and not {pool.name for pool in offer.pools} & {*named}:
        return Reason("no-pool", f"no pool is called {' or '.join(named)}", remedy, message, "user", False)
    if not pools_of(pod, offer):
        summary = "no pool fits: none has the labels that the pod selects and only taints that it tolerates"
        return Reason("no-pool", summary, remedy, message, "user", False)
    too_small = re.search(r"Insufficient|enough resources|had the required resources", message)
    missing = misses_of(pod, offer, gpus_alone=not too_small)
    if not missing:
        return None
    summary = f"no pool fits; the nearest is {missing[0].pool.name}: {'; '.join(missing[0].lacks)}"
    return Reason("no-pool", summary, remedy, message, "user", False)


def _refused(pod: Object, refusal: Object, events: Sequence[Object], view: View, uids: set[str]) -> Reason:
    """Why the autoscaler adds no node, from its ``refusal``, which counts node groups."""
    message, source = str(refusal.get("message") or ""), _source(refusal, "pod")
    conclusive = next(iter(causes("any_node", message)), None)
    misfit = None if view.offer is None else _misfit(pod, view.offer, message)
    if conclusive is not None:
        return conclusive.reason(message, source)
    if misfit is not None:
        return replace(misfit, source=source)
    if (passed_over := _passed_over(pod, message, events, source)) is not None:
        return _timed(passed_over, refusal)
    cause = _cause_of(pod, message, view)
    if cause is None:
        return unknown(message, source)
    reason = cause.reason(message, source)
    if cause.of_others and (calculated := _calculated(pod, message, view)) is not None:
        reason = replace(reason, **calculated)
    return _before_backoff(pod, events, view, uids) or reason if reason.kind == "unknown" else _timed(reason, refusal)


def _passed_over(pod: Object, message: str, events: Sequence[Object], source: str) -> Reason | None:
    """That Karpenter refuses the pod for other NodePools than its own alone: it does not consider that one now.

    ``NewScheduler`` leaves out a NodePool none of whose machine types is available, and one that is not ready:
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/provisioning/scheduling/scheduler.go
    """
    own = allowed_pools(pod)
    if not own or not all(_OTHER_POOL.search(refusal) for refusal in re.split(r"; (?!key )", message)):
        return None
    reported = [each for each in events if each.get("reason") == _PASSED_OVER and _named(each)[1] in own]
    if reported:
        return _of_attempt(reported[-1], "NodePool")
    summary = (
        f"Karpenter does not consider pool {' or '.join(own)}: the cloud has none of its machine types now, or its "
        "NodePool is not ready"
    )
    remedy = f"wait some minutes; `kubectl describe nodepool {own[0]}` shows whether it is ready"
    return Reason("unknown", summary, remedy, message, source=source)


def _calculated(pod: Object, message: str, view: View) -> dict[str, str] | None:
    """Summary and remedy where a pool was published with room for the pod, and nobody compared it with a real node."""
    names = [pool.name for pool in pools_of(pod, view.offer) if pool.compared is False] if view.offer else []
    lacking = [word for word in ("cpu", "memory", "ephemeral-storage") if f"Insufficient {word}" in message]
    if not names or not (lacking or "enough resources" in message):
        return None
    what = " and ".join(lacking) or "room"
    return {
        "summary": f"no node has that much {what}: the size of {', '.join(names)} is calculated, and no real node was "
        "compared with it",
        "remedy": "request less, a few per cent at a time, and tell an administrator the size that runs",
    }


def _cause_of(pod: Object, message: str, view: View) -> Cause | None:
    """Which of the reasons that an autoscaler counts over node groups keeps it from adding a node for the pod."""
    message = _of_own_pools(pod, message)
    candidates = causes("new_nodes", message)
    first = next(iter(candidates), None)
    if first is None or not first.passed_over:
        return first
    if view.offer is None:
        # A group that looked at the pod is too small, so the pod is likely to be too large for others as well.
        too_small = "Insufficient " in message or "enough resources" in message
        return next((cause for cause in candidates if not (too_small and cause.passed_over)), first)
    if first.kind != "pool-full" or view.nodes is None:
        return first
    if _at_most(pod, view):
        return first
    # Another group may be the full one, unless machines of the pod's pools are still starting.
    others = (cause for cause in candidates if cause is not first and not cause.of_others)
    return next(others, first if knows_all("new_nodes", message) else None)


def _group_name(pool: str, view: View) -> str:
    """The part of its node group's name that stands for a pool."""
    # Imported late: the catalogue is large, and few jobs wait for a node group that failed.
    from facts import catalog

    cloud = "" if view.offer is None else view.offer.cloud
    return catalog.of(cloud).nodes.group_name(pool) if cloud in catalog.clouds() else pool


def _pool_names(pod: Object, view: View) -> list[str]:
    """The pools that the pod names, else those that it selects; empty if they are not known."""
    selected = [] if view.offer is None else [pool.name for pool in pools_of(pod, view.offer)]
    return allowed_pools(pod) or selected


def _of_own_pools(pod: Object, message: str) -> str:
    """``message`` without what Karpenter says of NodePools that the pod does not select, where it names them."""
    own = allowed_pools(pod)
    named = ((part, re.search(r"\(NodePool=([^)]+)\)", part)) for part in message.split("; "))
    return "; ".join(part for part, match in named if match is None or not own or match[1] in own)


def _before_backoff(pod: Object, events: Sequence[Object], view: View, uids: set[str]) -> Reason | None:
    """Why the last attempt failed: the job's own pods before node groups, and of those the pod's own only."""
    own = [
        event
        for event in events
        if event.get("reason") == "FailedScaleUp" and at(event, "involvedObject", "uid") in uids
    ]
    if own:
        return _of_attempt(own[-1], "pod")
    started = [event for event in events if event.get("reason") == "TriggeredScaleUp" and _about(event, pod)]
    groups = _group_failures(pod, _groups_of(started[-1]) if started else (), events, view)
    return _of_attempt(groups[-1], "node group") if groups else None


def _groups_of(trigger: Object) -> list[str]:
    """The node groups of ``pod triggered scale-up: [{gke-t4-grp 0->1 (max: 3)}]``."""
    return re.findall(r"\{(\S+) \d+->\d+", str(trigger.get("message")))


def _group_failures(pod: Object, groups: Iterable[str], events: Sequence[Object], view: View) -> list[Object]:
    """What the autoscaler reports of ``groups``, or of those that are named after a pool of the pod."""
    pools = _pool_names(pod, view)
    names = pools if view.offer is None else [pool.name for pool in view.offer.pools]
    parts = {name: _group_name(name, view) for name in names}

    def is_own(event: Object) -> bool:
        message = str(event.get("message"))
        if any(group in message for group in groups):
            return True
        in_name = [name for name in names if re.search(rf"(?<![a-z0-9]){re.escape(parts[name])}(?![a-z0-9])", message)]
        return not pools or max(in_name, key=len, default="") in pools

    return [event for event in events if event.get("reason") in _GROUP_FAILURES and is_own(event)]


def _of_attempt(event: Object, of: str) -> Reason:
    """What a failed attempt to add a node means."""
    message, source = str(event.get("message") or ""), _source(event, of)
    first = next(iter(causes("scale_up", f"{event.get('reason')}: {message}")), None)
    return _timed(unknown(message, source) if first is None else first.reason(message, source), event)


def _timed(reason: Reason, event: Object) -> Reason:
    """The reason with the time of the attempt that failed, where the cloud was the cause."""
    if reason.kind not in ("no-capacity", "cloud-quota") or not _when(event):
        return reason
    date, _, time = _when(event).partition("T")
    return replace(reason, summary=f"{reason.summary}; last attempt {date} {time[:5]} UTC")


def _announced(pod: Object, event: Object, events: Sequence[Object], view: View) -> Reason | None:
    """What has become of the machines that the autoscaler announced; ``None`` if all are ready."""
    match = _NODE_CLAIM.search(str(event.get("message")))
    if match is not None:
        reason = _of_node_claim(match[1], events, view) or _given_up(pod, match[1], events, view)
    else:
        since = [each for each in _group_failures(pod, _groups_of(event), events, view) if _when(each) >= _when(event)]
        reason = _of_attempt(since[-1], "node group") if since else None
    if reason is not None:
        return reason
    nodes = _announced_nodes(pod, event, view)
    states = [state for node in nodes if (state := _starting(node, pod, view)) is not None]
    if states:
        return next((state for state in states if state.kind == "scaling"), states[0])
    if nodes and not _others_start(pod, event, events, view):
        return None
    return Reason(
        "scaling", "provisioning a node", "", str(event.get("message") or ""), None, True, _source(event, "pod")
    )


def _announced_nodes(pod: Object, event: Object, view: View) -> list[Object]:
    """The node that Karpenter named, or those of the pod's pools since cluster-autoscaler's ``event``, newest first."""
    named = _NODE.search(str(event.get("message")))
    claimed = _NODE_CLAIM.search(str(event.get("message")))
    claim = next((each for each in view.node_claims or () if claimed and each["metadata"]["name"] == claimed[1]), None)
    name = named[1] if named else at(claim, "status", "nodeName")
    if named or claimed:
        return [node for node in view.nodes or () if node["metadata"]["name"] == name]
    since = (node for node in _nodes_of(pod, view) if str(node["metadata"].get("creationTimestamp")) >= _when(event))
    return sorted(since, key=lambda node: str(node["metadata"]["creationTimestamp"]), reverse=True)


def _nodes_of(pod: Object, view: View) -> list[Object]:
    """The nodes of the pod's pools."""
    pools = _pool_names(pod, view)
    return [node for node in view.nodes or () if at(node, "metadata", "labels", POOL_LABEL) in pools]


def _others_start(pod: Object, event: Object, events: Sequence[Object], view: View) -> bool:
    """Whether further machines of the pod's pools are on their way.

    A node is nobody's: the scheduler places the oldest pod on the first one that is ready.
    """
    pools, nodes = _pool_names(pod, view), _nodes_of(pod, view)
    sizes = [(int(old), int(new)) for old, new in re.findall(r"\{\S+ (\d+)->(\d+)", str(event.get("message")))]
    since = len(_announced_nodes(pod, event, view))
    if sum(new for _, new in sizes) > len(nodes) or sum(new - old for old, new in sizes) > since:
        return True
    states = (_starting(node, pod, view) for node in nodes)
    if any(state is not None and state.kind == "scaling" for state in states):
        return True
    return any(
        at(claim, "metadata", "labels", POOL_LABEL) in pools
        and not _is_true(claim, "Initialized")
        and _of_node_claim(claim["metadata"]["name"], events, view) is None
        for claim in view.node_claims or ()
    )


def _taken(
    pod: Object, event: Object, unplaced: Object, scheduler: str, view: View, siblings: Sequence[Object]
) -> Reason:
    """Why a pod waits although the nodes that were announced are ready. ``unplaced``: the scheduler's last event."""
    nodes = _announced_nodes(pod, event, view)
    names = ", ".join(sorted(node["metadata"]["name"] for node in nodes))
    nodes_are = "its node {} is ready" if len(nodes) == 1 else "the new nodes {} are ready"
    if (reason := _by_scheduler(scheduler)) is not None:
        return reason
    if not all(_is_full(node, pod, unplaced, siblings) for node in nodes):
        summary = f"{nodes_are.format(names)}; the scheduler has not placed the pod there"
        return Reason("waiting", summary, "", scheduler, None, None, "the scheduler")
    if view.offer is not None and _at_most(pod, view):
        return causes("new_nodes", "max node group size reached")[0].reason(scheduler, "the scheduler")
    summary = f"{nodes_are.format(names)} and other pods are there; waiting for the autoscaler"
    return Reason("waiting", summary, "", scheduler, None, True, "the scheduler")


def _is_full(node: Object, pod: Object, unplaced: Object, siblings: Sequence[Object]) -> bool:
    """Whether the pod's job alone uses the node's GPUs, or the scheduler found no room since the node is ready."""
    there = [each for each in siblings if each["spec"].get("nodeName") == node["metadata"]["name"]]
    used = sum(gpu_limit(each["spec"]) for each in there if _phase(each) not in ("Succeeded", "Failed"))
    if used + gpu_limit(pod["spec"]) > gpu_count(at(node, "status", "allocatable") or {}):
        return True
    ready = next((each for each in at(node, "status", "conditions") or () if each.get("type") == "Ready"), {})
    since = str(ready.get("lastTransitionTime") or "")
    return bool(since) and _when(unplaced) > since and "Insufficient " in str(unplaced.get("message"))


def _at_most(pod: Object, view: View) -> bool:
    """Whether all pools of the pod have all the nodes that they may have."""
    up = [at(node, "metadata", "labels", POOL_LABEL) for node in view.nodes or ()]
    pools = pools_of(pod, view.offer) if view.offer else []
    return all(up.count(pool.name) >= pool.scaling.max_nodes for pool in pools)


def _given_up(pod: Object, name: str, events: Sequence[Object], view: View) -> Reason | None:
    """That Karpenter deletes one machine after the other, for a reason that is in events which the user may not read.

    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/launch.go
    """
    if view.node_claims is None or any(each["metadata"]["name"] == name for each in view.node_claims):
        return None
    present = {each["metadata"]["name"] for each in view.node_claims}
    nominations = (_NODE_CLAIM.search(str(event.get("message"))) for event in events if _about(event, pod))
    deleted = {match[1] for match in nominations if match is not None} - present
    if len(deleted) < _AGAIN:
        return None
    summary = f"{len(deleted)} machines for it were given up before they joined; Karpenter tries again"
    remedy = "ask an administrator for the reason: `kubectl get events -n default`"
    return Reason("unknown", summary, remedy, source=f"NodeClaims {', '.join(sorted(deleted))}")


def _of_node_claim(name: str, events: Sequence[Object], view: View) -> Reason | None:
    """Why a NodeClaim failed, or its machine does not join."""
    mine = [each for each in events if _named(each) == ("NodeClaim", name) and each.get("reason") in _CLAIM_FAILURES]
    if mine:
        return _of_attempt(mine[-1], "NodeClaim")
    claim = next((each for each in view.node_claims or () if each["metadata"]["name"] == name), None)
    conditions = {each["type"]: each for each in at(claim, "status", "conditions") or ()}
    launched, registered = conditions.get("Launched", {}), conditions.get("Registered", {})
    # Nobody has looked at it yet: https://github.com/awslabs/operatorpkg/blob/main/status/condition_set.go
    if launched and launched.get("status") != "True" and launched.get("reason") != "AwaitingReconciliation":
        message, source = str(launched.get("message") or ""), f"condition Launched of NodeClaim {name}"
        first = next(iter(causes("scale_up", f"{launched.get('reason')}: {message}")), None)
        text = f"{launched.get('reason')}: {message}"
        return unknown(text, source) if first is None else first.reason(text, source)
    started = launched.get("status") == "True" and registered.get("status") != "True"
    if started and _since(launched, view) > _JOINS_WITHIN:
        summary = "the machine has started and does not join the cluster"
        remedy = causes("scale_up", "ScaleUpTimedOut")[0].remedy
        message, source = str(registered.get("message") or ""), f"condition Registered of NodeClaim {name}"
        return Reason("did-not-join", summary, remedy, message, "administrator", False, source)
    return None


def _starting(node: Object, pod: Object, view: View) -> Reason | None:
    """What a node lacks before it can run the pod."""
    name = node["metadata"]["name"]
    age = _since({"lastTransitionTime": node["metadata"].get("creationTimestamp")}, view)
    ready = next((each for each in at(node, "status", "conditions") or () if each.get("type") == "Ready"), {})
    source = f"condition Ready of node {name}"
    if ready.get("status") != "True":
        message = f"{ready.get('reason')}: {ready.get('message')}" if ready.get("reason") else ""
        if age > _JOINS_WITHIN:
            summary, remedy = f"its node {name} is not ready", "`kubectl describe node` shows why"
            return Reason("did-not-join", summary, remedy, message, "administrator", False, source)
        return Reason("scaling", f"its node {name} has joined and is not ready yet", "", message, None, True, source)
    if gpu_limit(pod["spec"]) and not gpu_count(at(node, "status", "allocatable") or {}):
        if age > timedelta(minutes=broken_nodes.MINUTES["missing"]):
            summary = f"its node {name} has no usable GPU: its driver or device plugin does not run"
            remedy = f"`kubectl get pods -A -o wide --field-selector spec.nodeName={name}` shows them"
            return Reason("configuration", summary, remedy, "", "administrator", False)
        return Reason("scaling", f"its node {name} waits for its GPU driver", waiting_helps=True)
    return None


def _is_true(of: Object, condition: str) -> bool:
    conditions = at(of, "status", "conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


def _since(condition: Object, view: View) -> timedelta:
    """How long a condition has been as it is; 0 if that is not known."""
    time = condition.get("lastTransitionTime")
    if view.now is None or not time:
        return timedelta()
    return view.now - datetime.fromisoformat(str(time).replace("Z", "+00:00"))


def _volume(pod: Object, events: Sequence[Object], view: View) -> Reason | None:
    """What is wrong with the first PersistentVolumeClaim of the pod that is not bound."""
    claims = {claim["metadata"]["name"]: claim for claim in view.claims or ()}
    for name, own in _claims_of(pod).items():
        if view.claims is not None and name not in claims:
            if own:  # Kubernetes is about to make it
                continue
            return causes("claims", "NotFound")[0].reason("", claim=name)
        if at(claims.get(name), "status", "phase") == "Bound":
            continue
        if at(claims.get(name), "status", "phase") == "Lost":
            return causes("claims", "ClaimLost")[0].reason("", claim=name)
        failure = _volume_failure(name, events)
        if failure is not None:
            message, source = str(failure.get("message") or ""), _source(failure, "claim")
            reason = causes("claims", f"{failure['reason']}: {message}")[0].reason(message, source, claim=name)
            # A driver needs some seconds.
            first = failure.get("firstTimestamp")
            young = view.now is not None and first and _since({"lastTransitionTime": first}, view) < _JOINS_WITHIN
            waits = failure["reason"] == "ExternalProvisioning"
            return replace(reason, waiting_helps=True) if waits and young else reason
    return None


def _volume_failure(claim: str, events: Sequence[Object]) -> Object | None:
    """The last failure of a claim; a driver that tries again reports so between two failures."""
    mine = [event for event in events if _named(event) == ("PersistentVolumeClaim", claim)]
    # Somebody has mended what failed before: the claim waits for its pod, as it should.
    mended = max((place for place, event in enumerate(mine) if event.get("reason") in _VOLUME_WAITS), default=-1)
    failures = [event for event in mine[mended + 1 :] if event.get("reason") in _VOLUME_FAILURES]
    reported = [event for event in failures if event["reason"] != "ExternalProvisioning"]
    return next(iter(reversed(reported or failures)), None)


def _claims_of(pod: Object) -> dict[str, bool]:
    """Name of a PersistentVolumeClaim of the pod → whether it is made for the pod:
    https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming"""
    volumes = at(pod, "spec", "volumes") or ()
    made = {f"{pod['metadata']['name']}-{volume['name']}": True for volume in volumes if volume.get("ephemeral")}
    named = (at(volume, "persistentVolumeClaim", "claimName") for volume in volumes)
    return made | {str(name): False for name in named if name}


def _without_pods(job: Object, pods: Sequence[Object], events: Sequence[Object]) -> Reason:
    """No pod is pending or running: the Job controller could not create one, or has not yet."""
    if job["metadata"].get("deletionTimestamp"):
        return Reason("stopping", "terminating")
    if pods and any(_phase(pod) in ("Succeeded", "Failed") for pod in pods):
        return Reason("running", "its pods have finished; completing")
    refusals = [
        event
        for event in events
        if event.get("reason") == "FailedCreate" and at(event, "involvedObject", "uid") == job["metadata"].get("uid")
    ]
    if not refusals:
        return Reason("waiting", "no pods created yet", waiting_helps=True)
    message, source = str(refusals[-1].get("message")), _source(refusals[-1], "Job")
    if quota := re.search(r"exceeded quota: ([^,]+)(?:, (requested: .+))?$", message):
        return _of_quota(quota[1], quota[2] or message, message, source)
    remedy = "`gpu stop` it, fix the cause and submit again"
    return Reason("failed", f"pod creation refused: {message}", remedy, message, "user", False, source)


def _of_quota(name: str, usage: str, message: str, source: str) -> Reason:
    """A ResourceQuota of the namespace that admits no further pod: by their names those of the stack."""
    if name == "priority":  # of pods with classes that a team may not use it admits none
        summary = f"pod creation refused: the team may not use the job's priorityClassName ({usage})"
        remedy = "`gpu stop` it, and submit it as `gpu submit --dry-run` writes it"
        return Reason("failed", summary, remedy, message, "user", False, source)
    whose = {"team": "team quota", "namespace-limits": "limits of the namespace"}.get(name, f"quota {name}")
    jobs = "jobs of the team" if name == "team" else "pods of the namespace"
    remedy = f"wait for other {jobs} to finish (`gpu list`), or ask the administrator for more"
    return Reason("namespace-quota", f"{whose} exceeded ({usage})", remedy, message, "administrator", True, source)


def _ended(job: Object) -> Reason | None:
    for condition in at(job, "status", "conditions") or ():
        if condition.get("status") != "True":
            continue
        if condition["type"] in ("Complete", "SuccessCriteriaMet"):
            return Reason("succeeded", "Complete")
        if condition["type"] == "Failed":
            message, source = str(condition.get("message") or ""), "condition Failed of the Job"
            summary, remedy = f"Failed: {condition.get('reason')}", "`gpu logs` shows its output"
            return Reason("failed", summary, remedy, message, "user", False, source)
    return None


def _failed(reason: Reason, pods: Sequence[Object]) -> Reason:
    """``reason`` with what ended the container, or why none ever ran."""
    # Those that a disruption ended do not count as failures.
    for pod in sorted(pods, key=_disrupted):
        of_pod = str(at(pod, "status", "reason") or "")
        if of_pod == "DeadlineExceeded":
            remedy = "submit it with a longer --timeout; it continues from its checkpoint if it writes one"
            return replace(reason, summary="Failed: stopped by its --timeout", remedy=remedy)
        if of_pod and _phase(pod) == "Failed":
            return _as_failure(_of_kubelet(of_pod, str(at(pod, "status", "message") or "")), of_pod)
        for status in at(pod, "status", "containerStatuses") or ():
            ended = at(status, "state", "terminated") or {}
            code, ended_by = ended.get("exitCode"), str(ended.get("reason") or "")
            if code and ended_by == "OOMKilled":
                remedy = "submit it with more --memory"
                return replace(reason, summary=f"Failed: out of memory (exit code {code})", remedy=remedy)
            if code and ended_by not in ("", "Error", "Completed"):
                return _as_failure(_of_kubelet(ended_by, str(ended.get("message") or "")), ended_by)
            if code:
                return replace(reason, summary=f"Failed: exit code {code}")
    return reason


def _disrupted(pod: Object) -> bool:
    conditions = at(pod, "status", "conditions") or ()
    return any(each.get("type") == "DisruptionTarget" and each.get("status") == "True" for each in conditions)


def _as_failure(cause: Reason, word: str) -> Reason:
    """Of a job that has ended, with the kubelet's ``word`` for it."""
    summary = cause.message if cause.kind == "unknown" else cause.summary
    if cause.waiting_helps:  # while the job lasted
        cause = replace(cause, mended_by="user", remedy="submit it again")
    return replace(cause, kind="failed", summary=f"Failed: {summary} ({word})", waiting_helps=False)


def _with_counts(summary: str, pending: int, running: int) -> str:
    others = f"; {counted(running, 'pod')} running" if running else ""
    return f"{counted(pending, 'pod')} pending: {summary}{others}" if pending > 1 or running else summary


def _about(event: Object, pod: Object) -> bool:
    about = event.get("involvedObject") or {}
    return about.get("kind") == "Pod" and about.get("uid") == pod["metadata"].get("uid")


def _named(event: Object) -> tuple[str, str]:
    """Kind and name of the object that an event is about."""
    about = event.get("involvedObject") or {}
    return str(about.get("kind")), str(about.get("name"))


def _of_karpenter(event: Object) -> bool:
    return event.get("reason") == "FailedScheduling" and str(event.get("message")).startswith("Failed to schedule pod")


def _source(event: Object, of: str) -> str:
    name = "" if of in ("pod", "Job") else f" {at(event, 'involvedObject', 'name')}"
    return f"event {event.get('reason')} of its {of}{name}"


def _when(event: Object) -> str:
    places = (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    return next((str(time) for place in places if (time := at(event, *place))), "")


def _phase(pod: Object) -> str:
    return str(at(pod, "status", "phase"))


def _terminating(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
