"""Labels that Karpenter cannot give a node when it makes it: the fleet adds them as nodes appear."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from urllib3.exceptions import HTTPError

from rehearsal.api import Api, ApiError, Object
from rehearsal.fleet.nodes import GROUP_LABEL

LabelsOf = Callable[[str], Mapping[str, str]]

_RETRY_SECONDS: Final = 0.5


class LateLabels(threading.Thread):
    """Watches nodes; ``labels_of`` says which labels every node of a group must also have."""

    def __init__(self, api: Api, labels_of: LabelsOf) -> None:
        super().__init__(name="late-labels", daemon=True)
        self._api = api
        self._labels_of = labels_of
        self._closed = threading.Event()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self.join()

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.is_set():
            try:
                listed = self._api.get("/api/v1/nodes")
                for node in listed["items"]:
                    self._complete(node)
                self._follow(listed["metadata"]["resourceVersion"])
            except (ApiError, HTTPError):
                # Too old a version, or the API server is busy or stopping: list again.
                self._closed.wait(_RETRY_SECONDS)

    def _follow(self, version: str) -> None:
        while not self._closed.is_set():
            for kind, node in self._api.watch("/api/v1/nodes", version, seconds=2):
                version = node["metadata"]["resourceVersion"]
                if kind in ("ADDED", "MODIFIED"):
                    self._complete(node)
                if self._closed.is_set():
                    return

    def _complete(self, node: Object) -> None:
        labels: Mapping[str, Any] = node["metadata"].get("labels", {})
        # Karpenter writes its own labels once, when it registers the node; after that these stay.
        if labels.get("karpenter.sh/registered") != "true":
            return
        missing = {
            key: value
            for key, value in self._labels_of(labels.get(GROUP_LABEL, "")).items()
            if labels.get(key) != value
        }
        if missing:
            self._api.merge(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": missing}})
