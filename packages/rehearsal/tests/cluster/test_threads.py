"""What an informer keeps is what the API server has, also after a watch broke and while nobody looked."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any, cast

import pytest

from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.threads import Informer

PATH = "/api/v1/pods"


def pod(name: str, version: int, namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "resourceVersion": str(version)}}


class Server:
    """An API server that is told what to answer: lists of pods, and events or an error of its watches."""

    def __init__(self, *lists: list[Object]) -> None:
        self.lists = list(lists)
        self.versions: list[str] = []
        self.events: queue.Queue[tuple[str, Object] | ApiError] = queue.Queue()

    def get(self, path: str) -> Object:
        assert path == PATH
        items = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        return {"items": items, "metadata": {"resourceVersion": "10"}}

    def watch(self, path: str, resource_version: str, seconds: int = 5) -> Iterator[tuple[str, Object]]:
        assert (path, seconds > 0) == (PATH, True)
        self.versions.append(resource_version)
        try:
            event = self.events.get(timeout=0.02)
        except queue.Empty:
            return
        if isinstance(event, ApiError):
            raise event
        yield event


def cached(informer: Informer) -> dict[tuple[str, str], Any]:
    return {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item["metadata"]["resourceVersion"]
        for item in informer.items()
    }


@pytest.fixture
def server() -> Server:
    return Server([pod("a", 1), pod("b", 2)], [pod("b", 2), pod("c", 3)])


@pytest.fixture
def informer(server: Server) -> Iterator[Informer]:
    made = Informer("pods", cast(Api, server), PATH)
    assert made.items() == []
    made.start()
    yield made
    made.close()
    assert not made.is_alive()


def test_an_informer_follows_every_change(server: Server, informer: Informer) -> None:
    listed = {("default", "a"): "1", ("default", "b"): "2"}
    eventually("what was listed is kept", lambda: cached(informer) == listed)
    server.events.put(("ADDED", pod("a", 11, "other")))
    server.events.put(("MODIFIED", pod("a", 12)))
    server.events.put(("DELETED", pod("b", 13)))
    server.events.put(("BOOKMARK", {"metadata": {"resourceVersion": "14"}}))
    changed = {("default", "a"): "12", ("other", "a"): "11"}
    eventually("the changes are kept", lambda: cached(informer) == changed)
    eventually("it goes on from the bookmark", lambda: server.versions[-1] == "14")


def test_objects_deleted_without_a_watch_leave_the_cache(server: Server, informer: Informer) -> None:
    eventually("what was listed is kept", lambda: ("default", "a") in cached(informer))
    server.events.put(ApiError(410, "Expired", "too old resource version"))
    again = {("default", "b"): "2", ("default", "c"): "3"}
    eventually("it lists again", lambda: cached(informer) == again)
