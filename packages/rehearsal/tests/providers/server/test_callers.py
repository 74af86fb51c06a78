"""A simulated provider answers the user who rehearses, and runs no command for anybody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from facts.concepts.kubeconfig import kubeconfig
from machines import callers
from packages.rehearsal.tests.memory_provider import MemoryProvider
from rehearsal.fleet.external_grpc import NodeGroupServer
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.providers.marshal import marshal
from rehearsal.providers.server import serve
from tests.other_user import UID, OtherUser
from tests.provider_calls import refusals

DENIED = f"user {UID} may not call this server: it answers user {os.geteuid()} alone"


@pytest.fixture(scope="module")
def other_user() -> Iterator[OtherUser]:
    with OtherUser() as user:
        yield user


def test_no_call_of_another_user_is_answered(other_user: OtherUser) -> None:
    server = serve(MemoryProvider())
    answers = refusals(other_user, server.port)
    assert answers == dict.fromkeys(answers, DENIED)
    assert {"Handshake", "Configure", "Create", "Read", "Delete", "Invoke", "GetSchema"} <= {*answers}
    server.stop()


@pytest.mark.parametrize("whose", ["another user", "this user"])
def test_a_kubeconfig_s_command_is_run_for_nobody(whose: str, other_user: OtherUser, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "sh", "args": ["-c", f"id > {proof}"]}
    written = kubeconfig("c", {"server": "https://127.0.0.1:1"}, {"exec": plugin})
    server = serve(SimulatedKubernetes())
    port = server.port if whose == "this user" else other_user.relay(server.port).port
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        codes: list[Any] = []
        for call, request in (
            (stub.Handshake, provider_pb2.ProviderHandshakeRequest()),
            (stub.Configure, provider_pb2.ConfigureRequest(args=marshal({"kubeconfig": written}))),
            (stub.Read, provider_pb2.ReadRequest(id="a/b", type="kubernetes:core/v1:Secret", name="b")),
        ):
            try:
                call(request)
            except grpc.RpcError as error:
                codes.append(error.code())
    expected = (
        [grpc.StatusCode.PERMISSION_DENIED] * 3 if whose == "another user" else [grpc.StatusCode.FAILED_PRECONDITION]
    )
    assert codes == expected
    assert not proof.exists()
    server.stop()


def test_the_cloud_of_a_cluster_autoscaler_answers_no_other_user(other_user: OtherUser) -> None:
    nothing: Any = None
    server = NodeGroupServer(nothing, nothing, options_by_group=True)
    with grpc.insecure_channel(f"127.0.0.1:{other_user.relay(server.port).port}") as channel:
        call = channel.unary_unary("/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/NodeGroups")
        with pytest.raises(grpc.RpcError, match=DENIED):
            call(b"")
    server.close()


def test_where_callers_cannot_be_known_nothing_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "_TABLES", {4: tmp_path / "no-such-table"})
    with pytest.raises(OSError, match=r"the simulated memory provider does not start: .* Run this on Linux"):
        serve(MemoryProvider())
