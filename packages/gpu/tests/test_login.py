"""`gpu` logs in as kubectl does, with every kind of entry; what fails is one sentence with the file and the entry."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.gpu.tests.api_server import INVENTORY, kubeconfig, serving
from packages.gpu.tests.secure_server import CLIENT, SecureServer, encoded, proxy, secure_server
from packages.gpu.tests.test_cli import Run
from packages.gpu.tests.test_cli import gpu as gpu

V1, BETA = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
CERTIFICATE, KEY = CLIENT.cert_chain_pems[0].bytes(), CLIENT.private_key_pem.bytes()
VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kubeconfig and no proxy of who runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", *VARIABLES):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def one_server() -> Iterator[SecureServer]:
    with secure_server() as running:
        yield running


@pytest.fixture
def server(one_server: SecureServer) -> SecureServer:
    one_server.requests.clear()
    one_server.refuses = lambda asked: None
    one_server.headers = {}
    return one_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Beside a kubeconfig: a token, a certificate with its key, and ``bin`` for plugins."""
    folder = tmp_path / "kube"
    (folder / "bin").mkdir(parents=True)
    (folder / "token").write_text("of-the-file\n")
    (folder / "client.crt").write_bytes(CERTIFICATE)
    (folder / "client.key").write_bytes(KEY)
    return folder


def plugin(folder: Path, script: str, name: str = "log-in", **entry: Any) -> dict[str, Any]:
    """A user with a credential plugin of this shell script, which counts its runs in ``ran``."""
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\necho run >> '{folder}/ran'\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": V1, "interactiveMode": "IfAvailable", "command": f"./bin/{name}", **entry}}


def printing(version: str = V1, **status: str) -> str:
    """A script that prints this status; ``$`` of the shell is kept."""
    answer = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    return "cat <<END\n" + answer + "\nEND"


def id_token(**claims: Any) -> str:
    """A JSON Web Token, unsigned."""
    parts = ({"alg": "none"}, claims)
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".s"


def oidc(**config: Any) -> dict[str, Any]:
    return {"auth-provider": {"name": "oidc", "config": config}}


BASIC = "Basic " + base64.b64encode(b"ada:pass word").decode()
LASTING = id_token(exp=4102444800)  # the year 2100


@pytest.mark.parametrize(
    ("user", "authorization", "client"),
    [
        ({"token": "t"}, "Bearer t", ""),
        ({"token": "t\n"}, "Bearer t", ""),
        ({"tokenFile": "token"}, "Bearer of-the-file", ""),
        ({"token": "t", "tokenFile": "token"}, "Bearer of-the-file", ""),
        ({"token": "t", "tokenFile": "nowhere"}, "Bearer t", ""),
        ({"token": "t", "exec": {"apiVersion": V1, "command": "no-such-plugin"}}, "Bearer t", ""),
        ({"username": "ada", "password": "pass word"}, BASIC, ""),
        (oidc(**{"id-token": LASTING}), f"Bearer {LASTING}", ""),
        (oidc(**{"id-token": id_token(sub="ada")}), f"Bearer {id_token(sub='ada')}", ""),
        ({"client-certificate": "client.crt", "client-key": "client.key"}, None, "client@example.com"),
        (
            {"client-certificate-data": encoded(CERTIFICATE), "client-key-data": encoded(KEY), "client-key": "/none"},
            None,
            "client@example.com",
        ),
        (
            {"client-certificate": "client.crt", "client-key": "client.key", "token": "t"},
            "Bearer t",
            "client@example.com",
        ),
    ],
)
def test_what_the_user_s_entry_has_is_shown(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, user: Any, authorization: str | None,
    client: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", user)))
    assert gpu("pools")[0::2] == (0, "")
    expected = [authorization] if authorization else None
    assert (server.requests[0].headers.get("authorization"), server.requests[0].client) == (expected, client)


def test_an_impersonated_user_is_in_the_headers(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"token": "t", "as": "bob", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"x/y": ["1", "2"]}}
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", user)))
    assert gpu("pools")[0] == 0
    headers = {name: values for name, values in server.requests[0].headers.items() if name.startswith("impersonate")}
    assert headers == {
        "impersonate-user": ["bob"],
        "impersonate-uid": ["7"],
        "impersonate-group": ["a", "b"],
        "impersonate-extra-x%2fy": ["1", "2"],
    }


