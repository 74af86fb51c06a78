"""A kubeconfig is read as kubectl reads it; tokens are written, in a file, or of a plugin that is asked when needed."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from facts.catalog.cloud import CredentialPlugin
from facts.concepts.kubeconfig import kubeconfig
from rehearsal.cluster.kubeconfig import PLUGINS, Kubeconfig, KubeconfigError, UserTokens, write_credential_plugins
from tests.tables import cases

CLUSTER = {"server": "https://a:443"}
VERSION = "client.authentication.k8s.io/v1beta1"
Plugin = Callable[..., UserTokens]


def credential(token: str, **status: str) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token, **status}})


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """Credentials of a plugin with this shell script; ``asked`` in its folder has a line for each time it ran."""

    def make(script: str, **entry: Any) -> UserTokens:
        program = tmp_path / "plugins" / "auth"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho asked >> '{tmp_path}/asked'\n{script}\n")
        program.chmod(0o755)
        user = {"exec": {"apiVersion": VERSION, "command": "auth", "env": None, **entry}}
        return UserTokens(Kubeconfig(CLUSTER, user), [program.parent])

    return make


def asked(tmp_path: Path) -> int:
    return len((tmp_path / "asked").read_text().splitlines())


def test_a_written_token_wins_and_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    from_file = UserTokens(Kubeconfig(CLUSTER, {"tokenFile": str(file)}))
    assert from_file.token() == "first"
    file.write_text("second\n")
    assert from_file.token() == "second"
    assert UserTokens(Kubeconfig(CLUSTER, {"token": "t", "tokenFile": "/not/there"})).token() == "t"


@cases
def test_nobody_is_refused(user: dict[str, Any], reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        UserTokens(Kubeconfig(CLUSTER, user)).token()


def test_a_client_certificate_needs_no_token() -> None:
    assert UserTokens(Kubeconfig(CLUSTER, {"client-certificate-data": "Q0E="})).token() == ""


def test_a_token_is_reused_until_it_is_refused(plugin: Plugin, tmp_path: Path) -> None:
    credentials = plugin(f"echo '{credential('token-NR')}' | sed \"s/NR/$(wc -l < '{tmp_path}/asked')/\"")
    assert credentials.token() == credentials.token() == "token-1"
    assert credentials.token(refused="token-1") == "token-2"
    assert credentials.token(refused="token-1") == "token-2", "another thread has renewed it already"
    assert asked(tmp_path) == 2


@pytest.mark.parametrize(("minutes", "runs"), [(-1, 2), (1, 1)])
def test_an_expired_token_is_renewed(plugin: Plugin, tmp_path: Path, minutes: int, runs: int) -> None:
    expiry = datetime.now(timezone.utc) + timedelta(minutes=minutes)
    answer = credential("t", expirationTimestamp=expiry.strftime("%Y-%m-%dT%H:%M:%SZ"))
    credentials = plugin(f"echo '{answer}'")
    assert credentials.token() == credentials.token() == "t"
    assert asked(tmp_path) == runs


def test_the_plugin_gets_its_environment_and_nothing_of_ours(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    answer = credential("$1,$PROFILE,$AWS_SECRET_ACCESS_KEY,$PATH").replace('"', '\\"')
    entry = {"args": ["get-token"], "env": [{"name": "PROFILE", "value": "dev"}, {"name": "PATH", "value": "/usr/bin"}]}
    credentials = plugin(f'/bin/echo "{answer}"', **entry)
    argument, profile, secret, search_path = credentials.token().split(",")
    assert (argument, profile, secret) == ("get-token", "dev", "")
    assert search_path.endswith("/plugins:/usr/bin")


@pytest.mark.parametrize("provided", [True, False])
def test_the_plugin_gets_the_cluster_if_it_asks_for_it(plugin: Plugin, provided: bool) -> None:
    quoted = "sed 's/\"/!/g'"
    answer = credential("TOKEN").replace('"', '\\"').replace("TOKEN", f'$(echo "$KUBERNETES_EXEC_INFO" | {quoted})')
    info = json.loads(plugin(f'echo "{answer}"', provideClusterInfo=provided).token().replace("!", '"'))
    assert (info["apiVersion"], info["kind"]) == (VERSION, "ExecCredential")
    assert info["spec"] == {"interactive": False, **({"cluster": CLUSTER} if provided else {})}


@cases
def test_a_plugin_that_fails_is_reported_in_its_own_words(plugin: Plugin, script: str, reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        plugin(script).token()


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=lambda plugin: plugin.command)
def test_a_clouds_plugin_gives_the_token_to_who_asks_as_it_must(plugin: CredentialPlugin, tmp_path: Path) -> None:
    write_credential_plugins(tmp_path, "the token")

    def ask(*arguments: str) -> str:
        entry = {"apiVersion": VERSION, "command": plugin.command, "args": list(arguments)}
        return UserTokens(Kubeconfig(CLUSTER, {"exec": entry}), [tmp_path]).token()

    assert ask(*plugin.arguments.split()) == "the token"
    with pytest.raises(KubeconfigError, match=plugin.command):
        ask("--another-way")


def test_the_account_of_gcloud_does_not_stand_in_for_application_default_credentials(tmp_path: Path) -> None:
    write_credential_plugins(tmp_path, "the token")
    entry = {"apiVersion": VERSION, "command": "gke-gcloud-auth-plugin", "args": []}
    with pytest.raises(KubeconfigError, match="gcloud has no active account"):
        UserTokens(Kubeconfig(CLUSTER, {"exec": entry}), [tmp_path]).token()


ENTRY = {"server": "https://a:443/"}
USER = {"token": "t"}


def encoded(pem: trustme.Blob) -> str:
    return base64.b64encode(pem.bytes()).decode()


def test_what_is_written_is_read() -> None:
    text = kubeconfig("here", ENTRY, USER)
    assert Kubeconfig.parse(text) == Kubeconfig.parse(json.loads(text)) == Kubeconfig(ENTRY, USER, "default")
    assert Kubeconfig.parse(text).server == "https://a:443"


def test_secrets_are_not_printed() -> None:
    assert "hidden" not in repr(Kubeconfig(ENTRY, {"token": "hidden"}))


@cases
def test_a_missing_entry_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        Kubeconfig.parse({**json.loads(kubeconfig("here", ENTRY, USER)), **change})


@pytest.mark.parametrize(("text", "reason"), [("a: [\n", "neither YAML nor JSON"), ("just text", "not a mapping")])
def test_what_is_no_kubeconfig_is_refused(text: str, reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        Kubeconfig.parse(text)


def test_a_context_without_a_user_is_nobody() -> None:
    loaded = yaml.safe_load(kubeconfig("here", ENTRY, USER))
    del loaded["contexts"][0]["context"]["user"]
    assert Kubeconfig.parse(loaded).user == {}


def test_certificates_come_as_data_or_as_files(tmp_path: Path) -> None:
    authority = trustme.CA()
    client = authority.issue_cert("client")
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    client.cert_chain_pems[0].write_to_path(tmp_path / "client.crt")
    client.private_key_pem.write_to_path(tmp_path / "client.key")
    user = {"client-certificate": str(tmp_path / "client.crt"), "client-key": str(tmp_path / "client.key")}
    files = Kubeconfig({**ENTRY, "certificate-authority": str(tmp_path / "ca.crt")}, user)
    pair = {"client-certificate-data": client.cert_chain_pems[0], "client-key-data": client.private_key_pem}
    user = {key: encoded(pem) for key, pem in pair.items()}
    data = Kubeconfig({**ENTRY, "certificate-authority-data": encoded(authority.cert_pem)}, user)
    for each in (files, data):
        context = each.tls()
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert len(context.get_ca_certs()) == 1, "only the cluster's own authority is trusted"


@cases
def test_certificates_that_cannot_be_used(cluster: dict[str, str], user: dict[str, str]) -> None:
    with pytest.raises(KubeconfigError, match="a certificate or key cannot be used"):
        Kubeconfig({**ENTRY, **cluster}, user).tls()
