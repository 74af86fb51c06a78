"""Faults in front of the providers' methods: what the engine is answered, and whether the call takes effect."""

from __future__ import annotations

from typing import Any, NoReturn

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

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
        self.faults = CallFaults(kill=lambda: self.log.append("killed"))

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


@pytest.mark.parametrize(
    ("kind", "log"),
    [
        ("refused", []),
        ("throttled", []),
        ("lost answer", ["Create"]),
        ("killed before", ["killed"]),
        ("killed after", ["Create", "killed"]),
    ],
)
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
