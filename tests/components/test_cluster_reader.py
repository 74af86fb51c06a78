"""The client that looks at a cluster of others: it logs in as its kubeconfig says, and changes nothing."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme
from typing_extensions import override

from components.cluster_reader import ClusterReader, RefusedRequestError, SilentServerError
from facts.concepts.kubeconfig import kubeconfig, plugin_user

MANIFEST: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it"}}
LOG_IN: Final = '#!/bin/sh\necho \'{"kind": "ExecCredential", "status": {"token": "secret"}}\'\n'

AUTHORITY: Final = trustme.CA()


class Server(http.server.ThreadingHTTPServer):
    """Answers lists of two pages, and refuses what is called ``refused``."""

    asked: list[tuple[str, str, dict[str, list[str]], str]]
    busy: int = 0
    """How many requests it will not take."""


class Answers(http.server.BaseHTTPRequestHandler):
    def answer(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        assert isinstance(self.server, Server)
        self.server.asked.append((self.command, url.path, query, self.headers["Authorization"]))
        status, body = 200, {"status": {"allowed": True}, "items": [{"page": query.get("continue", ["first"])[0]}]}
        if "continue" not in query:
            body["metadata"] = {"continue": "second"}
        if url.path.endswith("refused"):
            status, body = 403, {"message": "exceeded quota"}
        if url.path.endswith("elsewhere"):
            status = 302
        if self.server.busy:
            self.server.busy -= 1
            status, body = 429, {"message": "too many requests"}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        if status == 302:
            self.send_header("Location", "/api/v1/pods")
        self.end_headers()
        self.wfile.write(data)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


for method in ("GET", "POST", "PATCH"):
    setattr(Answers, f"do_{method}", Answers.answer)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(("127.0.0.1", 0), Answers)
    running.asked = []
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def reader(folder: Path, port: int, plugin: str = LOG_IN) -> ClusterReader:
    file = folder / "plugin"
    file.write_text(plugin)
    file.chmod(0o700)
    user = plugin_user(str(file), [], "Install it")
    return ClusterReader(kubeconfig("c", {"server": f"http://127.0.0.1:{port}"}, user))


def test_it_cannot_change_anything(server: Server, tmp_path: Path) -> None:
    client = reader(tmp_path, server.server_port)
    client.try_create("/api/v1/namespaces/a/configmaps", MANIFEST)
    client.try_apply("/api/v1/namespaces/a/configmaps/it", MANIFEST)
    assert client.may({"resource": "pods", "verb": "list"})
    writes = [(path, query.get("dryRun")) for method, path, query, _ in server.asked if method != "GET"]
    strict = [query.get("fieldValidation") for *_, query, _ in server.asked if "dryRun" in query]
    assert strict == [["Strict"], ["Strict"]], "a field that a kind does not have is no success"
    assert writes == [
        ("/api/v1/namespaces/a/configmaps", ["All"]),
        ("/api/v1/namespaces/a/configmaps/it", ["All"]),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None),
    ]
    public = {name for name in vars(ClusterReader) if not name.startswith("_")}
    assert public == {"version", "get", "find", "items", "may", "try_create", "try_apply"}


def test_it_shows_the_plugins_token_and_reads_all_pages(server: Server, tmp_path: Path) -> None:
    client = reader(tmp_path, server.server_port)
    assert [each["page"] for each in client.items("/api/v1/pods")] == ["first", "second"]
    assert {authorization for *_, authorization in server.asked} == {"Bearer secret"}


def test_a_list_without_an_end_ends(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterReader, "get", lambda *_, **__: {"items": [], "metadata": {"continue": "again"}})
    with pytest.raises(SilentServerError, match="/api/v1/pods has no end"):
        list(reader(tmp_path, server.server_port).items("/api/v1/pods"))


def test_a_refusal_is_the_servers_message(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RefusedRequestError, match="exceeded quota") as error:
        reader(tmp_path, server.server_port).try_create("/refused", MANIFEST)
    assert error.value.status == 403


def test_a_busy_server_is_asked_again_but_not_for_ever(server: Server, tmp_path: Path) -> None:
    server.busy = 3
    assert reader(tmp_path, server.server_port).version()
    server.busy = 4
    with pytest.raises(RefusedRequestError, match="too many requests"):
        reader(tmp_path, server.server_port).version()


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        ("#!/bin/sh\necho trace >&2\necho 'no credentials' >&2\nexit 1\n", "cannot log in: no credentials"),
        (
            "#!/bin/sh\necho 'F1130 16:53:14.962474   24617 cred.go:145] no credentials' >&2\nexit 1\n",
            "cannot log in: no credentials",
        ),
        ("#!/bin/sh\necho '{}'\n", "prints no token"),
        (LOG_IN, "no answer from http://127.0.0.1:1"),
    ],
)
def test_why_nobody_answers(tmp_path: Path, plugin: str, says: str) -> None:
    with pytest.raises(SilentServerError, match=says):
        reader(tmp_path, 1, plugin).get("/version")


def test_a_plugin_has_the_variables_that_the_kubeconfig_names(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "plugin"
    file.write_text(LOG_IN.replace("secret", "'$PROFILE'"))
    file.chmod(0o700)
    user = plugin_user(str(file), [], "Install it")
    user["exec"] |= {"env": [{"name": "PROFILE", "value": "lab"}], "args": None}
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    assert ClusterReader(kubeconfig("c", cluster, user)).version()
    assert [authorization for *_, authorization in server.asked] == ["Bearer lab"]


def test_a_user_may_have_a_token(server: Server) -> None:
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    assert ClusterReader(kubeconfig("c", cluster, {"token": "own"})).version()
    assert [authorization for *_, authorization in server.asked] == ["Bearer own"]


@pytest.fixture
def secure(server: Server) -> Server:
    """The server with a certificate of ``AUTHORITY`` for another name than its address."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("cluster.example").configure_cert(tls)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    return server


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"tls-server-name": "cluster.example"}, ""),
        ({"insecure-skip-tls-verify": True}, ""),
        ({}, "certificate verify failed"),
        ({"tls-server-name": "other.example"}, "certificate verify failed"),
    ],
)
def test_a_certificate_is_checked_as_the_kubeconfig_says(secure: Server, entry: dict[str, Any], says: str) -> None:
    authority = base64.b64encode(AUTHORITY.cert_pem.bytes()).decode()
    own = {} if "insecure-skip-tls-verify" in entry else {"certificate-authority-data": authority}
    cluster = {"server": f"https://127.0.0.1:{secure.server_port}", **own, **entry}
    client = ClusterReader(kubeconfig("c", cluster, {"token": "own"}))
    if says:
        with pytest.raises(SilentServerError, match=says):
            client.version()
    else:
        assert client.version()


