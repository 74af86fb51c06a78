"""The plugin answers the user who started it, and a connection with the keys that this connection brought."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from machines import callers
from machines.callers import CallersUnknown, LocalCallers, StrangerError, owner, require_known_callers
from machines.wire import marshal, unmarshal
from tests.other_user import UID, OtherUser
from tests.provider_calls import refusals
from tests.stacks import ROOT

TOKEN = "the-token-of-an-administrator"
CLUSTER = {"server": "https://cluster.example:6443", "certificate-authority-data": "Q0E="}
KUBECONFIG = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": CLUSTER}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
)
EXISTING = "gpucluster-machines:index:ExistingCluster"


@pytest.fixture(scope="module")
def plugin() -> Iterator[int]:
    """The port of a plugin that was started as the engine starts it."""
    program = ROOT / "packages" / "machines" / "pulumi-resource-gpucluster-machines"
    process = subprocess.Popen([program, "127.0.0.1:1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.communicate()


@pytest.fixture(scope="module")
def other_user() -> Iterator[OtherUser]:
    with OtherUser() as user:
        yield user


def engine(port: int, **config: str) -> Any:
    """A connection of an engine, configured if there is something to configure."""
    # Without its own pool a second channel to the same address would share the first one's connection.
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=(("grpc.use_local_subchannel_pool", 1),))
    stub = provider_pb2_grpc.ResourceProviderStub(channel)
    if config:
        stub.Configure(provider_pb2.ConfigureRequest(args=marshal(config)))
    return stub


def preview(stub: Any) -> dict[str, Any]:
    request = provider_pb2.CreateRequest(type=EXISTING, properties=marshal({"pools": []}), preview=True)
    return unmarshal(stub.Create(request).properties)


def test_who_configured_the_connection_gets_the_kubeconfig(plugin: int) -> None:
    assert TOKEN in preview(engine(plugin, kubeconfig=KUBECONFIG))["kubeconfig"]


def test_another_connection_has_nothing_of_it(plugin: int) -> None:
    configured = engine(plugin, kubeconfig=KUBECONFIG)
    with pytest.raises(grpc.RpcError, match="has not configured the provider") as refused:
        preview(engine(plugin))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    other = engine(plugin, kubeconfig=KUBECONFIG.replace(TOKEN, "another"))
    assert "another" in preview(other)["kubeconfig"]
    assert TOKEN in preview(configured)["kubeconfig"]


def test_no_call_of_another_user_is_answered(plugin: int, other_user: OtherUser) -> None:
    configured = engine(plugin, kubeconfig=KUBECONFIG)
    answers = refusals(other_user, plugin)
    assert answers == dict.fromkeys(
        answers, f"user {UID} may not call this server: it answers user {os.geteuid()} alone"
    )
    assert {"Handshake", "Configure", "Create", "Delete", "Invoke", "GetSchema"} <= {*answers}
    assert TOKEN in preview(configured)["kubeconfig"], "and the engine's connection is still served"


def test_the_owner_of_a_connection_is_who_opened_it(other_user: OtherUser) -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as client:
            address = server.getsockname()
            client.connect((host, address[1]))
            accepted, peer = server.accept()
            with accepted:
                assert owner(peer, address) == os.geteuid()
                client.close()
                assert owner(peer, address) is None, "a closed socket is nobody's, and not root's"
            with other_user.connect(address[1]) as theirs:
                accepted, peer = server.accept()
                with accepted, theirs:
                    assert owner(peer, address) == UID


def test_a_port_that_another_user_takes_over_is_looked_up_again(other_user: OtherUser) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        callers = LocalCallers(server.getsockname()[1])
        client.connect(server.getsockname())
        accepted, (_, port) = server.accept()
        peer = f"ipv4:127.0.0.1:{port}"
        with accepted:
            first = callers.connection(peer)
            assert callers.connection(peer) == first
        client.close()
        with pytest.raises(StrangerError, match="has no connection"):
            callers.connection(peer)
        with other_user.connect(server.getsockname()[1], source=port):
            accepted, (_, again) = server.accept()
            assert again == port
            with accepted, pytest.raises(StrangerError, match=f"user {UID} may not call"):
                callers.connection(peer)


def test_looking_callers_up_leaves_nothing_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, (_, port) = server.accept()
        descriptors = Path("/proc/self/fd")
        callers, before = LocalCallers(server.getsockname()[1]), len([*descriptors.iterdir()])
        with accepted:
            callers.connection(f"ipv4:127.0.0.1:{port}")
            callers.connection(f"ipv4:127.0.0.1:{port}")
            assert len([*descriptors.iterdir()]) == before
            assert client.getsockname()[1] == port


@pytest.mark.parametrize("peer", ["unix:", "unix:/run/x", "ipv4:127.0.0.1:1", "ipv6:%5B::1%5D:40000"])
def test_whoever_is_no_caller_over_loopback_is_a_stranger(peer: str) -> None:
    with pytest.raises(StrangerError):
        LocalCallers(1).connection(peer)


def test_where_callers_cannot_be_known_the_plugin_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_known_callers("the plugin")
    monkeypatch.setattr(callers, "_TABLES", {4: tmp_path / "no-such-table"})
    with pytest.raises(CallersUnknown, match=r"the plugin does not start: .*no-such-table.* Run this on Linux"):
        require_known_callers("the plugin")


def test_users_whom_a_container_does_not_map_are_not_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_text
    monkeypatch.setattr(os, "geteuid", lambda: UID)
    require_known_callers("the plugin")
    monkeypatch.setattr(Path, "read_text", lambda path: "0 100000 65536" if path.name == "uid_map" else read(path))
    with pytest.raises(CallersUnknown, match="all other users look like yours"):
        require_known_callers("the plugin")
