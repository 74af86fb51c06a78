"""The client on the wire: credentials, a busy server, discovery, and servers that cannot be trusted or reached."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from rehearsal.cluster import api as module
from rehearsal.cluster.api import Api, ApiError, NoSuchKindError, UnreachableError
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.processes import free_ports

Answer = tuple[int, dict[str, str], Any]
AUTHORITY = trustme.CA()


@dataclass
class Server:
    """An API server that says what the test says; ``requests`` is what it was asked: method, path, token."""

    port: int
    answer: Callable[[str, str], Answer]
    requests: list[tuple[str, str, str]] = field(default_factory=list)

    def kubeconfig(self, user: dict[str, Any] | None = None, cluster: Mapping[str, Any] | None = None) -> Kubeconfig:
        """How to reach it; ``cluster`` adds to the cluster's entry."""
        ca = base64.b64encode(AUTHORITY.cert_pem.bytes()).decode()
        entry = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority-data": ca, **(cluster or {})}
        return Kubeconfig(entry, {"token": "good"} if user is None else user)

    @property
    def asked(self) -> list[str]:
        """Methods and paths, in order."""
        return [f"{method} {path}" for method, path, _ in self.requests]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Its certificate is for 127.0.0.1, or for the fixture's parameter; the token ``good`` is let in."""

    @Request.application
    def respond(request: Request) -> Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        path = request.path + (f"?{request.query_string.decode()}" if request.query_string else "")
        running.requests.append((request.method, path, token))
        refused: Answer = (401, {}, {"reason": "Unauthorized", "message": "Unauthorized"})
        allowed = token == "good" or request.environ.get("SSL_CLIENT_CERT")
        status, headers, body = running.answer(request.method, path) if allowed else refused
        return Response(json.dumps(body) if isinstance(body, dict) else body, status, headers)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(getattr(request, "param", "127.0.0.1")).configure_cert(context)
    AUTHORITY.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    http = make_server("127.0.0.1", 0, respond, threaded=True, ssl_context=context)
    running = Server(http.server_port, lambda method, path: (200, {}, {"path": path}))
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield running
    http.shutdown()
    http.server_close()


def plugin_user(folder: Path, script: str) -> dict[str, Any]:
    """A user whose credential plugin, in ``folder``, is this shell script."""
    program = folder / "aws"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}}


def test_a_refused_token_is_renewed_once(server: Server, tmp_path: Path) -> None:
    bad_then_good = f"t=bad; test -e {tmp_path}/ran && t=good; touch {tmp_path}/ran; "
    user = plugin_user(tmp_path, bad_then_good + 'printf \'{"status": {"token": "%s"}}\' $t')
    api = Api(server.kubeconfig(user), [tmp_path])
    api.get("/a")
    api.get("/b")
    assert [token for _, _, token in server.requests] == ["bad", "good", "good"]


def test_a_token_refused_for_good_is_an_error_in_the_servers_words(server: Server, tmp_path: Path) -> None:
    for user in ({"token": "bad"}, plugin_user(tmp_path, 'echo \'{"status": {"token": "bad"}}\'')):
        server.requests.clear()
        with pytest.raises(ApiError, match=r"Unauthorized \(the kubeconfig's credentials were not accepted\)") as error:
            Api(server.kubeconfig(user), [tmp_path]).get("/a")
        assert error.value.status == 401
        assert len(server.requests) == 1


def test_a_plugin_that_fails_later_is_a_refusal(server: Server, tmp_path: Path) -> None:
    once = f"test -e {tmp_path}/ran && echo logged out >&2 && exit 1; touch {tmp_path}/ran; "
    api = Api(server.kubeconfig(plugin_user(tmp_path, once + 'echo \'{"status": {"token": "bad"}}\'')), [tmp_path])
    with pytest.raises(ApiError, match="the credential plugin aws failed: logged out;") as error:
        api.get("/a")
    assert error.value.status == 401


def test_a_client_certificate_is_shown_instead_of_a_token(server: Server) -> None:
    client = AUTHORITY.issue_cert("client")
    user = {
        "client-certificate-data": base64.b64encode(client.cert_chain_pems[0].bytes()).decode(),
        "client-key-data": base64.b64encode(client.private_key_pem.bytes()).decode(),
    }
    assert Api(server.kubeconfig(user)).get("/a") == {"path": "/a"}
    assert server.requests == [("GET", "/a", "")]


