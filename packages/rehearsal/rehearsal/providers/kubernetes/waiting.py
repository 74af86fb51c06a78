"""Waits until an object is ready or deleted, and reports what is missing after a timeout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from rehearsal.cluster.api import ApiError
from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.cluster import ObjectClient
from rehearsal.providers.kubernetes.manifest import Kind, object_id
from rehearsal.providers.kubernetes.readiness import NeverReadyError, Rule, rule_for

DEFAULT_TIMEOUT_SECONDS: Final = 600.0
"""The real provider's: ten minutes for every kind."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_POD: Final = Kind("v1", "Pod")
_EVENT: Final = Kind("v1", "Event")
_MOST_MESSAGES: Final = 10
_INTERRUPTED: Final = "interrupted"


class NotReadyError(Exception):
    """The object did not become ready in time, or never will; ``live`` is what it looked like last."""

    def __init__(self, message: str, live: Properties) -> None:
        super().__init__(message)
        self.live = live


def until_ready(
    cluster: ObjectClient,
    kind: Kind,
    live: Properties,
    timeout: float,
    cancelled: threading.Event,
    rule: Rule | None = None,
) -> Properties:
    """The object once it is ready, by ``rule`` or else by the rule of its kind.

    Raises ``NotReadyError`` with what is missing, the pods' problems and the events.
    """
    rule = rule or rule_for(kind)
    if rule is None:
        return live
    place, missing = live["metadata"], "the first answer"
    started = time.monotonic()
    for _ in _attempts(timeout, cancelled):
        live = cluster.get(kind, place["name"], place.get("namespace"))
        try:
            state = rule(live, cluster)
        except NeverReadyError as error:
            raise NotReadyError(_explain(cluster, kind, live, str(error)), live) from error
        if state is None:
            return live
        missing = state
    ended = _INTERRUPTED if cancelled.is_set() else f"not ready after {time.monotonic() - started:.0f} s"
    raise NotReadyError(_explain(cluster, kind, live, f"{ended}, waiting for {missing}"), live)


def until_gone(
    cluster: ObjectClient, kind: Kind, name: str, namespace: str | None, timeout: float, cancelled: threading.Event
) -> None:
    """Return once the object does not exist. Raises ``NotReadyError`` if it still does after ``timeout`` seconds."""
    live: Properties = {"metadata": {"name": name}}
    uid = None
    for _ in _attempts(timeout, cancelled):
        try:
            live = cluster.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return
            raise
        uid = uid or live["metadata"]["uid"]
        if live["metadata"]["uid"] != uid:
            return  # its controller made a new one of the same name
    finalizers = ", ".join(live["metadata"].get("finalizers") or []) or "none"
    ended = f"{_INTERRUPTED}, still there" if cancelled.is_set() else f"still there after {timeout:.0f} s"
    raise NotReadyError(_explain(cluster, kind, live, f"{ended} (finalizers: {finalizers})"), live)


def _attempts(timeout: float, cancelled: threading.Event) -> Any:
    """A turn at once, then with growing pauses; a last one when ``timeout`` seconds are over or the user interrupts."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        yield
        remaining = deadline - time.monotonic()
        if remaining <= 0 or cancelled.is_set():
            return
        cancelled.wait(min(pause, remaining))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _explain(cluster: ObjectClient, kind: Kind, live: Properties, message: str) -> str:
    """``message`` and what the cluster itself has to say about the object and its pods."""
    problems: list[str] = []
    for look in (_pod_problems, _warnings):
        try:
            problems += look(cluster, kind, live)
        except ApiError as error:
            problems.append(f"(could not look further: {error})")
    distinct = list(dict.fromkeys(problems))
    listed = "".join(f"\n  - {problem}" for problem in distinct[:_MOST_MESSAGES])
    return f"{kind.kind} {object_id(live)}: {message}{listed}"


def _pods(cluster: ObjectClient, kind: Kind, live: Properties) -> list[Properties]:
    """The pods that ``live`` owns by its selector; a pod is its own."""
    if kind == _POD:
        return [live]
    selector = (live.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector if kind.kind == "Service" else {})
    if not labels:
        return []
    joined = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return cluster.list(_POD, live["metadata"]["namespace"], labelSelector=joined)


def _pod_problems(cluster: ObjectClient, kind: Kind, live: Properties) -> list[str]:
    problems = []
    for pod in _pods(cluster, kind, live):
        status, name = pod.get("status") or {}, pod["metadata"]["name"]
        for condition in status.get("conditions") or []:
            if condition["type"] == "PodScheduled" and condition["status"] != "True" and condition.get("message"):
                problems.append(f"pod {name}: [{condition.get('reason')}] {condition['message']}")
        for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
            problems += _container_problems(name, container)
    return problems


def _container_problems(pod: str, container: dict[str, Any]) -> list[str]:
    state = container.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    where = f"pod {pod}, container {container['name']}"
    if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return [f"{where}: [{waiting['reason']}] {waiting.get('message', '')}".rstrip()]
    if ended and ended.get("exitCode"):
        return [f"{where}: exit code {ended['exitCode']} ({ended.get('reason')}) {ended.get('message', '')}".rstrip()]
    return []


def _warnings(cluster: ObjectClient, kind: Kind, live: Properties) -> list[str]:
    """Warning events of the object and of its pods."""
    place = live["metadata"]
    if not place.get("uid"):
        return []
    names: dict[str, str] = {place["uid"]: f"{kind.kind} {place['name']}"}
    names |= {pod["metadata"]["uid"]: f"pod {pod['metadata']['name']}" for pod in _pods(cluster, kind, live)}
    events = cluster.list(_EVENT, place.get("namespace"), fieldSelector="type=Warning")
    uid_of: Callable[[Properties], str] = lambda event: (event.get("involvedObject") or {}).get("uid", "")  # noqa: E731
    return [
        f"{names[uid_of(event)]}: [{event.get('reason')}] {event.get('message')}"
        for event in events
        if uid_of(event) in names
    ]
