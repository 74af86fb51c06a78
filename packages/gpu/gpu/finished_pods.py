"""Finished pods of a job that were deleted with their node, rebuilt from events so that ``gpu cost`` counts them.

The Job's events list the pods that it created; each pod's events say when it was scheduled and started. Events are kept
for an hour, and the Job controller combines them when it creates many pods at once:
https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (``--event-ttl``)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from facts.concepts.unknown import at

Object = Mapping[str, Any]

# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/controller_utils.go
_CREATED: Final = re.compile(r"Created pod: (\S+)")
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/schedule_one.go
_SCHEDULED: Final = re.compile(r"Successfully assigned \S+ to (\S+)")
_ENDING: Final = ("Killing", "NodeNotReady", "TaintManagerEviction", "Evicted", "Preempted", "Preempting", "Drained")


def finished_pods(job: Object, pods: Sequence[Object], events: Sequence[Object]) -> list[dict[str, Any]]:
    """The job's pods that had a node and are no longer among ``pods``, as manifests with what the ledger reads.

    Without an event for its end, a pod counts until the job created its successor or completed.
    """
    existing = {pod["metadata"]["name"] for pod in pods}
    uid = job["metadata"].get("uid")
    created_pods = sorted(
        (_when(event), match[1])
        for event in events
        if at(event, "involvedObject", "uid") == uid
        and event.get("reason") == "SuccessfulCreate"
        and (match := _CREATED.fullmatch(event.get("message") or ""))
    )
    finished = []
    for created, name in created_pods:
        if name not in existing:
            own = [each for each in events if _about(each, job["metadata"].get("namespace"), name)]
            # The successor has the same index, if the Job is indexed: <job>-<index>-<random>.
            successor = next(
                (when for when, other in created_pods if when > created and _stem(other) == _stem(name)), None
            )
            finished += _rebuilt(job, name, created, own, successor)
    return finished


def _rebuilt(
    job: Object, name: str, created: str, events: Sequence[Object], successor: str | None
) -> Iterator[dict[str, Any]]:
    scheduled = [(_when(each), match[1]) for each in events if (match := _SCHEDULED.match(each.get("message") or ""))]
    if not scheduled:
        return
    (when, node), started = scheduled[0], _first(events, "Started")
    ended = _first(events, *_ENDING) or successor or at(job, "status", "completionTime")
    ran = {**({"startedAt": started} if started else {}), **({"finishedAt": ended} if ended else {})}
    state = {"terminated" if ended else "running": ran} if ran else {}
    yield {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {**job["spec"]["template"]["spec"], "nodeName": node},
        "status": {
            "phase": "Failed",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": when}],
            "containerStatuses": [{"state": state}],
        },
    }


def _stem(name: str) -> str:
    return name.rpartition("-")[0]


def _about(event: Object, namespace: str | None, name: str) -> bool:
    about = event.get("involvedObject") or {}
    return (about.get("kind"), about.get("name"), about.get("namespace")) == ("Pod", name, namespace)


def _first(events: Sequence[Object], *reasons: str) -> str | None:
    return min((_when(each) for each in events if each.get("reason") in reasons), default=None)


def _when(event: Object) -> str:
    """When it happened first; the two ways of writing events leave the other's field empty."""
    return str(event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])