@pytest.mark.parametrize("version", [V1, BETA])
def test_a_plugin_gets_its_arguments_and_variables_and_the_user_s_own(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OWN", "from the shell")
    monkeypatch.setenv("PROFILE", "default")
    entry = {"apiVersion": version, "command": "log-in", "args": ["get token", "7"], "provideClusterInfo": True}
    script = f"printf '%s' \"$KUBERNETES_EXEC_INFO\" > '{folder}/info'\n" + printing(
        version, token="$1,$2,$PROFILE,$OWN"
    )
    user = plugin(folder, script, **entry, env=[{"name": "PROFILE", "value": "dev"}])
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    file = server.kubeconfig(folder / "config", user, extensions=[extension, {"name": "other", "extension": {}}])
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert gpu("pools")[0::2] == (0, "")
    assert server.requests[0].headers["authorization"] == ["Bearer get token,7,dev,from the shell"]
    assert json.loads((folder / "info").read_text()) == {
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {**server.entry, "config": {"audience": "a"}}},
    }
    assert (folder / "ran").read_text() == "run\n", "once for all requests of a command"


def test_a_plugin_s_certificate_is_the_connection_s(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = {"clientCertificateData": CERTIFICATE.decode(), "clientKeyData": KEY.decode()}
    user = plugin(folder, printing(**pair))
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", user)))
    assert gpu("pools")[0::2] == (0, "")
    assert server.requests[0].client == "client@example.com"


@pytest.mark.parametrize(
    ("expiry", "refused", "shown"),
    [
        (None, (), ["t1", "t1"]),
        ("2100-01-01T00:00:00.123456789Z", (), ["t1", "t1"]),
        ("2100-01-01T00:00:00+02:00", ("t1",), ["t1", "t2", "t2"]),
        ("2020-01-01T00:00:00Z", (), ["t2", "t3"]),
        (None, ("t1", "t2"), ["t1", "t2"]),
    ],
)
def test_a_refused_or_expired_token_is_asked_for_once_more(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, expiry: str | None,
    refused: tuple[str, ...], shown: list[str],
) -> None:  # fmt: skip
    count = f"$(wc -l < '{folder}/ran' | tr -d ' ')"
    script = printing(token=f"t{count}", **({"expirationTimestamp": expiry} if expiry else {}))
    headers = [[f"Bearer {token}"] for token in refused]
    server.refuses = lambda asked: (401, "Unauthorized") if asked.headers["authorization"] in headers else None
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", plugin(folder, script))))
    code, _, err = gpu("pools")
    assert [asked.headers["authorization"] for asked in server.requests] == [[f"Bearer {token}"] for token in shown]
    assert (code, "credentials rejected" in err) == ((3, True) if len(refused) > 1 else (0, False))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "completing", "shown"),
    [
        ("IfAvailable", False, "true:7"),
        ("Always", False, "true:7"),
        ("Never", False, "false:"),
        ("IfAvailable", True, None),
    ],
)
def test_on_a_terminal_a_plugin_may_ask_the_user(
    server: SecureServer, folder: Path, mode: str, completing: bool, shown: str | None
) -> None:
    """Its messages go to the terminal, not so while the shell completes a word."""
    script = (
        "echo 'code?' >&2; read -r code\n"
        "interactive=$(echo \"$KUBERNETES_EXEC_INFO\" | grep -o '\"interactive\": [a-z]*' | cut -d' ' -f2)\n"
    )
    user = plugin(folder, script + printing(token="$interactive:$code"), interactiveMode=mode)
    file = server.kubeconfig(folder / "config", user)
    words = {"_GPU_COMPLETE": "complete_bash", "COMP_WORDS": "gpu stop x", "COMP_CWORD": "2"} if completing else {}
    variables = {**os.environ, "KUBECONFIG": str(file), "PYTHONPATH": os.pathsep.join(sys.path), **words}
    ours, its = os.openpty()
    os.write(ours, b"7\n")
    command = [sys.executable, "-m", "gpu", *(() if completing else ("pools",))]
    done = subprocess.run(
        command, stdin=its, stderr=its, stdout=subprocess.PIPE, env=variables, check=False, timeout=60
    )
    os.close(its)
    printed = b""
    with contextlib.suppress(OSError):  # all is read
        while part := os.read(ours, 4096):
            printed += part
    os.close(ours)
    assert done.returncode == 0
    assert (b"code?" in printed) is not completing
    assert server.requests[0].headers["authorization"] == [f"Bearer {shown or 'false:'}"]


