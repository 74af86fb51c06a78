"""Pods of a job that are gone, as far as events still tell of them: with its node a pod goes, but not what it cost.

The Job tells which pods it made, and each pod's events when it was placed and started. What is rebuilt is a pod as the
ledger reads it. Events are kept for an hour, and the Job's are combined when it makes many pods at once:
https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (``--event-ttl``)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Object = Mapping[str, Any]

# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/controller_utils.go
_CREATED: Final = re.compile(r"Created pod: (\S+)")
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/schedule_one.go
_PLACED: Final = re.compile(r"Successfully assigned \S+ to (\S+)")
_ENDING: Final = ("Killing", "NodeNotReady", "TaintManagerEviction", "Evicted", "Preempted", "Preempting", "Drained")


def departed(job: Object, pods: Sequence[Object], events: Sequence[Object]) -> list[dict[str, Any]]:
    """The pods that the job made, that were placed, and that are not among ``pods`` any more.

    Where nothing says when one ended, it ran until the job made another, or ended: at most.
    """
    there = {pod["metadata"]["name"] for pod in pods}
    uid = job["metadata"].get("uid")
    made = sorted(
        (_at(event), match[1])
        for event in events
        if (event.get("involvedObject") or {}).get("uid") == uid
        and event.get("reason") == "SuccessfulCreate"
        and (match := _CREATED.fullmatch(event.get("message") or ""))
    )
    found = []
    for created, name in made:
        if name not in there:
            own = [each for each in events if _about(each, job["metadata"].get("namespace"), name)]
            # Of the same index, where the job has any: <job>-<index>-<random>.
            later = next((when for when, other in made if when > created and _stem(other) == _stem(name)), None)
            found += _rebuilt(job, name, created, own, later)
    return found


def _rebuilt(
    job: Object, name: str, created: str, events: Sequence[Object], later: str | None
) -> Iterator[dict[str, Any]]:
    placed = [(_at(each), match[1]) for each in events if (match := _PLACED.match(each.get("message") or ""))]
    if not placed:
        return
    (when, node), started = placed[0], _first(events, "Started")
    ended = _first(events, *_ENDING) or later or (job.get("status") or {}).get("completionTime")
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
    return min((_at(each) for each in events if each.get("reason") in reasons), default=None)


def _at(event: Object) -> str:
    """When it happened first; the two ways of writing events leave the other's field empty."""
    return str(event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])
