"""What a job waits for, in one line, and what to do about it: from its pods' conditions and the events around them.

Whose words they are: the scheduler's (``FailedScheduling``), the Job controller's (``FailedCreate``), the kubelet's,
and those of autoscalers:

- cluster-autoscaler, which AKS and GKE run as well:
  https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/processors/status/eventing_scale_up_processor.go
  and its FAQ on events; ``FailedToScaleUpGroup`` is on its status ConfigMap, not on the pod
- GKE's: https://cloud.google.com/kubernetes-engine/docs/troubleshooting/cluster-autoscaler-scale-up (``FailedScaleUp``:
  ``GCE quota exceeded``, ``GCE out of resources``)
- Karpenter: https://github.com/kubernetes-sigs/karpenter, ``pkg/controllers/provisioning/scheduling/events.go`` and
  ``pkg/controllers/nodeclaim/lifecycle/events.go`` (``InsufficientCapacityError``, on the NodeClaim)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from facts.jobs.job import QUEUE_LABEL

Object = Mapping[str, Any]
Kind = Literal[
    "running", "succeeded", "failed", "queued", "namespace-quota", "scaling", "no-capacity", "cloud-quota", "pool-full",
    "no-pool", "image", "starting", "waiting", "stopping",
]  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """``what`` in one line; ``remedy`` is empty where there is nothing to do. ``said`` are the words it comes from."""

    kind: Kind
    what: str
    remedy: str = ""
    said: str = ""


_IMAGE: Final = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
_CAPACITY: Final = re.compile(
    r"GCE out of resources|stockout|InsufficientInstanceCapacity|InsufficientCapacity|insufficient capacity|"
    r"ZonalAllocationFailed|OverconstrainedAllocation|OverconstrainedZonalAllocation|AllocationFailed|SkuNotAvailable|"
    r"UnfulfillableCapacity|Reservation capacity exceeded|failed to appear in time",
    re.IGNORECASE,
)
_QUOTA: Final = re.compile(
    r"GCE quota exceeded|QuotaExceeded|VcpuLimitExceeded|MaxSpotInstanceCountExceeded|quota limit|exceeding approved",
    re.IGNORECASE,
)
_FULL: Final = re.compile(
    r"max (?:node group size|total nodes in cluster|limit) reached|exceed(?:s|ed)? limits? (?:for|of) nodepool|"
    r"all available instance types exceed limits|node limits have been exhausted",
    re.IGNORECASE,
)
_TOO_MUCH: Final = re.compile(r"> maximum capacity", re.IGNORECASE)
_BACKOFF: Final = re.compile(r"in backoff after failed scale-up", re.IGNORECASE)
_NO_POOL: Final = re.compile(
    r"didn't match Pod's node affinity|untolerated taint|Insufficient |enough resources|incompatible", re.IGNORECASE
)

_TRY_LATER: Final = "wait, or stop it and choose another GPU or other zones: `gpu pools`, `gpu fit`"
_REMEDIES: Final[Mapping[str, str]] = {
    "no-capacity": f"the cloud has none left there; {_TRY_LATER}",
    "cloud-quota": "ask the cloud for more quota (`pulumi stack output quotas` says how much), or use less at once",
    "pool-full": "wait until a node is free (`gpu list`), or raise the pool's maxNodes",
    "no-pool": "ask for what a pool has: `gpu pools`, `gpu fit`",
}


def of_job(job: Object, pods: Sequence[Object], events: Iterable[Object], *, queues: bool = True) -> Reason:
    """Why the job is where it is. ``events`` are those of its namespace, of nodes' claims and of the autoscaler.

    ``queues``: whether the cluster has what starts jobs that wait in a queue.
    """
    ended = _ended(job)
    if ended is not None:
        return ended if ended.kind == "succeeded" else _failed(ended, pods)
    told = sorted(events, key=_when)
    if (job.get("spec") or {}).get("suspend"):
        return _queued(job, told) if queues else _suspended(job)
    pending = [pod for pod in pods if _phase(pod) == "Pending" and not _going(pod)]
    running = [pod for pod in pods if _phase(pod) == "Running" and not _going(pod)]
    if pending:
        first = of_pod(pending[0], told)
        return Reason(first.kind, _counted(first.what, len(pending), len(running)), first.remedy, first.said)
    if running:
        return Reason("running", f"{_pods(len(running))} running")
    return _without_pods(job, pods, told)


def _suspended(job: Object) -> Reason:
    """Nothing in the cluster resumes it: https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job"""
    place = job["metadata"]
    remedy = (
        f"`kubectl patch job {place['name']} -n {place.get('namespace')} --type=merge -p "
        """'{"spec":{"suspend":false}}'` lets it run"""
    )
    queue = (place.get("labels") or {}).get(QUEUE_LABEL)
    where = f"it waits in the queue {queue}, and" if queue else "it is suspended, and"
    return Reason("queued", f"{where} the cluster has no queues (Kueue): nothing starts it", remedy)


def _queued(job: Object, events: Sequence[Object]) -> Reason:
    """What Kueue says of the job's Workload, called ``job-<job>-<hash>``.

    https://github.com/kubernetes-sigs/kueue/blob/main/pkg/scheduler/flavorassigner/flavorassigner.go
    """
    mine = re.compile(rf"job-{re.escape(str(job['metadata']['name']))}-[0-9a-f]+")
    said = [
        str(event.get("message") or "")
        for event in events
        if (about := event.get("involvedObject") or {}).get("kind") == "Workload"
        and mine.fullmatch(str(about.get("name")))
        and event.get("reason") == "Pending"
    ]
    if said and _TOO_MUCH.search(said[-1]):
        what = "it asks for more GPUs than its queue may ever give out"
        return Reason("queued", what, "ask for fewer, or raise the pools' maxNodes", said[-1])
    what = "it is suspended: its queue has no room for it yet"
    return Reason("queued", what, "wait; a queue starts it by itself", said[-1] if said else "")


def of_pod(pod: Object, events: Sequence[Object]) -> Reason:
    """Why a pod that is Pending is that; ``events`` oldest first."""
    for status in [*_statuses(pod, "initContainerStatuses"), *_statuses(pod, "containerStatuses")]:
        waiting = (status.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _IMAGE:
            said = waiting.get("message") or waiting["reason"]
            return Reason(
                "image",
                f"image {status.get('image') or '?'} cannot be pulled",
                "correct its name, or give the nodes access to its registry, then submit again",
                said,
            )
        if waiting.get("reason") == "CreateContainerConfigError":
            return Reason("waiting", f"it cannot start: {waiting.get('message')}", "make what it refers to")
    if pod["spec"].get("nodeName"):
        return Reason("starting", f"its node {pod['spec']['nodeName']} is up; the image is being pulled")
    return _unscheduled(pod, events)


def _unscheduled(pod: Object, events: Sequence[Object]) -> Reason:
    mine = [event for event in events if _about(event, pod)]
    words = [(str(event.get("reason")), str(event.get("message") or "")) for event in reversed(mine)]
    condition = next((each for each in _conditions(pod) if each.get("type") == "PodScheduled"), {})
    scheduler = str(condition.get("message") or "")
    # What was tried last counts: an autoscaler that failed once may have started a node since.
    for reason, message in words:
        if reason in ("TriggeredScaleUp", "Nominated"):
            claims = _claim_troubles(message, events)
            return claims or Reason("scaling", "a node is being started for it", "", message)
        if reason in ("FailedScaleUp", "NotTriggerScaleUp") or (
            reason == "FailedScheduling" and message.startswith("Failed to schedule pod")
        ):
            return _refused(message, events)
    if "PodGroup" in scheduler or condition.get("reason") == "SchedulingGated":
        return Reason("queued", "it is held back until its queue lets it run", "wait", scheduler)
    said = scheduler or next((message for reason, message in words if reason == "FailedScheduling"), "")
    return Reason("waiting", "no node has room for it, and the autoscaler has said nothing yet", "", said)


def _refused(message: str, events: Sequence[Object]) -> Reason:
    """An autoscaler's refusal: the part that says most."""
    if _BACKOFF.search(message):
        groups = [each for each in reversed(events) if each.get("reason") in ("FailedToScaleUpGroup", "FailedScaleUp")]
        for event in groups:
            said = str(event.get("message"))
            if (kind := _cause(said)) is not None:
                return Reason(kind, _WORDS[kind], _REMEDIES[kind], said)
        return Reason("no-capacity", "the last node did not start, and the autoscaler waits", _TRY_LATER, message)
    kind = _cause(message)
    if kind is None:
        kind = "pool-full" if _FULL.search(message) else "no-pool" if _NO_POOL.search(message) else None
    if kind is None:
        return Reason("waiting", "the autoscaler starts no node for it", _TRY_LATER, message)
    return Reason(kind, _WORDS[kind], _REMEDIES[kind], message)


_WORDS: Final[Mapping[str, str]] = {
    "no-capacity": "the cloud has no such machine to give at the moment",
    "cloud-quota": "the cloud account's quota is used up",
    "pool-full": "its pools have all the nodes that they may have",
    "no-pool": "no pool could run it, even with a new node",
}


def _cause(message: str) -> Literal["no-capacity", "cloud-quota"] | None:
    if _QUOTA.search(message):
        return "cloud-quota"
    return "no-capacity" if _CAPACITY.search(message) else None


def _claim_troubles(nomination: str, events: Sequence[Object]) -> Reason | None:
    """What became of the NodeClaim that a pod was nominated for."""
    match = re.search(r"nodeclaim/([^\s,]+)", nomination)
    for event in reversed(events):
        about = event.get("involvedObject") or {}
        if match is None or about.get("kind") != "NodeClaim" or about.get("name") != match[1]:
            continue
        said = str(event.get("message"))
        kind = _cause(f"{event.get('reason')} {said}")
        if kind is not None:
            return Reason(kind, _WORDS[kind], _REMEDIES[kind], said)
    return None


def _without_pods(job: Object, pods: Sequence[Object], events: Sequence[Object]) -> Reason:
    """No pod of it waits or runs: the Job controller could not make one, or has not yet."""
    if job["metadata"].get("deletionTimestamp"):
        return Reason("stopping", "it is being removed")
    if pods and any(_phase(pod) in ("Succeeded", "Failed") for pod in pods):
        return Reason("running", "its pods have ended, and it is about to")
    refused = [
        event
        for event in events
        if event.get("reason") == "FailedCreate"
        and (event.get("involvedObject") or {}).get("uid") == job["metadata"].get("uid")
    ]
    if not refused:
        return Reason("waiting", "its pods have not been made yet")
    said = str(refused[-1].get("message"))
    if "exceeded quota" in said:
        used = re.search(r"exceeded quota: [^,]+, (requested: .+)$", said)
        return Reason(
            "namespace-quota",
            f"the team's quota is used up ({used[1] if used else said})",
            "wait for other jobs of the team to end (`gpu list`), or ask the administrator for more",
            said,
        )
    return Reason("failed", f"its pods are refused: {said}", "`gpu stop` it, mend that and submit again", said)


def _ended(job: Object) -> Reason | None:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("status") != "True":
            continue
        if condition["type"] in ("Complete", "SuccessCriteriaMet"):
            return Reason("succeeded", "it is done")
        if condition["type"] == "Failed":
            return Reason(
                "failed",
                f"it failed: {condition.get('reason')}",
                "`gpu logs` shows its last words",
                str(condition.get("message") or ""),
            )
    return None


def _failed(reason: Reason, pods: Sequence[Object]) -> Reason:
    """With the exit code of a container that ended badly."""
    for pod in pods:
        for status in _statuses(pod, "containerStatuses"):
            ended = (status.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode"):
                cause = ended.get("reason") or "Error"
                code = ended["exitCode"]
                if cause == "OOMKilled":
                    return Reason(
                        "failed",
                        f"it ran out of memory (exit code {code})",
                        "submit it with more --memory",
                        reason.said,
                    )
                return Reason("failed", f"its program ended with exit code {code}", reason.remedy, reason.said)
    return reason


def _counted(what: str, pending: int, running: int) -> str:
    others = f"; {_pods(running)} running" if running else ""
    return f"{_pods(pending)} waiting: {what}{others}" if pending > 1 or running else what


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def _about(event: Object, pod: Object) -> bool:
    about = event.get("involvedObject") or {}
    return about.get("kind") == "Pod" and about.get("uid") == pod["metadata"].get("uid")


def _when(event: Object) -> str:
    series = event.get("series") or {}
    metadata = event.get("metadata") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        metadata.get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")


def _conditions(pod: Object) -> Sequence[Object]:
    return (pod.get("status") or {}).get("conditions") or ()


def _statuses(pod: Object, which: str) -> Sequence[Object]:
    return (pod.get("status") or {}).get(which) or ()


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase"))


def _going(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