def test_a_busy_server_is_asked_again(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the header Retry-After; without it the answer is a refusal, such as a disruption budget's."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    server.refuses = lambda asked: (429, "later") if len(server.requests) < 3 else None
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", {"token": "t"})))
    code, _, err = gpu("pools")
    assert (code, err) == (3, "error: later\n")
    server.headers = {"Retry-After": "1"}
    server.requests.clear()
    assert gpu("pools")[0] == 0
    assert len(server.requests) == 4


HINT = "To install it:\n\n  \x1b[1minstall\x1b[0m it from X."


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"exec": {"apiVersion": V1, "command": "no-such-plugin", "installHint": HINT}},
         "the credential plugin no-such-plugin is not installed: To install it: install it from X"),
        ({"exec": {"apiVersion": V1, "command": "no-such-plugin"}}, "no-such-plugin is not installed: install it"),
        ({"exec": {"apiVersion": V1, "command": "./bin/none"}}, "/kube/bin/none is not installed"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}, f"write {BETA}"),
        (("echo 'please log in' >&2; exit 1", {}), "failed: please log in; log in to the cloud again"),
        (("exit 3", {}), "failed: exit code 3; log in to the cloud again"),
        (("echo no JSON", {}), "gave no ExecCredential with a token"),
        (("echo '{}'", {}), "gave no ExecCredential with a token"),
        ((printing(), {}), "gave no ExecCredential with a token"),
        ((printing(clientCertificateData="x"), {}), "with a token, or a certificate and its key"),
        ((printing(clientCertificateData="x", clientKeyData="y"), {}), "a certificate or key cannot be used"),
        ((printing(token="t", expirationTimestamp="soon"), {}), "gave no ExecCredential"),
        ((printing(token="t"), {"interactiveMode": "Always"}), "asks questions; run this on a terminal"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider gcp does not exist since kubectl 1.26"),
        (oidc(**{"id-token": id_token(exp=1.5)}), "has expired; log in to the cloud again, or use a"),
        (oidc(), "auth-provider oidc has no usable id-token"),
        ({"tokenFile": "nowhere"}, "/kube/nowhere: No such file or directory; log in"),
        ({"client-certificate": "nowhere", "client-key": "client.key"}, "/kube/nowhere: No such file"),
        ({"client-certificate": "client.crt"}, "client-key is missing"),
        ({"client-certificate": "client.crt", "client-key": "token"}, "a certificate or key cannot be used"),
        ({"client-certificate-data": "%", "client-key-data": "%"}, "a certificate or key cannot be used"),
        ({"token": "t", "as-groups": ["a"]}, "need `as`"),
        ({"token": "t\nu"}, "the token has line breaks"),
        ({"token": "t", "as": "bob", "as-groups": "a"}, "as-groups is no list"),
        ({"exec": "log-in"}, "exec is no mapping"),
        ({"exec": {"apiVersion": V1, "command": "x", "args": "y"}}, "exec: args is no list"),
        ({"exec": {"apiVersion": V1, "command": "x", "env": ["A=b"]}}, "exec: env is no list of mappings"),
        ({"auth-provider": "oidc"}, "auth-provider is no mapping"),
        ({"auth-provider": {"name": "oidc", "config": "x"}}, "has no usable id-token"),
    ],
)  # fmt: skip
def test_who_cannot_log_in_reads_why_and_nothing_is_asked(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, user: Any, message: str
) -> None:
    entry = user if isinstance(user, dict) else plugin(folder, user[0], **user[1])
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", entry)))
    code, out, err = gpu("pools")
    assert (code, out, err.count("\n")) == (3, "", 1), err
    assert err.startswith(f"error: context here: {folder / 'config'}: user 'ada'")
    assert message in err
    assert server.requests == [], "never without the user's credentials"


