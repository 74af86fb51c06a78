"""How long a rehearsal waits: as long as something moves, not for ever; and until the API server lets developers in."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from packages.rehearsal.tests.objects import Cluster
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api
from rehearsal.cluster.processes import free_ports
from rehearsal.scenario import timeline
from rehearsal.scenario.user import let_in

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "_LOOK_SECONDS", 0.0)


@cases
def test_in_vain_is_what_stands_still(moves_every: float, moves: int, gives_up_after: float) -> None:
    cluster = Cluster.empty()
    began = cluster.clock.moment
    done = 0

    def move() -> None:
        nonlocal done
        cluster.after(1.0)
        elapsed = cluster.clock.moment - began
        if done < moves and elapsed >= moves_every * (done + 1):
            done += 1
            cluster.node(f"node-{done}", "t4-1", size=1)

    assert not cluster.timeline.wait_until(lambda: False, PATIENCE, move)
    assert cluster.clock.moment - began == pytest.approx(gives_up_after, abs=1.0)


def test_the_same_object_again_is_no_move() -> None:
    cluster = Cluster.empty()
    began = cluster.clock.moment

    def again() -> None:
        cluster.after(1.0)
        cluster.node("node", "t4-1", size=1)

    assert not cluster.timeline.wait_until(lambda: False, PATIENCE, again)
    assert cluster.clock.moment - began == pytest.approx(PATIENCE, abs=2.0)


def test_free_ports_differ_and_can_be_listened_at() -> None:
    ports = free_ports(40)
    assert len(set(ports)) == 40
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            socket.create_connection(("127.0.0.1", port)).close()


def test_a_free_port_is_outside_the_ephemeral_range() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assigned = set()
        accepting = threading.Thread(target=lambda: [server.accept()[0].close() for _ in range(50)], daemon=True)
        accepting.start()
        for _ in range(50):
            with socket.create_connection(server.getsockname()) as connection:
                assigned.add(connection.getsockname()[1])
        accepting.join()
    assert max(free_ports(50)) < min(assigned)


class SlowServer:
    """An API server which applies a new binding at the third question about it."""

    def __init__(self) -> None:
        self.bound: list[dict[str, Any]] = []
        self.answers: list[bool] = []

    def apply_manifest(self, manifest: dict[str, Any]) -> None:
        self.bound.append(manifest)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        asked = body["spec"]["resourceAttributes"]
        assert asked == {"namespace": "research", "verb": "create", "group": "batch", "resource": "jobs"}
        self.answers.append(bool(self.bound) and len(self.answers) >= 2)
        return {"status": {"allowed": self.answers[-1]}}


def test_a_developer_submits_nothing_before_the_binding_applies() -> None:
    server = SlowServer()

    def wait(condition: Callable[[], bool], _: float) -> bool:
        while not condition():
            pass
        return True

    api = cast("Api", server)
    let_in(api, api, wait, "research")
    bound = [(each["metadata"]["namespace"], each["roleRef"]["name"]) for each in server.bound]
    assert bound == [("research", "edit"), ("kube-system", "gpucluster-pools")]
    assert server.answers == [False, False, True]
