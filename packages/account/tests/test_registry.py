"""Digests from a registry, a repository of charts and a folder of plugins, which this test serves on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from account import registry
from account.registry import RegistryError, ask, digest_of, download, located
from facts.catalog.pins import PLATFORM, Installed

INDEX = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}).encode()
ARCHIVE = b"a chart, or a plugin"


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Registry:
    """What it answers by path: status, headers, body. A path in ``private`` needs the token."""

    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    host: str = ""

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.requests.append((path, headers))
        plain = path.partition("?")[0]
        if plain in self.private and headers.get("Authorization") != "Bearer t0":
            challenge = f'Bearer realm="http://{self.host}/token",service="s",scope="repository:a/b:pull"'
            return 401, {"WWW-Authenticate": challenge}, b""
        return self.answers.get(plain, (404, {}, b""))


@pytest.fixture
def served() -> Iterator[Registry]:
    here = Registry()

    class Handler(BaseHTTPRequestHandler):
        def answered(self) -> None:
            status, headers, body = here.answer(self.path, dict(self.headers))
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    for method in ("GET", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.answered)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        here.host = f"127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield here
        server.shutdown()


def image(served: Registry, name: str = "a/b:1") -> Installed:
    return Installed("image", f"{served.host}/{name}")


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("nginx", ("registry-1.docker.io", "library/nginx", "latest")),
        ("nginx:1.2", ("registry-1.docker.io", "library/nginx", "1.2")),
        ("rocm/plugin:1", ("registry-1.docker.io", "rocm/plugin", "1")),
        ("docker.io/library/busybox:1", ("registry-1.docker.io", "library/busybox", "1")),
        ("quay.io/a/b/c:1", ("quay.io", "a/b/c", "1")),
        ("127.0.0.1:5000/a", ("127.0.0.1:5000", "a", "latest")),
        ("localhost/a:1", ("localhost", "a", "1")),
    ],
)
def test_where_an_image_is(name: str, where: tuple[str, str, str]) -> None:
    assert located(name) == where


def test_the_digest_is_that_of_the_index_for_all_architectures(served: Registry) -> None:
    served.answers["/v2/a/b/manifests/1"] = (200, {"Docker-Content-Digest": digest(INDEX)}, INDEX)
    assert digest_of(image(served)) == digest(INDEX)
    ((_, headers),) = served.requests
    first, *others = headers["Accept"].split(", ")
    assert first == "application/vnd.oci.image.index.v1+json"
    assert len(others) == 3


def test_a_token_for_everybody_is_asked_for(served: Registry) -> None:
    served.private.add("/v2/a/b/manifests/1")
    served.answers["/v2/a/b/manifests/1"] = (200, {}, INDEX)
    served.answers["/token"] = (200, {}, json.dumps({"token": "t0"}).encode())
    assert digest_of(image(served)) == digest(INDEX)
    assert [path for path, _ in served.requests][1] == "/token?service=s&scope=repository%3Aa%2Fb%3Apull"


def test_a_token_stays_with_who_it_is_for(served: Registry) -> None:
    served.private.add("/v2/a/b/manifests/1")
    served.answers["/v2/a/b/manifests/1"] = (307, {"Location": f"http://{served.host}/elsewhere"}, b"")
    served.answers["/elsewhere"] = (200, {}, INDEX)
    served.answers["/token"] = (200, {}, json.dumps({"access_token": "t0"}).encode())
    assert digest_of(image(served)) == digest(INDEX)
    assert "Authorization" not in served.requests[-1][1]


def test_a_chart_of_a_registry(served: Registry) -> None:
    served.answers["/v2/charts/kueue/manifests/1.0_b"] = (200, {}, INDEX)
    assert digest_of(Installed("chart", f"oci://{served.host}/charts/kueue:1.0+b")) == digest(INDEX)


@pytest.mark.parametrize("url", ["kueue-1.tgz", "http://{host}/charts/kueue-1.tgz"])
def test_a_chart_of_a_repository(url: str, served: Registry) -> None:
    urls = f"urls: ['{url.format(host=served.host)}']"
    index = f"entries: {{kueue: [{{version: '2', urls: [x]}}, {{version: v1, digest: {digest(ARCHIVE)[7:]}, {urls}}}]}}"
    served.answers["/charts/index.yaml"] = (200, {}, index.encode())
    served.answers["/charts/kueue-1.tgz"] = (200, {}, ARCHIVE)
    assert digest_of(Installed("chart", f"http://{served.host}/charts/kueue:1")) == digest(ARCHIVE)


def test_a_plugin(served: Registry, tmp_path: Path) -> None:
    name = f"pulumi-resource-aws-v7.51.1-{PLATFORM}.tar.gz"
    served.answers[f"/p/{name}"] = (200, {}, ARCHIVE)
    assert digest_of(Installed("plugin", f"aws 7.51.1 {PLATFORM}"), f"http://{served.host}/p") == digest(ARCHIVE)
    assert download(f"http://{served.host}/p/{name}", tmp_path / name) == digest(ARCHIVE)
    assert (tmp_path / name).read_bytes() == ARCHIVE


WRONG = f"sha256:{'0' * 64}"
REFUSALS: dict[str, tuple[tuple[int, dict[str, str], bytes], str]] = {
    "missing": ((404, {}, b""), "127.0.0.1:PORT answers 404 Not Found"),
    "forbidden": ((403, {}, b""), "answers 403 Forbidden: it needs a login, so write the row by hand"),
    "basic": ((401, {"WWW-Authenticate": 'Basic realm="x"'}, b""), "it needs a login, so write the row by hand"),
    "lies": ((200, {"Docker-Content-Digest": WRONG}, INDEX), f"says {WRONG} of content that is {digest(INDEX)}"),
    "cut": ((200, {"Content-Length": "9999"}, INDEX), "9999"),
    "leads away": ((302, {"Location": "http://example.com/x"}, b""), "http://example.com/x is not https"),
    "its token, too": (
        (401, {"WWW-Authenticate": 'Bearer realm="http://example.com/t"'}, b""),
        "http://example.com/t? is not https",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_without_a_digest_there_is_a_reason(case: str, served: Registry) -> None:
    served.answers["/v2/a/b/manifests/1"], words = REFUSALS[case]
    with pytest.raises(RegistryError) as refused:
        digest_of(image(served))
    assert words.replace("PORT", served.host.partition(":")[2]) in str(refused.value)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("entries: {kueue: []}", "has no kueue 1"),
        ("entries: {}", "has no kueue 1"),
        (
            f"entries: {{kueue: [{{version: '1', digest: {'0' * 64}, urls: [kueue-1.tgz]}}]}}",
            "index.yaml says sha256:000",
        ),
    ],
)
def test_an_index_that_says_another_thing_than_the_archive(index: str, words: str, served: Registry) -> None:
    served.answers["/charts/index.yaml"] = (200, {}, index.encode())
    served.answers["/charts/kueue-1.tgz"] = (200, {}, ARCHIVE)
    with pytest.raises(RegistryError) as refused:
        digest_of(Installed("chart", f"http://{served.host}/charts/kueue:1"))
    assert words in str(refused.value)


def test_an_answer_without_an_end_is_not_read_to_its_end(served: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LARGEST", 10)
    served.answers["/v2/a/b/manifests/1"] = (200, {}, INDEX)
    with pytest.raises(RegistryError, match="more than 10 bytes"):
        digest_of(image(served))


def test_new_changed_and_failed_are_told_apart(served: Registry) -> None:
    for name in ("new", "same", "other"):
        served.answers[f"/v2/a/{name}/manifests/1"] = (200, {}, INDEX)
    new, same, other, gone = (image(served, f"a/{name}:1") for name in ("new", "same", "other", "gone"))
    answers = ask([new, Installed("image", same.name, digest(INDEX)), Installed("image", other.name, WRONG), gone])
    assert answers.new == {("image", new.name): digest(INDEX)}
    assert answers.changed == ((Installed("image", other.name, WRONG), digest(INDEX)),)
    assert [(row, reason.split(" ", 1)[1]) for row, reason in answers.failed] == [(gone, "answers 404 Not Found")]
