"""Threads that keep an eye on the cluster until they are closed, whatever its API server does meanwhile."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Final

from urllib3.exceptions import HTTPError

from rehearsal.cluster.api import Api, ApiError, Object

_RETRY_SECONDS: Final = 0.5
_WATCH_SECONDS: Final = 2

_BUSY_OR_STOPPING: Final = (ApiError, HTTPError)
"""Whether the API server is dead is its process's watcher's concern."""


class _Thread(threading.Thread):
    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._closed = threading.Event()

    def stop(self) -> None:
        """Let the thread end when it next can."""
        self._closed.set()

    def close(self) -> None:
        """End the thread, if it was started."""
        self.stop()
        if self.is_alive():
            self.join()


class PollingThread(_Thread, ABC):
    """Looks every ``seconds``."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(name)
        self._seconds = seconds

    @abstractmethod
    def look(self) -> None:
        """One look."""

    def failed(self, error: Exception) -> None:
        """What a look raised. The next one comes as usual, unless this raises it: if not the API server failed."""
        if not isinstance(error, _BUSY_OR_STOPPING):
            raise error

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.wait(self._seconds):
            try:
                self.look()
            except Exception as error:
                self.failed(error)


class WatchingThread(_Thread, ABC):
    """Lists what is at ``path`` and then follows its changes; lists again when a watch breaks."""

    def __init__(self, name: str, api: Api, path: str) -> None:
        super().__init__(name)
        self._api = api
        self._path = path

    @abstractmethod
    def notice(self, kind: str, item: Object, /) -> None:
        """Something was ``ADDED`` (also: listed again), ``MODIFIED`` or ``DELETED``."""

    def listed(self, items: list[Object], /) -> None:
        """Everything that there is, before each of it is noticed; what is missing went unnoticed."""

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.is_set():
            try:
                listing = self._api.get(self._path)
                self.listed(listing["items"])
                for item in listing["items"]:
                    self.notice("ADDED", item)
                self._follow(listing["metadata"]["resourceVersion"])
            except _BUSY_OR_STOPPING:
                self._closed.wait(_RETRY_SECONDS)

    def _follow(self, version: str) -> None:
        while not self._closed.is_set():
            for kind, item in self._api.watch(self._path, version, seconds=_WATCH_SECONDS):
                version = item["metadata"]["resourceVersion"]
                if kind in ("ADDED", "MODIFIED", "DELETED"):
                    self.notice(kind, item)
                if self._closed.is_set():
                    return


class Informer(WatchingThread):
    """Keeps what is at ``path``, for those who look often at much: a list of it costs the API server each time."""

    def __init__(self, name: str, api: Api, path: str) -> None:
        super().__init__(name, api, path)
        self._items: dict[tuple[str, str], Object] = {}

    def items(self) -> list[Object]:
        """What there is, as far as the API server has told."""
        return list(self._items.values())

    def listed(self, items: list[Object], /) -> None:
        """What is missing went while nobody watched."""
        self._items = {_key(item): item for item in items}

    def notice(self, kind: str, item: Object, /) -> None:
        """Take over the change."""
        if kind == "DELETED":
            self._items.pop(_key(item), None)
        else:
            self._items[_key(item)] = item


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]
