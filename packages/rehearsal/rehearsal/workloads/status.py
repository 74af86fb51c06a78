"""The status of a pod with one real container, as a kubelet writes it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.cluster.api import Object

_MINE: Final = ("Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")


@dataclass(frozen=True)
class Ended:
    """How the container ended last: exit code (128 plus the number of a signal), and the end of its log."""

    code: int
    words: str


@dataclass(frozen=True)
class ContainerState:
    """The container's state: ``running``, ``ready`` by its probe; or the reason for ``waiting``, with a message."""

    running: bool = False
    ready: bool = False
    waiting: str = ""
    message: str = ""
    restarts: int = 0
    last: Ended | None = None


def pod_status(pod: Object, container: str, state: ContainerState) -> Object:
    """The pod's whole status as a merge patch; conditions of other writers are preserved.

    Its other containers are simulated, and run as soon as the real one does.
    """
    now = _now()
    before = pod.get("status") or {}
    others = [each for each in before.get("conditions") or () if each["type"] not in _MINE]
    started = before.get("startTime") or now
    statuses = [
        _container_status(
            each, state if each["name"] == container else ContainerState(state.running, state.running), now
        )
        for each in pod["spec"]["containers"]
    ]
    ready = all(each["ready"] for each in statuses)
    return {
        "phase": "Running" if state.running or state.restarts else "Pending",
        "startTime": started,
        "hostIP": "127.0.0.1",
        "conditions": [
            *others,
            _condition("Initialized", True, now),
            _condition("ContainersReady", ready, now),
            _condition("Ready", ready, now),
        ],
        "containerStatuses": statuses,
    }


def _container_status(container: Object, state: ContainerState, now: str) -> Object:
    current: dict[str, Any] = {"running": {"startedAt": now}}
    if not state.running:
        current = {"waiting": {"reason": state.waiting or "ContainerCreating", "message": state.message}}
    last = {}
    if state.last is not None:
        ended = {"exitCode": state.last.code, "reason": "Error", "message": state.last.words, "finishedAt": now}
        last = {"terminated": ended}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": state.running and state.ready,
        "started": state.running,
        "restartCount": state.restarts,
        "state": current,
        "lastState": last,
    }


def _condition(type: str, true: bool, now: str) -> Object:
    reason = {} if true else {"reason": "ContainersNotReady"}
    return {"type": type, "status": "True" if true else "False", "lastTransitionTime": now, **reason}


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
