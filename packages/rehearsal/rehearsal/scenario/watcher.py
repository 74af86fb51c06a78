"""Watches a cluster's nodes, pods and events, and records all of them in a timeline."""

from __future__ import annotations

import threading
from typing import Final

from rehearsal.cluster.api import Api, ApiError, UnreachableError
from rehearsal.scenario.timeline import Kind, Timeline

_PATHS: Final[dict[Kind, str]] = {"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "Event": "/api/v1/events"}
# Shorter than the client's read timeout, so that a quiet watch ends normally and restarts.
_WATCH_SECONDS: Final = 20
_RETRY_SECONDS: Final = 0.2
_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Watcher:
    """One thread per kind. After a broken watch it lists again, so that no object is missed."""

    def __init__(self, api: Api, timeline: Timeline) -> None:
        """Start watching."""
        self._api = api
        self._timeline = timeline
        self._stop = threading.Event()
        # Daemon threads: a watch blocks in a read that only the server or the process's end can finish.
        self._threads = [threading.Thread(target=self._follow, args=(kind,), daemon=True) for kind in _PATHS]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop recording; later events do not belong to the rehearsal."""
        self._stop.set()

    def _follow(self, kind: Kind) -> None:
        while not self._stop.is_set():
            try:
                self._list_and_watch(kind)
            except (ApiError, UnreachableError, ValueError):
                # The control plane is starting or stopping; a permanent failure shows as missing observations.
                self._stop.wait(_RETRY_SECONDS)

    def _list_and_watch(self, kind: Kind) -> None:
        listed = self._api.get(_PATHS[kind])
        version = listed["metadata"]["resourceVersion"]
        items = listed["items"] or []
        for item in items:
            self._timeline.observe(kind, "ADDED", item)
        self._timeline.forget_absent(kind, (item["metadata"]["uid"] for item in items))
        while not self._stop.is_set():
            for change, item in self._api.watch(_PATHS[kind], version, _WATCH_SECONDS):
                if self._stop.is_set():
                    return
                version = item["metadata"]["resourceVersion"]
                if change in _CHANGES:
                    self._timeline.observe(kind, change, item)
