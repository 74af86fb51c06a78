"""Why a job waits, in one line, and what to do about it: from its pods' conditions and the related events.

Their messages come from the scheduler (``FailedScheduling``), the Job controller (``FailedCreate``), the kubelet and
autoscalers:

- cluster-autoscaler, which AKS and GKE run as well:
  https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/processors/status/eventing_scale_up_processor.go
  and its FAQ on events; ``FailedToScaleUpGroup`` is on its status ConfigMap, not on the pod
- GKE's: https://cloud.google.com/kubernetes-engine/docs/troubleshooting/cluster-autoscaler-scale-up (``FailedScaleUp``:
  ``GCE quota exceeded``, ``GCE out of resources``)
- Karpenter: https://github.com/kubernetes-sigs/karpenter, ``pkg/controllers/provisioning/scheduling/events.go`` and
  ``pkg/controllers/nodeclaim/lifecycle/events.go`` (``InsufficientCapacityError``, on the NodeClaim)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from facts.concepts.counts import counted
from facts.concepts.unknown import at
from facts.jobs.job import QUEUE_LABEL

Object = Mapping[str, Any]
Kind = Literal[
    "running", "succeeded", "failed", "queued", "namespace-quota", "scaling", "no-capacity", "cloud-quota", "pool-full",
    "no-pool", "image", "starting", "waiting", "stopping",
]  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """``summary`` in one line; ``remedy`` is empty if there is nothing to do; ``message`` is the original message."""

    kind: Kind
    summary: str
    remedy: str = ""
    message: str = ""


_IMAGE: Final = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
_TOO_MUCH: Final = re.compile(r"> maximum capacity", re.IGNORECASE)
_BACKOFF: Final = re.compile(r"in backoff", re.IGNORECASE)
_TRY_LATER: Final = "wait, or stop the job and choose another GPU or other zones: `gpu pools`, `gpu fit`"


@dataclass(frozen=True, kw_only=True)
class _Cause:
    """An entry of ``causes.yaml``, which documents the fields."""

    kind: Kind
    patterns: Sequence[str]
    summary: str
    remedy: str
    of_the_cloud: bool = False
    outweighed_by: Sequence[str] = ("(?!)",)  # matches nothing

    def matches(self, message: str) -> bool:
        """Whether it is why ``message`` says that no node is added."""
        return _groups(self.patterns, message) >= max(1, _groups(self.outweighed_by, message))


def _groups(patterns: Sequence[str], message: str) -> int:
    """How many node groups a message like ``3 Insufficient cpu, 1 max limit reached`` counts for ``patterns``."""
    parts = (part for part in message.split(",") if re.search("|".join(patterns), part, re.IGNORECASE))
    counts = (re.search(r"(?:^|:) *(\d+) ", part) for part in parts)
    return max((int(count[1]) if count else 1 for count in counts), default=0)


_CAUSES: Final = [
    _Cause(**entry) for entry in yaml.safe_load(Path(__file__).with_name("causes.yaml").read_text(encoding="utf-8"))
]
_OF_THE_CLOUD: Final = [cause for cause in _CAUSES if cause.of_the_cloud]


def of_job(job: Object, pods: Sequence[Object], events: Iterable[Object], *, queues: bool = True) -> Reason:
    """The job's state and its cause. ``events``: of its namespace, of NodeClaims and of the autoscaler, in any order.

    ``queues``: whether Kueue is installed, which starts suspended jobs.
    """
    ended = _ended(job)
    if ended is not None:
        return ended if ended.kind == "succeeded" else _failed(ended, pods)
    ordered = sorted(events, key=_when)
    if at(job, "spec", "suspend"):
        return _queued(job, ordered) if queues else _suspended(job)
    pending = [pod for pod in pods if _phase(pod) == "Pending" and not _terminating(pod)]
    running = [pod for pod in pods if _phase(pod) == "Running" and not _terminating(pod)]
    if pending:
        first = of_pod(pending[0], ordered)
        return Reason(first.kind, _with_counts(first.summary, len(pending), len(running)), first.remedy, first.message)
    if running:
        return Reason("running", f"{counted(len(running), 'pod')} running")
    return _without_pods(job, pods, ordered)


def _suspended(job: Object) -> Reason:
    """A suspended job that nothing in the cluster resumes: https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job"""
    place = job["metadata"]
    remedy = (
        f"`kubectl patch job {place['name']} -n {place.get('namespace')} --type=merge -p "
        """'{"spec":{"suspend":false}}'` starts it"""
    )
    queue = at(place, "labels", QUEUE_LABEL)
    where = f"suspended in queue {queue}" if queue else "suspended"
    return Reason("queued", f"{where}, but Kueue is not installed: nothing starts the job", remedy)


def _queued(job: Object, events: Sequence[Object]) -> Reason:
    """Kueue's reason, from the events of the job's Workload, which is named ``job-<job>-<hash>``.

    https://github.com/kubernetes-sigs/kueue/blob/main/pkg/scheduler/flavorassigner/flavorassigner.go
    """
    mine = re.compile(rf"job-{re.escape(str(job['metadata']['name']))}-[0-9a-f]+")
    messages = [
        str(event.get("message") or "")
        for event in events
        if at(event, "involvedObject", "kind") == "Workload"
        and mine.fullmatch(str(at(event, "involvedObject", "name")))
        and event.get("reason") == "Pending"
    ]
    message = messages[-1] if messages else ""
    if _TOO_MUCH.search(message):
        summary = "requests more GPUs than its queue's maximum capacity"
        return Reason("queued", summary, "request fewer, or raise maxNodes of the pools", message)
    return Reason("queued", "suspended until its queue has free quota", "wait; the queue starts the job", message)


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


def of_pod(pod: Object, events: Sequence[Object]) -> Reason:
    """Why a pod is Pending; ``events`` oldest first."""
    statuses = (at(pod, "status", f"{kind}Statuses") or () for kind in ("initContainer", "container"))
    for status in chain.from_iterable(statuses):
        waiting = at(status, "state", "waiting") or {}
        if waiting.get("reason") in _IMAGE:
            return Reason(
                "image",
                f"image {status.get('image') or '?'} cannot be pulled",
                "correct its name, or give the nodes access to its registry, then submit again",
                waiting.get("message") or waiting["reason"],
            )
        if waiting.get("reason") == "CreateContainerConfigError":
            summary = f"the container cannot start: {waiting.get('message')}"
            return Reason("waiting", summary, "create the missing object")
    if pod["spec"].get("nodeName"):
        return Reason("starting", f"pulling the image on node {pod['spec']['nodeName']}")
    return _unscheduled(pod, events)


def _unscheduled(pod: Object, events: Sequence[Object]) -> Reason:
    mine = [event for event in events if _about(event, pod)]
    messages = [(str(event.get("reason")), str(event.get("message") or ""), event) for event in reversed(mine)]
    condition = next((each for each in at(pod, "status", "conditions") or () if each.get("type") == "PodScheduled"), {})
    scheduler = str(condition.get("message") or "")
    # The latest attempt counts: an autoscaler that failed once may have started a node since.
    for reason, message, event in messages:
        if reason in ("TriggeredScaleUp", "Nominated"):
            return _claim_failure(message, events) or Reason("scaling", "provisioning a node", "", message)
        if reason in ("FailedScaleUp", "NotTriggerScaleUp") or (
            reason == "FailedScheduling" and message.startswith("Failed to schedule pod")
        ):
            return _refused(message, event, events)
    if "PodGroup" in scheduler or condition.get("reason") == "SchedulingGated":
        return Reason("queued", "held by a scheduling gate until its queue admits it", "wait", scheduler)
    message = scheduler or next((message for reason, message, _ in messages if reason == "FailedScheduling"), "")
    return Reason("waiting", "no node fits; waiting for the autoscaler", "", message)


def _refused(message: str, refusal: Object, events: Sequence[Object]) -> Reason:
    """Why the autoscaler did not scale up, as specific as its events allow; ``refusal`` is the one with the message."""
    if not _BACKOFF.search(message):
        unknown = Reason("waiting", "the autoscaler did not scale up", _TRY_LATER, message)
        return _timed(_reason(message, _CAUSES), refusal) or unknown
    failures = [each for each in reversed(events) if each.get("reason") in ("FailedToScaleUpGroup", "FailedScaleUp")]
    reasons = (_timed(_reason(str(event.get("message")), _OF_THE_CLOUD), event) for event in failures)
    failed = Reason("no-capacity", "the last scale-up failed; the autoscaler is in backoff", _TRY_LATER, message)
    return next(filter(None, reasons), failed)


def _reason(message: str, causes: Sequence[_Cause], event_reason: str = "") -> Reason | None:
    """The first of ``causes`` that a message, or the event's own reason, names."""
    matching = (cause for cause in causes if cause.matches(f"{event_reason} {message}"))
    return next((Reason(cause.kind, cause.summary, cause.remedy, message) for cause in matching), None)


def _timed(reason: Reason | None, event: Object) -> Reason | None:
    """The reason with the time of the attempt that failed, where the cloud was the cause."""
    if reason is None or reason.kind not in ("no-capacity", "cloud-quota") or not _when(event):
        return reason
    date, _, time = _when(event).partition("T")
    return replace(reason, summary=f"{reason.summary}; last attempt {date} {time[:5]} UTC")


def _claim_failure(nomination: str, events: Sequence[Object]) -> Reason | None:
    """Why the NodeClaim failed that the pod was nominated for; ``None`` if it did not."""
    match = re.search(r"nodeclaim/([^\s,]+)", nomination)
    claim = ("NodeClaim", match[1]) if match else None
    mine = [
        each
        for each in reversed(events)
        if (at(each, "involvedObject", "kind"), at(each, "involvedObject", "name")) == claim
    ]
    failures = (
        _timed(_reason(str(each.get("message")), _OF_THE_CLOUD, str(each.get("reason"))), each) for each in mine
    )
    return next(filter(None, failures), None)


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
        return Reason("waiting", "no pods created yet")
    message = str(refusals[-1].get("message"))
    if "exceeded quota" in message:
        usage = re.search(r"exceeded quota: [^,]+, (requested: .+)$", message)
        return Reason(
            "namespace-quota",
            f"team quota exceeded ({usage[1] if usage else message})",
            "wait for other jobs of the team to finish (`gpu list`), or ask the administrator for more",
            message,
        )
    remedy = "`gpu stop` it, fix the cause and submit again"
    return Reason("failed", f"pod creation refused: {message}", remedy, message)


def _ended(job: Object) -> Reason | None:
    for condition in at(job, "status", "conditions") or ():
        if condition.get("status") != "True":
            continue
        if condition["type"] in ("Complete", "SuccessCriteriaMet"):
            return Reason("succeeded", "Complete")
        if condition["type"] == "Failed":
            message = str(condition.get("message") or "")
            return Reason("failed", f"Failed: {condition.get('reason')}", "`gpu logs` shows its output", message)
    return None


def _failed(reason: Reason, pods: Sequence[Object]) -> Reason:
    """``reason`` with the exit code of the container that failed."""
    for pod in pods:
        if at(pod, "status", "reason") == "DeadlineExceeded":
            remedy = "submit it with a longer --timeout; it continues from its checkpoint if it writes one"
            return Reason("failed", "Failed: stopped by its --timeout", remedy, reason.message)
        for status in at(pod, "status", "containerStatuses") or ():
            ended = at(status, "state", "terminated") or {}
            code = ended.get("exitCode")
            if code and ended.get("reason") == "OOMKilled":
                remedy = "submit it with more --memory"
                return Reason("failed", f"Failed: out of memory (exit code {code})", remedy, reason.message)
            if code:
                return Reason("failed", f"Failed: exit code {code}", reason.remedy, reason.message)
    return reason


def _with_counts(summary: str, pending: int, running: int) -> str:
    others = f"; {counted(running, 'pod')} running" if running else ""
    return f"{counted(pending, 'pod')} pending: {summary}{others}" if pending > 1 or running else summary


def _about(event: Object, pod: Object) -> bool:
    about = event.get("involvedObject") or {}
    return about.get("kind") == "Pod" and about.get("uid") == pod["metadata"].get("uid")


def _when(event: Object) -> str:
    places = (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    return next((str(time) for place in places if (time := at(event, *place))), "")


def _phase(pod: Object) -> str:
    return str(at(pod, "status", "phase"))


def _terminating(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
