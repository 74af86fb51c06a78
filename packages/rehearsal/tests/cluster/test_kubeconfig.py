"""A kubeconfig is read as kubectl reads it."""

from __future__ import annotations

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from facts.concepts.kubeconfig import kubeconfig
from rehearsal.cluster.kubeconfig import Kubeconfig, KubeconfigError

CLUSTER = {"server": "https://a:443/"}
USER = {"token": "t"}


def encoded(pem: trustme.Blob) -> str:
    return base64.b64encode(pem.bytes()).decode()


def test_what_is_written_is_read() -> None:
    text = kubeconfig("here", CLUSTER, USER)
    assert Kubeconfig.parse(text) == Kubeconfig.parse(json.loads(text)) == Kubeconfig(CLUSTER, USER, "default")
    assert Kubeconfig.parse(text).server == "https://a:443"


def test_secrets_are_not_printed() -> None:
    assert "hidden" not in repr(Kubeconfig(CLUSTER, {"token": "hidden"}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"current-context": None}, "contexts has no entry called None; there are: here"),
        ({"contexts": None}, "contexts has no entry called 'here'; there are: none"),
        ({"clusters": []}, "clusters has no entry called 'here'; there are: none"),
        ({"users": [{"name": "other"}]}, "users has no entry called 'here'; there are: other"),
        ({"clusters": [{"name": "here", "cluster": {}}]}, "cluster 'here' has no server; write the API server's URL"),
    ],
)
def test_a_missing_entry_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        Kubeconfig.parse({**json.loads(kubeconfig("here", CLUSTER, USER)), **change})


@pytest.mark.parametrize(("text", "reason"), [("a: [\n", "neither YAML nor JSON"), ("just text", "not a mapping")])
def test_what_is_no_kubeconfig_is_refused(text: str, reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        Kubeconfig.parse(text)


def test_a_context_without_a_user_is_nobody() -> None:
    loaded = yaml.safe_load(kubeconfig("here", CLUSTER, USER))
    del loaded["contexts"][0]["context"]["user"]
    assert Kubeconfig.parse(loaded).user == {}


def test_certificates_come_as_data_or_as_files(tmp_path: Path) -> None:
    authority = trustme.CA()
    client = authority.issue_cert("client")
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    client.cert_chain_pems[0].write_to_path(tmp_path / "client.crt")
    client.private_key_pem.write_to_path(tmp_path / "client.key")
    files = Kubeconfig(
        {**CLUSTER, "certificate-authority": str(tmp_path / "ca.crt")},
        {"client-certificate": str(tmp_path / "client.crt"), "client-key": str(tmp_path / "client.key")},
    )
    data = Kubeconfig(
        {**CLUSTER, "certificate-authority-data": encoded(authority.cert_pem)},
        {
            "client-certificate-data": encoded(client.cert_chain_pems[0]),
            "client-key-data": encoded(client.private_key_pem),
        },
    )
    for each in (files, data):
        context = each.tls()
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert len(context.get_ca_certs()) == 1, "only the cluster's own authority is trusted"


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"certificate-authority": "/not/there"}, {}),
        ({"certificate-authority-data": "%"}, {}),
        ({"certificate-authority-data": base64.b64encode(b"no certificate").decode()}, {}),
        ({}, {"client-certificate-data": base64.b64encode(b"no certificate").decode()}),
    ],
)
def test_certificates_that_cannot_be_used(cluster: dict[str, str], user: dict[str, str]) -> None:
    with pytest.raises(KubeconfigError, match="a certificate or key cannot be used"):
        Kubeconfig({**CLUSTER, **cluster}, user).tls()
