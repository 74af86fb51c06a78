"""Faults in front of the providers' methods: what the engine is answered, and whether the call takes effect."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import grpc
import psutil
import pytest
from pulumi.runtime.proto import provider_pb2

from packages.rehearsal.tests.tables import cases
from rehearsal.providers import call_faults
from rehearsal.providers.call_faults import CallFault, CallFaults, FaultKind


class Refused(Exception):
    """What gRPC raises in the method."""


class Context:
    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        raise Refused(code, details)


class Cloud:
    """One that creates what it is asked to; ``log`` has what happened, the engine's end included."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.engine_runs = True
        self.faults = CallFaults(self.kill)

    def kill(self) -> bool:
        self.log += ["killed"] * self.engine_runs
        return self.engine_runs

    def call(self, method: str, request: Any, response: Any) -> Any:
        class Details:
            """Of the call."""

            def __init__(self, method: str) -> None:
                self.method = method

        def effect(request: Any, context: Any) -> Any:
            self.log.append(method)
            return response

        handler = grpc.unary_unary_rpc_method_handler(effect)
        intercepted = self.faults.intercept_service(lambda _: handler, Details(f"/pulumirpc.ResourceProvider/{method}"))
        return intercepted.unary_unary(request, Context())

    def create(self, *, preview: bool = False) -> Any:
        request = provider_pb2.CreateRequest(urn="urn:a", preview=preview)
        return self.call("Create", request, provider_pb2.CreateResponse(id="a"))


@cases
def test_the_engine_gets_an_error_once_whether_or_not_the_call_took_effect(kind: FaultKind, log: list[str]) -> None:
    cloud = Cloud()
    cloud.faults.plan([CallFault("Create", "urn:a", kind)])
    with pytest.raises(Refused):
        cloud.create()
    report = cloud.faults.report()
    assert cloud.log == log
    assert report["injected"] == [{"call": "Create", "urn": "urn:a", "kind": kind}]
    assert report["ids"] == ({"urn:a": "a"} if "Create" in log else {})
    assert report["running"] == 0
    assert cloud.create().id == "a"
    cloud.faults.plan([])
    assert cloud.faults.report()["ids"] == {}


@pytest.mark.parametrize(("kind", "effects"), [("killed before", []), ("killed after", ["Create"])])
def test_a_fault_that_kills_nothing_is_not_counted_and_happens_later(kind: FaultKind, effects: list[str]) -> None:
    cloud = Cloud()
    cloud.faults.plan([CallFault("Create", "urn:a", kind)])
    cloud.engine_runs = False
    with pytest.raises(Refused):
        cloud.create()
    assert (cloud.log, cloud.faults.report()["injected"]) == (effects, [])
    cloud.engine_runs = True
    with pytest.raises(Refused):
        cloud.create()
    assert len(cloud.faults.report()["injected"]) == 1


def test_of_two_faults_at_once_only_one_kills_and_the_next_engine_lives() -> None:
    cloud = Cloud()
    cloud.faults.plan([CallFault("Create", "urn:a", "killed after"), CallFault("Update", "urn:b", "killed before")])
    meanwhile = provider_pb2.UpdateRequest(urn="urn:b", id="b")

    def create_while_the_other_kills(request: Any, context: Any) -> Any:
        with pytest.raises(Refused):
            cloud.call("Update", meanwhile, provider_pb2.UpdateResponse())
        return provider_pb2.CreateResponse(id="a")

    handler = grpc.unary_unary_rpc_method_handler(create_while_the_other_kills)
    details = SimpleNamespace(method="/pulumirpc.ResourceProvider/Create")
    intercepted = cloud.faults.intercept_service(lambda _: handler, details)
    with pytest.raises(Refused):
        intercepted.unary_unary(provider_pb2.CreateRequest(urn="urn:a"), Context())
    assert cloud.log == ["killed"]
    assert len(cloud.faults.report()["injected"]) == 2


def test_an_engine_that_ends_by_itself_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended() -> None:
        raise psutil.NoSuchProcess(1)

    killed: list[str] = []
    ending = SimpleNamespace(name=lambda: "pulumi", kill=ended)
    other = SimpleNamespace(name=lambda: "python", kill=lambda: killed.append("python"))
    running = SimpleNamespace(name=lambda: "pulumi", kill=lambda: killed.append("pulumi"))
    children = [ending, other]
    monkeypatch.setattr(psutil, "Process", lambda pid: SimpleNamespace(children=lambda: children))
    assert not call_faults.kill_engine()
    children.append(running)
    assert call_faults.kill_engine()
    assert killed == ["pulumi"]


def test_a_slow_call_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud()
    monkeypatch.setattr(call_faults.time, "sleep", lambda seconds: cloud.log.append(f"{seconds:.0f} s"))
    cloud.faults.plan([CallFault("Create", "urn:a", "slow")])
    assert cloud.create().id == "a"
    assert cloud.log == ["3 s", "Create"]


def test_previews_and_other_resources_are_not_disturbed() -> None:
    cloud = Cloud()
    cloud.faults.plan([CallFault("Create", "urn:a", "refused"), CallFault("Delete", "urn:b", "refused")])
    assert cloud.create(preview=True).id == "a"
    assert cloud.faults.report()["injected"] == []
    cloud.call("Delete", provider_pb2.DeleteRequest(urn="urn:a"), None)
    assert cloud.log == ["Create", "Delete"]


def test_a_stale_read_answers_what_was_before_the_last_update() -> None:
    cloud = Cloud()
    cloud.create()
    news, new = provider_pb2.UpdateRequest(urn="urn:a", id="a"), provider_pb2.UpdateResponse()
    news.news["size"] = 2
    new.properties["size"] = 2
    cloud.call("Update", news, new)
    cloud.faults.plan([CallFault("Read", "urn:a", "stale")])
    now = provider_pb2.ReadResponse(id="a", properties=new.properties)
    request = provider_pb2.ReadRequest(urn="urn:a", id="a")
    stale = cloud.call("Read", request, now)
    assert (stale.id, dict(stale.properties)) == ("a", {})
    assert dict(cloud.call("Read", request, now).properties) == {"size": 2}


def test_an_answer_before_any_update_is_not_counted_as_stale() -> None:
    cloud = Cloud()
    cloud.create()
    cloud.faults.plan([CallFault("Read", "urn:a", "stale")])
    now = provider_pb2.ReadResponse(id="a")
    assert cloud.call("Read", provider_pb2.ReadRequest(urn="urn:a", id="a"), now) == now
    assert cloud.faults.report()["injected"] == []