ANONYMOUS = 'configmaps "x" is forbidden: User "system:anonymous" cannot get resource'
FULL = (
    'configmaps "x" is forbidden: exceeded quota: namespace-limits, requested: count/configmaps=1, '
    "used: count/configmaps=1000, limited: count/configmaps=1000"
)


@pytest.mark.parametrize(
    ("user", "refusal", "message"),
    [
        ({}, (401, "Unauthorized"), "config: user 'ada' has no credentials that this cluster accepts"),
        ({}, (403, ANONYMOUS), "config: user 'ada' has no credentials that this cluster accepts"),
        ({"username": "ada", "password": "p"}, (403, ANONYMOUS), "has no credentials that this cluster accepts"),
        ({"token": "t"}, (401, "Unauthorized"), "credentials rejected; log in to the cloud again"),
        ({"token": "t"}, (403, 'x is forbidden: User "ada" cannot get'), "ask the administrator for the role `view`"),
        ({"token": "t"}, (403, FULL), "`gpu stop` deletes jobs that have ended, too, with their files"),
        ({"token": "t"}, (302, ""), "the answer is not that of a Kubernetes API server"),
        ({"token": "t"}, (500, "it broke"), "error: it broke"),
    ],
)
def test_a_refusal_names_its_cause(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, user: Any, refusal: tuple[int, str],
    message: str,
) -> None:  # fmt: skip
    server.refuses = lambda asked: refusal
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", user)))
    code, out, err = gpu("pools")
    assert (code, out, err.count("\n")) == (3, "", 1), err
    assert message in err
    assert ("role" in err) is ('ada" cannot' in refusal[1])