def test_a_busy_server_is_asked_again_others_are_not(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_SECONDS", 0.0)
    busy: Answer = (429, {"Retry-After": "1"}, {"reason": "TooManyRequests", "message": "later"})
    answers = iter([busy, busy, (200, {}, {"metadata": {}})])
    server.answer = lambda method, path: next(answers)
    Api(server.kubeconfig()).create("/a", {})
    assert len(server.requests) == 3

    server.requests.clear()
    server.answer = lambda method, path: (429, {}, {"reason": "TooManyRequests", "message": "a disruption budget"})
    with pytest.raises(ApiError, match="a disruption budget"):
        Api(server.kubeconfig()).create("/a", {})
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"), [({"message": "it says so"}, "it says so"), (b"plain", "plain"), (b"", "no message")]
)
def test_refusals_keep_the_servers_words(server: Server, body: Any, message: str) -> None:
    server.answer = lambda method, path: (500, {}, body)
    with pytest.raises(ApiError, match=f"^{message}$"):
        Api(server.kubeconfig()).get("/a")
    with pytest.raises(ApiError, match=f"^{message}$"):
        list(Api(server.kubeconfig()).watch("/a", "1"))


def test_kinds_are_discovered_once_and_a_missing_one_again(server: Server) -> None:
    served = [{"name": "widgets", "kind": "Widget", "namespaced": True}, {"name": "widgets/status", "kind": "Widget"}]
    groups: dict[str, Any] = {}

    def answer(method: str, path: str) -> Answer:
        return (200, {}, {"resources": groups[path]}) if path in groups else (404, {}, {"message": "not found"})

    server.answer = answer
    api = Api(server.kubeconfig())
    with pytest.raises(NoSuchKindError, match=r"no matches for kind 'Widget' in version 'x\.io/v1'") as error:
        api.resource("x.io/v1", "Widget")
    assert error.value.status == 404
    groups["/apis/x.io/v1"] = served
    for _ in range(2):
        assert api.resource("x.io/v1", "Widget").path("one", "team") == "/apis/x.io/v1/namespaces/team/widgets/one"
    assert len(server.requests) == 2
    with pytest.raises(NoSuchKindError, match="create its CustomResourceDefinition first"):
        api.resource("x.io/v1", "Gadget")
    assert len(server.requests) == 3


def test_queries_are_encoded(server: Server) -> None:
    server.answer = lambda method, path: (200, {}, {"items": None})
    assert Api(server.kubeconfig()).list("/a", labelSelector="a in (b,c),d=é&") == []
    assert server.asked == ["GET /a?labelSelector=a+in+%28b%2Cc%29%2Cd%3D%C3%A9%26"]


def test_one_client_serves_many_threads(server: Server) -> None:
    api = Api(server.kubeconfig())
    with ThreadPoolExecutor(16) as threads:
        paths = [f"/{number}" for number in range(64)]
        assert [answer["path"] for answer in threads.map(api.get, paths)] == paths


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
@pytest.mark.parametrize("server", ["cluster.example"], indirect=True)
def test_a_server_must_prove_its_name(server: Server) -> None:
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        Api(server.kubeconfig()).get("/a")
    assert not Api(server.kubeconfig()).ready()
    for entry in ({"tls-server-name": "cluster.example"}, {"insecure-skip-tls-verify": True}):
        assert Api(server.kubeconfig(cluster=entry)).ready()


def test_a_server_of_another_authority_is_not_trusted(server: Server) -> None:
    other = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        Api(server.kubeconfig(cluster={"certificate-authority-data": other})).get("/a")
    assert server.requests == [], "no token goes to a stranger"


def test_only_the_kubeconfigs_proxy_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("HTTPS_PROXY", nobody)
    assert Api(server.kubeconfig()).ready()
    with pytest.raises(
        UnreachableError, match=rf"\(through the proxy {nobody}\) does not answer: Failed to .*refused$"
    ):
        Api(server.kubeconfig(cluster={"proxy-url": nobody})).get("/a")


def test_no_answer_names_the_address(server: Server) -> None:
    unreachable = replace(server.kubeconfig(), cluster={"server": "https://127.0.0.1:9"})
    for call in (lambda: Api(unreachable).get("/a"), lambda: list(Api(unreachable).watch("/a", "1"))):
        with pytest.raises(UnreachableError, match=r"^the API server at https://127\.0\.0\.1:9 does not answer: \S"):
            call()


def test_a_watch_ends_with_the_stream_and_a_broken_one_is_an_error(server: Server) -> None:
    added = json.dumps({"type": "ADDED", "object": {"n": 1}}).encode() + b"\n"
    server.answer = lambda method, path: (200, {}, added + added)
    assert list(Api(server.kubeconfig()).watch("/a", "1")) == [("ADDED", {"n": 1})] * 2

    def torn() -> Iterator[bytes]:
        yield added
        raise ConnectionError

    server.answer = lambda method, path: (200, {}, torn())
    broken = Api(server.kubeconfig()).watch("/a", "1")
    assert next(broken) == ("ADDED", {"n": 1})
    with pytest.raises(UnreachableError, match="does not answer"):
        next(broken)


def test_a_watch_that_is_too_old_says_so(server: Server) -> None:
    error = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old resource version"}}
    server.answer = lambda method, path: (200, {}, json.dumps(error).encode() + b"\n")
    with pytest.raises(ApiError, match="too old resource version") as raised:
        list(Api(server.kubeconfig()).watch("/a", "1"))
    assert raised.value.status == 410
