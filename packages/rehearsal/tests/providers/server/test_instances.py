"""Several plugin processes at one server: each has its own configuration, and a defect in one harms no other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from typing_extensions import override

from packages.rehearsal.tests.memory_provider import MemoryProvider
from rehearsal.providers.echo import EchoProvider, noted
from rehearsal.providers.marshal import marshal, unmarshal
from rehearsal.providers.server import Server, serve

THING = "memory:index:Thing"


class Engine:
    """One connection of an engine."""

    def __init__(self, server: Server, **config: Any) -> None:
        # Without its own pool a second channel to the same address would share the first one's connection.
        options = (("grpc.use_local_subchannel_pool", 1),)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{server.port}", options=options)
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)
        self.stub.Handshake(provider_pb2.ProviderHandshakeRequest())
        self.stub.Configure(provider_pb2.ConfigureRequest(args=marshal(config)))

    def create(self, name: str, **properties: Any) -> dict[str, Any]:
        """Create a thing, and give its state."""
        request = provider_pb2.CreateRequest(urn=f"urn:{name}", type=THING, name=name, properties=marshal(properties))
        return unmarshal(self.stub.Create(request).properties)


@pytest.fixture
def server() -> Iterator[Server]:
    running = serve(MemoryProvider())
    yield running
    running.stop()


def test_each_connection_has_its_own_configuration(server: Server) -> None:
    engines = [Engine(server, prefix=f"engine {number}", version="ignored") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda engine: [engine.create(f"t{i}")["prefix"] for i in range(20)], engines))
    assert states == [[f"engine {number}"] * 20 for number in range(8)]


def test_a_new_handshake_forgets_the_old_configuration(server: Server) -> None:
    engine = Engine(server, prefix="before")
    engine.stub.Handshake(provider_pb2.ProviderHandshakeRequest())
    assert engine.create("thing")["prefix"] is None


def test_a_connection_without_handshake_must_start_again(server: Server) -> None:
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}", options=(("grpc.use_local_subchannel_pool", 1),))
    stub = provider_pb2_grpc.ResourceProviderStub(channel)
    with pytest.raises(grpc.RpcError) as caught:
        stub.Create(provider_pb2.CreateRequest(type=THING))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "run the command again" in str(caught.value.details())


def test_errors_leave_other_calls_alone(server: Server) -> None:
    engine = Engine(server)
    with pytest.raises(grpc.RpcError) as defect:
        engine.create("one", fail="defect")
    assert defect.value.code() is grpc.StatusCode.INTERNAL
    assert "KeyError" in str(defect.value.details())
    assert engine.create("two")["token"] == "t0ken"


@pytest.mark.parametrize(
    ("call", "request_", "words"),
    [
        ("Call", provider_pb2.CallRequest(tok="memory:index:Thing/m"), "method memory:index:Thing/m is not simulated"),
        (
            "Construct",
            provider_pb2.ConstructRequest(type="memory:index:C"),
            "component memory:index:C is not simulated",
        ),
        ("Invoke", provider_pb2.InvokeRequest(tok="memory:index:f"), "function memory:index:f is not simulated"),
    ],
)
def test_what_is_not_simulated_is_named(server: Server, call: str, request_: Any, words: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        getattr(Engine(server).stub, call)(request_)
    assert words in str(caught.value.details())


def test_diffs_say_what_is_added_changed_deleted_and_replaced(server: Server) -> None:
    def diff(old: dict[str, Any], new: dict[str, Any], *ignored: str) -> provider_pb2.DiffResponse:
        request = provider_pb2.DiffRequest(
            id="x", type=THING, old_inputs=marshal(old), olds=marshal(old), news=marshal(new), ignoreChanges=ignored
        )
        answer: provider_pb2.DiffResponse = Engine(server).stub.Diff(request)
        return answer

    kinds = provider_pb2.PropertyDiff
    difference = diff({"a": 1, "b": {"c": 1, "d": 2}, "kind": "round"}, {"b": {"c": 2}, "e": [1], "kind": "square"})
    assert {path: change.kind for path, change in difference.detailedDiff.items()} == {
        "a": kinds.DELETE,
        "b.c": kinds.UPDATE,
        "b.d": kinds.DELETE,
        "e": kinds.ADD,
        "kind": kinds.UPDATE_REPLACE,
    }
    assert list(difference.diffs) == ["a", "b", "e", "kind"]
    assert list(difference.replaces) == ["kind"]
    assert difference.deleteBeforeReplace

    ignored = diff({"a": 1, "b": [{"c": 1}]}, {"a": 2, "b": [{"c": 2}]}, "a", "b[*].c")
    assert ignored.changes == provider_pb2.DiffResponse.DIFF_NONE
    assert not ignored.detailedDiff


def test_cancel_reaches_only_its_own_instance() -> None:
    instances: list[MemoryProvider] = []

    class Recorded(MemoryProvider):
        def instance(self) -> MemoryProvider:
            instances.append(super().instance())
            return instances[-1]

    server = serve(Recorded())
    first, _second = Engine(server), Engine(server)
    first.stub.Cancel(Empty())
    assert [instance.cancelled.is_set() for instance in instances] == [True, False]
    server.stop()


class OneType(MemoryProvider):
    """Simulates one type of its cloud only."""

    @override
    def knows(self, type: str) -> bool:
        return type == THING

    @override
    def instance(self) -> MemoryProvider:
        return self


def test_a_default_answers_for_types_that_are_not_simulated_and_notes_them(tmp_path: Path) -> None:
    simulated, default = OneType(), EchoProvider("memory", "1.2.3", tmp_path)
    running = serve(simulated, default=default)
    stub, other = Engine(running).stub, "memory:index:Other"
    inputs = marshal({"size": 3})
    created = stub.Create(provider_pb2.CreateRequest(urn="urn:a", type=other, name="a", properties=inputs))
    assert unmarshal(created.properties) == {"size": 3}
    assert default.inventory() == [f"{other} {created.id}"]
    assert simulated.things == {}
    assert noted(tmp_path) == (other,)
    thing = stub.Create(provider_pb2.CreateRequest(urn="urn:b", type=THING, name="b", properties=inputs))
    assert unmarshal(thing.properties)["token"] == "t0ken"
    assert default.inventory() == [f"{other} {created.id}"]

    same = {"urn": "urn:a", "type": other, "name": "a", "id": created.id}
    news = marshal({"size": 4})
    diff = stub.Diff(provider_pb2.DiffRequest(**same, old_inputs=inputs, olds=inputs, news=news))
    assert (list(diff.diffs), list(diff.replaces)) == (["size"], [])
    stub.Update(provider_pb2.UpdateRequest(**same, old_inputs=inputs, olds=inputs, news=news))
    assert unmarshal(stub.Read(provider_pb2.ReadRequest(**same)).properties) == {"size": 4}
    stub.Delete(provider_pb2.DeleteRequest(**same, properties=news))
    assert stub.Read(provider_pb2.ReadRequest(**same)).id == ""
    assert default.inventory() == []
    running.stop()


def test_a_preview_notes_nothing(tmp_path: Path) -> None:
    default = EchoProvider("random", "4.16.7", tmp_path)
    running = serve(default)
    request = provider_pb2.CreateRequest(urn="urn:a", type="random:index:Id", name="a", preview=True)
    assert Engine(running).stub.Create(request).id == ""
    assert noted(tmp_path) == ()
    running.stop()