def test_a_page_in_the_place_of_the_api_is_one_sentence(
    gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({INVENTORY: b"<html>log in</html>"}) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))
        code, _, err = gpu("pools")
    assert (code, err.count("\n")) == (3, 1)
    assert "the answer is not that of a Kubernetes API server" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"garbage: [", "neither YAML nor JSON in line"),
        (b"hello", "not a mapping, so no kubeconfig"),
        (b"- a", "not a mapping, so no kubeconfig"),
        (b"[secret]\n", "`pulumi stack output kubeconfig` needs --show-secrets"),
        (b"\xff\xfe", "no usable kubeconfig"),
        (b"\x80abc", "neither YAML nor JSON"),
        (b"<!DOCTYPE html><html>\n<body>log in</body>\n", "not a mapping, so no kubeconfig"),
        (b"", "has no context"),
        (b"contexts: x", "contexts is no list of entries with name and context"),
        (b"contexts: [x]", "contexts is no list of entries with name and context"),
        (b"contexts: [{context: {cluster: a}}]", "contexts is no list of entries with name and context"),
        (b"users: [{name: a, user: x}]", "users is no list of entries with name and user"),
        (b"users: [{name: a}, {name: a}]", "users has two entries called 'a'"),
        (b"contexts: [{name: a, context: {cluster: c}}]", "no current-context; choose a context with --context: a"),
        (b"current-context: b\ncontexts: [{name: a, context: {cluster: c}}]",
         "contexts has no entry called 'b'; there are: a"),
        (b"current-context: a\ncontexts: [{name: a}]", "context 'a' has no cluster"),
        (b"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", "clusters has no entry called 'c'"),
        (b"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c}]",
         "cluster 'c' has no server"),
        (b"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
         b"clusters: [{name: c, cluster: {server: x}}]", "server 'x' is no URL"),
        (b"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
         b"clusters: [{name: c, cluster: {server: 'http://x'}}]\nusers: []", "users has no entry called 'u'"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_kubeconfig_is_one_sentence(
    gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    monkeypatch.setenv("KUBECONFIG", str(file))
    code, out, err = gpu("pools")
    assert (code, out, err.count("\n")) == (3, "", 1), err
    assert str(file) in err
    assert message in err


def test_a_kubeconfig_in_utf_16_as_windows_writes_it_is_read(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = server.kubeconfig(folder / "config", {"token": "t"})
    file.write_text(file.read_text(), encoding="utf-16")
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert gpu("pools")[0] == 0


def test_a_token_of_digits_stays_as_it_is_written(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = server.kubeconfig(folder / "config", {"token": "TOKEN"})
    file.write_text(yaml.safe_dump(json.loads(file.read_text())).replace("TOKEN", "0123"))
    monkeypatch.setenv("KUBECONFIG", str(file))
    assert gpu("pools")[0] == 0
    assert server.requests[0].headers["authorization"] == ["Bearer 0123"]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Mapping[str, Path]]:
    """Two kubeconfigs of a cluster each, ``first`` and ``second``, whose users have the same name."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(secure_server()) for name in ("first", "second")}
        files: dict[str, Path] = {}
        for name, each in servers.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "token").write_text(name)
            file = each.kubeconfig(tmp_path / name / "config", {"tokenFile": "token"})
            content = json.loads(file.read_text())
            for section, kind in (("contexts", "context"), ("clusters", "cluster")):
                content[section][0]["name"] = name
                content[section][0][kind] |= {"cluster": name} if kind == "context" else {}
            content["current-context"] = name
            file.write_text(json.dumps(content))
            file.with_name("requests").write_text("")
            each.refuses = lambda asked, name=name: (500, f"{name} asked with {asked.headers['authorization']}")
            files[name] = file
        yield files


@pytest.mark.parametrize(
    ("order", "arguments", "answer"),
    [
        (("first", "second"), (), "first asked with ['Bearer first']"),
        (("second", "first"), (), "second asked with ['Bearer second']"),
        (("nowhere", "", "second", "first"), (), "second asked with ['Bearer second']"),
        (("first", "second"), ("--context", "second"), "second asked with ['Bearer first']"),
    ],
)
def test_of_several_files_the_first_has_the_current_context_and_each_entry(
    gpu: Run, two: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...],
    arguments: tuple[str, ...], answer: str,
) -> None:  # fmt: skip
    files = {**two, "nowhere": Path("/nowhere"), "": ""}
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(files[name]) for name in order))
    code, _, err = gpu("pools", *arguments)
    assert (code, err) == (3, f"error: {answer}\n")


@pytest.mark.parametrize(
    ("several", "expected"), [(False, "stopped train\n"), (True, "stopped train in context here\n")]
)
def test_stop_names_the_context_if_there_are_several(
    gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several: bool, expected: str
) -> None:
    with serving({"/apis/batch/v1/namespaces/default/jobs/train": {}}) as url:
        more = {"there": "here"} if several else {}
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url}, **more)))
        assert gpu("stop", "train", "--yes") == (0, "", expected)
        code, _, err = gpu("stop", "nope")
    assert (code, " in default in context here; " in err) == (3, several)


def test_the_file_in_the_home_is_the_default(
    gpu: Run, server: SecureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / ".kube").mkdir(parents=True)
    file = server.kubeconfig(tmp_path / "home" / ".kube" / "config", {"token": "t"})
    assert gpu("pools")[0] == 0
    monkeypatch.setenv("KUBECONFIG", "")
    assert gpu("pools")[0] == 0
    monkeypatch.setenv("KUBECONFIG", "~/.kube/config")
    assert gpu("pools")[0] == 0
    file.unlink()
    code, _, err = gpu("pools")
    assert (code, f"{file} does not exist; set KUBECONFIG" in err) == (3, True)


def test_a_pod_without_a_kubeconfig_is_its_service_account(
    gpu: Run, server: SecureServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = tmp_path / "serviceaccount"
    account.mkdir()
    (account / "ca.crt").write_bytes(base64.b64decode(server.entry["certificate-authority-data"]))
    (account / "token").write_text("of-the-pod")
    (account / "namespace").write_text("team-a")
    monkeypatch.setattr("gpu.api.kubeconfig.SERVICE_ACCOUNT", account)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    assert gpu("pools")[0] == 0
    assert server.requests[0].headers["authorization"] == ["Bearer of-the-pod"]
    assert gpu("list")[1] == "no GPU jobs in namespace team-a\n"
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert gpu("pools")[0] == 3, "a kubeconfig that was named is meant"


@pytest.mark.parametrize(
    ("name", "cluster", "message"),
    [
        ("127.0.0.1", {}, ""),
        ("cluster.example", {}, "certificate verify failed"),
        ("cluster.example", {"tls-server-name": "cluster.example"}, ""),
        ("cluster.example", {"insecure-skip-tls-verify": True}, ""),
        ("127.0.0.1", {"certificate-authority-data": None}, "certificate verify failed"),
        ("127.0.0.1", {"certificate-authority-data": None, "certificate-authority": "ca.crt"}, ""),
        ("127.0.0.1", {"certificate-authority-data": None, "certificate-authority": "none"}, "/none: No such file"),
        (
            "127.0.0.1",
            {"certificate-authority-data": "bm8="},
            "certificate-authority: a certificate or key cannot be used",
        ),
    ],
)
def test_the_server_has_to_prove_itself(
    gpu: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, name: str, cluster: Any,
    message: str,
) -> None:  # fmt: skip
    with secure_server(name) as server:
        (folder / "ca.crt").write_bytes(base64.b64decode(server.entry["certificate-authority-data"]))
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", {"token": "t"}, **cluster)))
        code, _, err = gpu("pools")
    assert (code, bool(server.requests)) == ((3, False) if message else (0, True)), err
    assert message in err
    assert [str(each.message) for each in recwarn if "urllib3" in each.filename] == []


@pytest.mark.parametrize(
    ("kind", "url", "reached"),
    [
        ("http", "http://127.0.0.1:{port}", "cluster.example:{server}"),
        ("http", "http://ada:p%40ss@127.0.0.1:{port}", "ada:p@ss@cluster.example:{server}"),
        ("socks5", "socks5://127.0.0.1:{port}", "cluster.example:{server}"),
    ],
)
@pytest.mark.parametrize("written", ["proxy-url", "HTTPS_PROXY", "https_proxy"])
def test_a_proxy_is_the_kubeconfig_s_or_the_environment_s(
    gpu: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, url: str, reached: str, written: str
) -> None:
    """The name of the cluster is resolved by the proxy alone."""
    with secure_server("cluster.example") as server, proxy(kind) as (port, asked):
        named = url.format(port=port)
        entry = {"server": f"https://cluster.example:{server.port}"}
        if written == "proxy-url":
            entry["proxy-url"] = named
            monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        else:
            monkeypatch.setenv(written, named)
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", {"token": "t"}, **entry)))
        code, _, err = gpu("pools")
    assert (code, err) == (0, "")
    assert asked[0] == reached.format(server=server.port)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"proxy-url": "http://ada:secret@127.0.0.1:9"}, "through the proxy http://127.0.0.1:9: "),
        ({"proxy-url": "ftp://ada:secret@x"}, "proxy-url: 'ftp://x' is no URL of a proxy; write http://"),
    ],
)
def test_a_proxy_that_fails_is_named_without_its_password(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any, message: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "config", {"token": "t"}, **cluster)))
    code, _, err = gpu("pools")
    assert (code, message in err, "secret" in err) == (3, True, False), err


def test_one_context_that_cannot_log_in_leaves_the_others(
    gpu: Run, server: SecureServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = server.kubeconfig(folder / "config", {"token": "t"})
    content = json.loads(file.read_text())
    content["contexts"] += [
        {"name": "bare", "context": {"cluster": "gone", "user": "ada"}},
        {"name": "nobody", "context": {"cluster": "other", "user": "eve"}},
    ]
    content["clusters"].append({"name": "other", "cluster": server.entry})
    file.write_text(json.dumps(content))
    monkeypatch.setenv("KUBECONFIG", str(file))
    code, _, err = gpu("fit", "--all", "--gpu", "t4")
    problems = dict(line.split(": ", 1) for line in err.splitlines())
    assert code == 0
    assert "clusters has no entry called 'gone'" in problems["bare"]
    assert "users has no entry called 'eve'" in problems["nobody"]
