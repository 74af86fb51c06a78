"""A kubeconfig is read as kubectl reads it; tokens are written, in a file, or of a plugin that is asked when needed."""

from __future__ import annotations

import base64
import json
import os
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from facts.catalog.account import CredentialPlugin
from facts.concepts.kubeconfig import kubeconfig
from gpu.api.connection import tls_context
from gpu.api.credentials import Credential, Credentials
from gpu.api.kubeconfig import KubeconfigError
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import PLUGINS, Kubeconfig, environment, write_credential_plugins

CLUSTER = {"server": "https://a:443"}
VERSION = "client.authentication.k8s.io/v1beta1"
Plugin = Callable[..., Credentials]


def credential(token: str, **status: str) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": token, **status}})


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """Credentials of a plugin with this shell script; ``asked`` in its folder has a line for each time it ran."""

    def make(script: str, **entry: Any) -> Credentials:
        program = tmp_path / "plugins" / "aws"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho asked >> '{tmp_path}/asked'\n{script}\n")
        program.chmod(0o755)
        user = {"exec": {"apiVersion": VERSION, "command": "aws", "env": None, **entry}}
        return login(user, program.parent)

    return make


def login(user: dict[str, Any], *path: Path) -> Credentials:
    """A user's credentials, as the rehearsal reads them."""
    return Credentials(Kubeconfig.parse(kubeconfig("here", CLUSTER, user)), environment(path))


def token(credentials: Credentials, refused: str | None = None) -> str:
    """The token that is shown; ``refused`` is one that the server rejected."""
    credential = credentials.get(Credential(f"Bearer {refused}") if refused else None)
    return credential.authorization.removeprefix("Bearer ")


def asked(tmp_path: Path) -> int:
    return len((tmp_path / "asked").read_text().splitlines())


def test_a_written_token_is_used() -> None:
    assert token(login({"token": "t"})) == "t"


