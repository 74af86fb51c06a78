"""Asks registries for the digests of what a stack installs: images and charts by the OCI distribution API, charts of
repositories by their index, plugins by their archive. Nothing is sent but the name; a registry that wants a login has
no answer.

https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import yaml

from facts.catalog.pins import OCI, Digests, Installed

PLUGINS: Final = "https://get.pulumi.com/releases/plugins"
"""https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/workspace/plugins.go"""

_SECONDS: Final = 60.0
_LARGEST: Final = 64 * 1024 * 1024
_PART: Final = 1024 * 1024
_HUB: Final = "registry-1.docker.io"
# An index first: its digest is the same on nodes of every architecture.
_MANIFESTS: Final = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
# All values are texts: a version `1.10` and a hash of digits are no numbers.
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class RegistryError(Exception):
    """No digest; the message says why."""


@dataclass(frozen=True)
class Answers:
    """``new``: (kind, name) → digest, of rows without one. ``changed``: rows whose registry has another one now, with
    it. ``failed``: rows without an answer, with the reason."""

    new: Digests
    changed: tuple[tuple[Installed, str], ...]
    failed: tuple[tuple[Installed, str], ...]


def ask(rows: list[Installed], digest: Callable[[Installed], str] | None = None) -> Answers:
    """The digests of all ``rows``, those that are known as well."""
    new: dict[tuple[str, str], str] = {}
    changed, failed = [], []
    for row in rows:
        try:
            answer = (digest or digest_of)(row)
        except RegistryError as error:
            failed.append((row, str(error)))
            continue
        if not row.digest:
            new[row.kind, row.name] = answer
        elif row.digest != answer:
            changed.append((row, answer))
    return Answers(new, tuple(changed), tuple(failed))


def digest_of(row: Installed, plugins: str = PLUGINS) -> str:
    """What the tag or version means now: ``sha256:…``. Raises RegistryError."""
    with _in_words():
        if row.kind == "plugin":
            return _plugin(row.name, plugins)
        if row.kind == "image" or row.name.startswith(OCI):
            return _manifest(*located(row.name.removeprefix(OCI)))
        return _indexed(*row.name.rsplit(":", 1))


def download(url: str, file: Path) -> str:
    """Write the answer into ``file``; its digest. Raises RegistryError."""
    digest = hashlib.sha256()
    with _in_words(), file.open("wb") as stream:
        for part in _parts(url, {}, {}, limited=False):
            digest.update(part)
            stream.write(part)
    return f"sha256:{digest.hexdigest()}"


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except HTTPError as error:
        needs = ": it needs a login, so write the row by hand" if error.code in (401, 403) else ""
        raise RegistryError(f"{urlsplit(error.url).netloc} answers {error.code} {error.reason}{needs}") from None
    except (HTTPException, OSError, ValueError, yaml.YAMLError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise RegistryError(str(reason)) from None


def located(image: str) -> tuple[str, str, str]:
    """Registry, repository and tag of an image's name: ``nginx`` is ``docker.io/library/nginx:latest``."""
    name, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        name, tag = image, "latest"
    host, slash, path = name.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, path = "docker.io", name
    if host == "docker.io":
        return _HUB, path if "/" in path else f"library/{path}", tag
    return host, path, tag


def _manifest(registry: str, repository: str, tag: str) -> str:
    # A tag has no `+`: https://helm.sh/docs/topics/registries/
    url = f"{_scheme(registry)}://{registry}/v2/{repository}/manifests/{tag.replace('+', '_')}"
    headers = {"Accept": _MANIFESTS}
    try:
        body, answered = _get(url, headers)
    except HTTPError as error:
        if error.code != 401:
            raise
        token = _token(error.headers.get("WWW-Authenticate") or "")
        body, answered = _get(url, {**headers, "Authorization": f"Bearer {token}"})
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    claimed = answered.get("docker-content-digest") or digest
    if claimed.startswith("sha256:") and claimed != digest:
        raise RegistryError(f"{registry} says {claimed} of content that is {digest}")
    return digest


def _token(challenge: str) -> str:
    """For everybody, by https://distribution.github.io/distribution/spec/auth/token/."""
    fields = dict(_CHALLENGE.findall(challenge))
    if not challenge.lower().startswith("bearer ") or "realm" not in fields:
        raise RegistryError("it needs a login, so write the row by hand")
    wanted = {key: fields[key] for key in ("service", "scope") if key in fields}
    body, _ = _get(f"{fields['realm']}?{urlencode(wanted)}", {})
    answer: Any = json.loads(body)
    token = answer.get("token") or answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str):
        raise RegistryError(f"{urlsplit(fields['realm']).netloc} gives no token")
    return token


def _indexed(chart: str, version: str) -> str:
    """The hash of a chart's archive, as the repository's ``index.yaml`` has it, and as its archive is."""
    repository, _, name = chart.rpartition("/")
    body, _ = _get(f"{repository}/index.yaml", {})
    index: Any = yaml.load(body, _LOADER)  # noqa: S506 (it makes texts alone)
    for entry in (index.get("entries") or {}).get(name) or ():
        if str(entry.get("version")).removeprefix("v") == version.removeprefix("v"):
            url = urljoin(f"{repository}/", entry["urls"][0])
            archive = f"sha256:{_hash_of(url)}"
            listed = _DIGEST.fullmatch(str(entry.get("digest") or ""))
            if listed and f"sha256:{listed[1]}" != archive:
                raise RegistryError(f"index.yaml says sha256:{listed[1]}, {url} is {archive}")
            return archive
    raise RegistryError(f"{repository}/index.yaml has no {name} {version}")


def _plugin(name: str, folder: str) -> str:
    """The hash of its archive, which ``pulumi plugin install --checksum`` compares."""
    package, version, platform = name.split(" ")
    return f"sha256:{_hash_of(f'{folder}/pulumi-resource-{package}-v{version}-{platform}.tar.gz')}"


class _OnlySafe(HTTPRedirectHandler):
    """Follows a redirect to https, and on this machine to http. Tokens stay with who they are for."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        _checked(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _get(url: str, headers: Mapping[str, str]) -> tuple[bytes, Mapping[str, str]]:
    answered: dict[str, str] = {}
    body = b"".join(_parts(url, headers, answered))
    return body, answered


def _hash_of(url: str) -> str:
    digest = hashlib.sha256()
    for part in _parts(url, {}, {}, limited=False):
        digest.update(part)
    return digest.hexdigest()


def _parts(url: str, headers: Mapping[str, str], answered: dict[str, str], limited: bool = True) -> Iterator[bytes]:
    request = Request(_checked(url))  # noqa: S310 (checked)
    for key, value in headers.items():
        request.add_unredirected_header(key, value)
    with build_opener(_OnlySafe).open(request, timeout=_SECONDS) as response:
        answered.update({key.lower(): value for key, value in response.headers.items()})
        size = 0
        while part := response.read(_PART):
            size += len(part)
            if limited and size > _LARGEST:
                raise RegistryError(f"{url} answers more than {_LARGEST} bytes")
            yield part
        if (length := response.headers.get("Content-Length")) is not None and int(length) != size:
            raise RegistryError(f"{url} ends after {size} of {length} bytes")


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")):
        raise RegistryError(f"{url} is not https")
    return url


def _scheme(registry: str) -> str:
    return "http" if registry.rpartition(":")[0] in _LOOPBACK else "https"
