"""What differs from a container on a real node, and what must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rehearsal.cluster.images import KARPENTER, ImageBinary
from rehearsal.simulation import Injection
from rehearsal.workloads.substitutions import probe_url, substitute

PROGRAM = ImageBinary(KARPENTER, "1.14.1", Path("/tools/karpenter"), ("METRICS_PORT", "HEALTH_PROBE_PORT"))
DECLARED = {"METRICS_PORT": "8080", "HEALTH_PROBE_PORT": "8081", "CLUSTER_NAME": "demo"}
CONTAINER: dict[str, Any] = {"ports": [{"name": "http", "containerPort": 8081}]}


def made(declared: dict[str, str] | None = None, **changes: Any) -> tuple[dict[str, str], dict[int, int]]:
    usual: dict[str, Any] = {
        "api_server": "127.0.0.1:6443",
        "namespace": "kube-system",
        "folder": Path("/run/pod"),
        "kubeconfig": Path("/run/pod/kubeconfig"),
        "injected": Injection({}),
        "tokens": None,
        "free_ports": lambda count: list(range(40001, 40001 + count)),
    }
    return substitute({**DECLARED, **(declared or {})}, PROGRAM, **{**usual, **changes})


def test_settings_pass_unchanged_and_ports_are_free_ones() -> None:
    variables, ports = made()
    assert variables["CLUSTER_NAME"] == "demo"
    assert (variables["METRICS_PORT"], variables["HEALTH_PROBE_PORT"]) == ("40001", "40002")
    assert ports == {8080: 40001, 8081: 40002}
    assert (variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]) == ("127.0.0.1", "6443")


def test_nothing_of_the_person_who_rehearses_is_read() -> None:
    variables, _ = made()
    assert variables["HOME"] == variables["TMPDIR"] == "/run/pod"


def test_a_port_that_is_not_declared_is_assigned_too() -> None:
    variables, ports = made({"METRICS_PORT": ""})
    assert variables["METRICS_PORT"] == "40001"
    assert ports == {8081: 40002}


def test_the_cloud_adds_and_never_overwrites() -> None:
    injected = Injection({"AWS_REGION": "us-west-2", "CLUSTER_NAME": "other"}, "audience", "TOKEN_FILE")
    variables, _ = made(injected=injected, tokens=Path("/run/pod/cloud-token"))
    assert (variables["AWS_REGION"], variables["CLUSTER_NAME"]) == ("us-west-2", "demo")
    assert variables["TOKEN_FILE"] == "/run/pod/cloud-token"
    assert "TOKEN_FILE" not in made(injected=Injection({"AWS_REGION": "us-west-2"}))[0]


@pytest.mark.parametrize(
    ("probe", "url"),
    [
        ({"httpGet": {"path": "/readyz", "port": "http"}}, "http://127.0.0.1:40002/readyz"),
        ({"httpGet": {"path": "/readyz", "port": 8081}}, "http://127.0.0.1:40002/readyz"),
        ({"httpGet": {"port": 9090}}, "http://127.0.0.1:9090/"),
        ({"exec": {"command": ["true"]}}, None),
    ],
)
def test_probes_go_where_the_program_listens(probe: dict[str, Any], url: str | None) -> None:
    assert probe_url(probe, CONTAINER, {8081: 40002}) == url
