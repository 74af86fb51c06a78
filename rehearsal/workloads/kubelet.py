"""Watches for pods whose program we have, and runs it: the part of a kubelet that kwok leaves out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Final

from urllib3.exceptions import HTTPError

from rehearsal.cluster.api import ApiError, Object
from rehearsal.workloads.container import Container, Host, program_container
from rehearsal.workloads.images import Program, carried

_RETRY_SECONDS: Final = 0.5
_WATCH_SECONDS: Final = 2
_log = logging.getLogger("rehearsal.workloads")


class Kubelet(threading.Thread):
    """One thread for all simulated nodes, and one per running program. ``programs`` are by repository."""

    def __init__(self, host: Host, programs: Mapping[str, Program]) -> None:
        super().__init__(name="kubelet", daemon=True)
        self._host = host
        self._programs = programs
        self._containers: dict[str, Container] = {}
        self._closed = threading.Event()

    def close(self) -> None:
        """End every program at once, then the threads."""
        self._closed.set()
        self.join()
        running = list(self._containers.values())
        for container in running:
            container.end(grace=0.0)
        for container in running:
            container.join()

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.is_set():
            try:
                listed = self._host.api.get("/api/v1/pods")
                self._forget_absent({pod["metadata"]["uid"] for pod in listed["items"]})
                for pod in listed["items"]:
                    self._notice("ADDED", pod)
                self._follow(listed["metadata"]["resourceVersion"])
            except (ApiError, HTTPError):
                # Too old a version, or the API server is busy or stopping: list again.
                self._closed.wait(_RETRY_SECONDS)

    def _follow(self, version: str) -> None:
        while not self._closed.is_set():
            for kind, pod in self._host.api.watch("/api/v1/pods", version, seconds=_WATCH_SECONDS):
                version = pod["metadata"]["resourceVersion"]
                if kind in ("ADDED", "MODIFIED", "DELETED"):
                    self._notice(kind, pod)
                if self._closed.is_set():
                    return

    def _notice(self, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        known = self._containers.get(uid)
        if kind == "DELETED":
            if known is not None:
                known.end(grace=0.0)
                del self._containers[uid]
            return
        if pod["metadata"].get("deletionTimestamp"):
            self._end(pod, known)
            return
        if known is None and pod["spec"].get("nodeName"):
            repository = next((found for each in pod["spec"]["containers"] if (found := carried(each["image"]))), None)
            if repository is not None:
                container = program_container(pod, repository)
                started = Container(self._host, pod, container, self._programs.get(repository))
                self._containers[uid] = started
                started.start()

    def _end(self, pod: Object, known: Container | None) -> None:
        """A deleted pod: its program gets the pod's grace, and then the pod goes."""
        if known is not None:
            known.end(grace=float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
        elif pod["spec"].get("nodeName") and any(carried(each["image"]) for each in pod["spec"]["containers"]):
            # It was deleted before its program could start.
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
            self._host.api.delete(path, gracePeriodSeconds=0)

    def _forget_absent(self, present: set[str]) -> None:
        for uid in self._containers.keys() - present:
            self._containers.pop(uid).end(grace=0.0)
