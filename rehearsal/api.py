"""A small, thread-safe client of the Kubernetes API for the simulator's own use: plain dicts in and out.

The official client costs more than a second of CPU to import and turns every object into classes; the simulator
reads thousands of nodes and needs neither.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import urllib3

Object = dict[str, Any]

FIELD_MANAGER: Final = "gpucluster-rehearsal"

_BUSY_RETRIES: Final = 50
_BUSY_SECONDS: Final = 0.2

# https://datatracker.ietf.org/doc/html/rfc7234#section-5.5; Kubernetes always uses code 299.
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_MERGE: Final = "application/merge-patch+json"


class ApiError(Exception):
    """The API server's refusal, in its own words. ``status`` is the HTTP status, ``reason`` e.g. ``NotFound``."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Api:
    """One cluster. ``host`` is ``127.0.0.1:PORT``; requests time out after 30 s, watches do not."""

    def __init__(self, host: str, ca: Path, token: str) -> None:
        self._base = f"https://{host}"
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}
        self._pool = urllib3.PoolManager(
            ca_certs=str(ca),
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            maxsize=8,
            timeout=urllib3.Timeout(connect=2.0, read=30.0),
            retries=False,
        )

    def ready(self) -> bool:
        """Whether the API server answers that it is ready."""
        try:
            return bool(self._pool.request("GET", self._base + "/readyz").status == 200)
        except urllib3.exceptions.HTTPError:
            return False

    def get(self, path: str, **query: str) -> Object:
        """One object, or a whole List."""
        return self._send("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """Like ``get``, but ``None`` for what does not exist."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str, **query: str) -> list[Object]:
        """The items of a List, e.g. ``labelSelector="app=x"``."""
        items: list[Object] = self.get(path, **query)["items"]
        return items

    def create(self, path: str, body: Object) -> Object:
        """Create the object in the collection ``path``; returns it as stored."""
        return self._send("POST", path, body, query={"fieldManager": FIELD_MANAGER})

    def submit(self, path: str, body: Object) -> tuple[Object, tuple[str, ...]]:
        """Like ``create``, with the API server's admission warnings, as ``kubectl`` prints them."""
        response = self._exchange("POST", path, body, content_type="application/json", query={})
        said = [text for header in response.headers.getlist("Warning") for text in _WARNING.findall(header)]
        return json.loads(response.data), tuple(text.replace('\\"', '"') for text in said)

    def merge(self, path: str, body: Object) -> Object:
        """JSON merge patch."""
        return self._send("PATCH", path, body, content_type=_MERGE, query={"fieldManager": FIELD_MANAGER})

    def apply(self, path: str, body: Object) -> Object:
        """Server-side apply; the object becomes exactly what this client says about it."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self._send("PATCH", path, body, content_type=_APPLY, query=query)

    def delete(self, path: str, **options: Any) -> None:
        """Delete; what is gone already is fine. ``options`` are DeleteOptions, e.g. ``gracePeriodSeconds=0``."""
        try:
            self._send("DELETE", path, {"propagationPolicy": "Background", **options})
        except ApiError as error:
            if error.status != 404:
                raise

    def apply_manifest(self, manifest: Object) -> Object:
        """Server-side apply of any manifest; ``metadata.namespace`` defaults to ``default`` where it applies.

        Raises:
            ApiError: also with status 404 if the cluster does not know the kind.
        """
        version, kind = manifest["apiVersion"], manifest["kind"]
        plural, namespaced = self._resource(version, kind)
        namespace = manifest["metadata"].get("namespace", "default") if namespaced else None
        return self.apply(resource_path(version, plural, manifest["metadata"]["name"], namespace), manifest)

    def watch(self, path: str, resource_version: str, seconds: int = 5) -> Iterator[tuple[str, Object]]:
        """(event type, object) pairs; the server ends the stream after ``seconds``.

        Raises:
            ApiError: with status 410 if ``resource_version`` is too old; list again.
        """
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }
        response = self._pool.request("GET", self._base + path, fields=query, preload_content=False)
        try:
            if response.status != 200:
                raise _error(response.status, response.read())
            for line in _lines(response):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                yield event["type"], event["object"]
        finally:
            response.close()

    def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        """(plural, namespaced) of a kind, by discovery."""
        if (version, kind) not in self._plurals:
            for resource in self.get(resource_path(version, ""))["resources"]:
                if "/" not in resource["name"]:
                    self._plurals[version, resource["kind"]] = (resource["name"], resource["namespaced"])
        try:
            return self._plurals[version, kind]
        except KeyError:
            raise ApiError(404, "NotFound", f"the cluster has no kind {kind} in {version}") from None

    def _send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        result: Object = json.loads(self._exchange(method, path, body, content_type, query or {}).data)
        return result

    def _exchange(
        self, method: str, path: str, body: Object | None, content_type: str, query: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        url = self._base + path
        if query:
            url += "?" + "&".join(f"{key}={quote(value)}" for key, value in query.items())
        headers = {**self._pool.headers, "Content-Type": content_type}
        data = None if body is None else json.dumps(body)
        response = self._pool.request(method, url, body=data, headers=headers)
        for _ in range(_BUSY_RETRIES):
            if response.status != 429 or "Retry-After" not in response.headers:
                break
            # Asked to come back: the server is overloaded, or a new kind's storage is not ready yet.
            time.sleep(_BUSY_SECONDS)
            response = self._pool.request(method, url, body=data, headers=headers)
        if response.status >= 400:
            raise _error(response.status, response.data)
        return response


def resource_path(version: str, plural: str, name: str | None = None, namespace: str | None = None) -> str:
    """``("apps/v1", "daemonsets", "x", "y")`` → ``/apis/apps/v1/namespaces/y/daemonsets/x``."""
    parts = ["/apis" if "/" in version else "/api", version]
    if namespace is not None:
        parts += ["namespaces", namespace]
    return "/".join(part for part in (*parts, plural, name) if part)


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _error(status: int, data: bytes) -> ApiError:
    try:
        body = json.loads(data)
        return ApiError(status, body.get("reason", ""), body.get("message", ""))
    except ValueError:
        return ApiError(status, "", data.decode(errors="replace").strip())