def test_a_proxy_of_the_kubeconfig_leads_to_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also past what the environment says of proxies."""
    monkeypatch.setenv("NO_PROXY", "*")
    cluster = {"server": "http://cluster.invalid", "proxy-url": f"http://me:a%40b@127.0.0.1:{server.server_port}"}
    assert ClusterReader(kubeconfig("c", cluster, {"token": "own"})).version()
    assert [path for _, path, *_ in server.asked] == ["/version"]


def test_another_proxy_is_named_without_its_password() -> None:
    cluster = {"server": "https://cluster.invalid", "proxy-url": "socks5://me:word@bastion:1080"}
    with pytest.raises(
        SilentServerError, match=r"proxy-url socks5://bastion in .*: write one that begins with http://"
    ):
        ClusterReader(kubeconfig("c", cluster, {"token": "own"})).version()


def test_a_missing_plugin_is_named_with_what_installs_it() -> None:
    user = plugin_user("no-such-plugin", [], "Install it: now")
    client = ClusterReader(kubeconfig("c", {"server": "http://127.0.0.1:1"}, user))
    with pytest.raises(SilentServerError, match=r"no-such-plugin is not on PATH\. Install it: now"):
        client.get("/version")


def test_a_redirect_does_not_get_the_token(server: Server, tmp_path: Path) -> None:
    with pytest.raises(RefusedRequestError) as error:
        reader(tmp_path, server.server_port).get("/elsewhere")
    assert error.value.status == 302
    assert [path for _, path, *_ in server.asked] == ["/elsewhere"]


@pytest.mark.parametrize("error", [SilentServerError, lambda text: RefusedRequestError(403, text)])
def test_words_of_others_reach_no_terminal_as_they_are(error: Callable[[str], Exception]) -> None:
    shown = str(error(f"\x1b[2Jdenied: token=ghp_{'a1B2' * 9}"))
    assert "\x1b" not in shown
    assert "ghp_" not in shown
    assert "denied: token=" in shown
