"""Watches a cluster's nodes, pods and events and tells a timeline everything, from the first moment to the last."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

import urllib3

from rehearsal.api import Api
from rehearsal.timeline import Kind, Timeline

_PATHS: Final[dict[Kind, str]] = {"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "Event": "/api/v1/events"}
_WATCH_SECONDS: Final = 300.0


class Watcher:
    """One thread per kind. A broken watch lists again, so nothing stays unnoticed for longer than a reconnection."""

    def __init__(self, kubeconfig: Path, timeline: Timeline) -> None:
        """Start watching as the administrator whose kubeconfig is given."""
        self._kubeconfig = kubeconfig
        self._timeline = timeline
        self._stop = threading.Event()
        # Daemon threads: a watch blocks in a read that only the server or the process's end can finish.
        self._threads = [threading.Thread(target=self._follow, args=(kind,), daemon=True) for kind in _PATHS]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop recording; what arrives afterwards is not an observation of the rehearsal."""
        self._stop.set()

    def _follow(self, kind: Kind) -> None:
        while not self._stop.is_set():
            api = Api(self._kubeconfig)
            try:
                self._list_and_watch(api, kind)
            except (OSError, urllib3.exceptions.HTTPError, ValueError):
                # The control plane is starting or stopping; a lasting failure shows as missing observations.
                self._stop.wait(0.2)
            finally:
                api.close()

    def _list_and_watch(self, api: Api, kind: Kind) -> None:
        listed = api.list(_PATHS[kind])
        items = listed.get("items") or []
        for item in items:
            self._timeline.observe(kind, "ADDED", item)
        self._timeline.forget_absent(kind, (item["metadata"]["uid"] for item in items))
        for event in api.watch(_PATHS[kind], listed["metadata"]["resourceVersion"], _WATCH_SECONDS):
            if self._stop.is_set() or event["type"] == "ERROR":
                return
            self._timeline.observe(kind, event["type"], event["object"])