@cases
def test_nobody_is_refused(user: dict[str, Any], reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        Api(Kubeconfig(CLUSTER, user))


def test_a_client_certificate_needs_no_token() -> None:
    assert token(login({"client-certificate-data": "Q0E=", "client-key-data": "Q0E="})) == ""


def test_a_token_is_reused_until_it_is_refused(plugin: Plugin, tmp_path: Path) -> None:
    credentials = plugin(f"echo '{credential('token-NR')}' | sed \"s/NR/$(wc -l < '{tmp_path}/asked')/\"")
    assert token(credentials) == token(credentials) == "token-1"
    assert token(credentials, refused="token-1") == "token-2"
    assert token(credentials, refused="token-1") == "token-2", "another thread has renewed it already"
    assert asked(tmp_path) == 2


@pytest.mark.parametrize(("minutes", "runs"), [(-1, 2), (1, 1)])
def test_an_expired_token_is_renewed(plugin: Plugin, tmp_path: Path, minutes: int, runs: int) -> None:
    expiry = datetime.now(timezone.utc) + timedelta(minutes=minutes)
    answer = credential("t", expirationTimestamp=expiry.strftime("%Y-%m-%dT%H:%M:%SZ"))
    credentials = plugin(f"echo '{answer}'")
    assert token(credentials) == token(credentials) == "t"
    assert asked(tmp_path) == runs


def test_the_plugin_gets_no_variable_of_the_kubeconfig_and_none_of_ours(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    answer = credential("$1,$PROFILE,$AWS_SECRET_ACCESS_KEY,$PATH").replace('"', '\\"')
    entry = {"args": ["get-token"], "env": [{"name": "PROFILE", "value": "dev"}, {"name": "PATH", "value": "/evil"}]}
    credentials = plugin(f'/bin/echo "{answer}"', **entry)
    assert token(credentials) == f"get-token,,,{os.environ['PATH']}"


def test_only_simulated_plugins_run_and_only_from_the_run_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("sh", "aws"):
        (elsewhere / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
        (elsewhere / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(elsewhere), prepend=":")
    (tmp_path / "plugins").mkdir()
    for command, folder in (("aws", "plugins"), ("sh", "elsewhere"), (str(elsewhere / "aws"), "plugins")):
        user = {"exec": {"apiVersion": VERSION, "command": command}}
        with pytest.raises(KubeconfigError, match="is not installed"):
            Credentials(Kubeconfig(CLUSTER, user), environment([tmp_path / folder])).get()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["sh", "/bin/sh", "./aws", "../aws", "", None])
def test_a_kubeconfig_with_another_command_is_refused(command: str | None) -> None:
    text = kubeconfig("here", ENTRY, {"exec": {"apiVersion": VERSION, "command": command, "args": ["-c", "id"]}})
    with pytest.raises(KubeconfigError, match=r"is not simulated.* it has aws, gke-gcloud-auth-plugin, kubelogin"):
        Kubeconfig.parse(text)


def test_variables_of_a_plugin_are_left_out_for_every_client() -> None:
    plugin = {"apiVersion": VERSION, "command": "aws", "args": ["eks", "get-token"]}
    written = kubeconfig("here", ENTRY, {"exec": {**plugin, "env": [{"name": "LD_PRELOAD", "value": "/tmp/evil.so"}]}})
    assert Kubeconfig.parse(written).user == {"exec": plugin}


@pytest.mark.parametrize("value", [True, False])
def test_what_a_kubeconfig_says_by_true_and_false_is_written_so_for_helm(value: bool) -> None:
    plugin = {"apiVersion": VERSION, "command": "aws", "args": ["true", "007"], "provideClusterInfo": value}
    cluster = {"server": "https://127.0.0.1", "insecure-skip-tls-verify": value, "disable-compression": value}
    read = Kubeconfig.parse(kubeconfig("here", cluster, {"exec": plugin}))
    assert (read.cluster, read.user) == (cluster, {"exec": plugin})


@pytest.mark.parametrize("key", ["tokenFile", "client-key", "client-certificate", "certificate-authority"])
def test_a_kubeconfig_that_names_a_file_is_refused(key: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("of the user")
    cluster = {**ENTRY, key: str(file)} if key == "certificate-authority" else ENTRY
    user = {} if key == "certificate-authority" else {"token": "t", key: str(file)}
    with pytest.raises(KubeconfigError, match=f"{key}: a rehearsal reads no file .*--flatten --raw"):
        Kubeconfig.parse(kubeconfig("here", cluster, user))


@pytest.mark.parametrize("provided", [True, False])
def test_the_plugin_gets_the_cluster_if_it_asks_for_it(plugin: Plugin, provided: bool) -> None:
    quoted = "sed 's/\"/!/g'"
    answer = credential("TOKEN").replace('"', '\\"').replace("TOKEN", f'$(echo "$KUBERNETES_EXEC_INFO" | {quoted})')
    info = json.loads(token(plugin(f'echo "{answer}"', provideClusterInfo=provided)).replace("!", '"'))
    assert (info["apiVersion"], info["kind"]) == (VERSION, "ExecCredential")
    assert info["spec"] == {"interactive": False, **({"cluster": CLUSTER} if provided else {})}


@cases
def test_a_plugin_that_fails_is_reported_in_its_own_words(plugin: Plugin, script: str, reason: str) -> None:
    with pytest.raises(KubeconfigError, match=reason):
        plugin(script).get()


@pytest.mark.parametrize("plugin", PLUGINS.values(), ids=lambda plugin: plugin.command)
def test_a_clouds_plugin_gives_the_token_to_who_asks_as_it_must(plugin: CredentialPlugin, tmp_path: Path) -> None:
    write_credential_plugins(tmp_path, "the token")

    def ask(*arguments: str) -> str:
        entry = {"apiVersion": VERSION, "command": plugin.command, "args": list(arguments)}
        return token(login({"exec": entry}, tmp_path))

    assert ask(*plugin.arguments.split()) == "the token"
    with pytest.raises(KubeconfigError, match=plugin.command):
        ask("--another-way")


def test_the_account_of_gcloud_does_not_stand_in_for_application_default_credentials(tmp_path: Path) -> None:
    write_credential_plugins(tmp_path, "the token")
    entry = {"apiVersion": VERSION, "command": "gke-gcloud-auth-plugin", "args": []}
    with pytest.raises(KubeconfigError, match="gcloud has no active account"):
        login({"exec": entry}, tmp_path).get()


def test_who_is_logged_in_with_gcloud_needs_no_other_credentials(tmp_path: Path) -> None:
    """As the kubeconfigs that gcloud writes, and those of Pulumi's templates:
    https://github.com/pulumi/templates/blob/master/kubernetes-gcp-python/__main__.py"""
    write_credential_plugins(tmp_path, "the token", logged_in=True)

    def ask(command: str, *arguments: str) -> str:
        entry = {"apiVersion": VERSION, "command": command, "args": list(arguments)}
        return token(login({"exec": entry}, tmp_path))

    assert ask("gke-gcloud-auth-plugin") == "the token"
    assert ask("gke-gcloud-auth-plugin", "--use_application_default_credentials") == "the token"
    for command in ("gke-gcloud-auth-plugin", "aws"):
        with pytest.raises(KubeconfigError, match=command):
            ask(command, "--another-way")
    with pytest.raises(KubeconfigError, match="does not know this command"):
        ask("aws")


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


def test_certificates_come_as_data() -> None:
    authority = trustme.CA()
    client = authority.issue_cert("client")
    pair = {"client-certificate-data": client.cert_chain_pems[0], "client-key-data": client.private_key_pem}
    user = {key: encoded(pem) for key, pem in pair.items()}
    trusting = Kubeconfig({**ENTRY, "certificate-authority-data": encoded(authority.cert_pem)}, user)
    context = tls_context(trusting, Credentials(trusting, environment()).get().certificate)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1, "only the cluster's own authority is trusted"


def test_no_connection_changes_the_tls_context_that_all_threads_share() -> None:
    context = tls_context(Kubeconfig(ENTRY, USER))
    context.set_alpn_protocols(["from urllib3"])
    connection = context.wrap_bio(ssl.MemoryBIO(), hello := ssl.MemoryBIO(), server_hostname="a")
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    assert b"\x08http/1.1" in (sent := hello.read())
    assert b"urllib3" not in sent


@cases
def test_certificates_that_cannot_be_used(cluster: dict[str, str], user: dict[str, str]) -> None:
    with pytest.raises(KubeconfigError, match="a certificate or key cannot be used"):
        Api(Kubeconfig({**ENTRY, **cluster}, {"token": "t", **user}))
