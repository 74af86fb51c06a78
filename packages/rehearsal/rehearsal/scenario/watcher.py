"""Watches a cluster's nodes, pods and events, and records all of them in a timeline."""

from __future__ import annotations

from typing import Final

from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import WatchingThread
from rehearsal.scenario.timeline import Kind, Timeline

_PATHS: Final[dict[Kind, str]] = {"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "Event": "/api/v1/events"}


class _Recorder(WatchingThread):
    def __init__(self, api: Api, timeline: Timeline, kind: Kind) -> None:
        super().__init__(f"watch-{kind}", api, _PATHS[kind])
        self._timeline = timeline
        self._kind: Kind = kind

    def listed(self, items: list[Object], /) -> None:
        self._timeline.forget_absent(self._kind, (item["metadata"]["uid"] for item in items))

    def notice(self, kind: str, item: Object, /) -> None:
        # Events after the end do not belong to the rehearsal.
        if not self._closed.is_set():
            self._timeline.observe(self._kind, kind, item)


class Watcher:
    """One thread per kind, from now on until ``stop``."""

    def __init__(self, api: Api, timeline: Timeline) -> None:
        self._recorders = [_Recorder(api, timeline, kind) for kind in _PATHS]
        for recorder in self._recorders:
            recorder.start()

    def stop(self) -> None:
        """Stop recording. A thread ends when its watch does, which may be after the process's own end."""
        for recorder in self._recorders:
            recorder.stop()
