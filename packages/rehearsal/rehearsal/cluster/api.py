"""The rehearsal's client of the Kubernetes API, thread-safe: plain dicts in and out.

Connections and credentials are those of ``gpu``, with less of this machine (``rehearsal/cluster/kubeconfig.py``).
"""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3
from urllib3.exceptions import HTTPError

from facts.concepts.rest import admission_warnings, failure, resource_path
from gpu.api.shared import JSON, Connection, KubeconfigError, NoAnswerError, answering
from rehearsal.cluster.kubeconfig import Kubeconfig, environment

Object = dict[str, Any]

FIELD_MANAGER: Final = "gpucluster-rehearsal"

_CONNECTIONS: Final = 32
_TIMEOUT: Final = (5.0, 60.0)
_BUSY_SECONDS: Final = 0.2

_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_MERGE: Final = "application/merge-patch+json"
_SOURCE: Final = "fleet"
_LONGEST_MESSAGE: Final = 1024
"""The API server refuses longer ones (events.k8s.io/v1 limits its note to 1 kB; core/v1 keeps to it)."""


class ApiError(Exception):
    """The API server's refusal, in its own words. ``status`` is the HTTP status, ``reason`` e.g. ``NotFound``."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NoSuchKindError(ApiError):
    """The API server does not serve the kind: usually its CustomResourceDefinition is not there (yet)."""


class UnreachableError(HTTPError):
    """No answer from the API server, or none that can be trusted."""


@dataclass(frozen=True)
class ApiResource:
    """Where the objects of a kind live."""

    version: str
    plural: str
    namespaced: bool

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """The path of one object, or of all in ``namespace``, or of all."""
        return resource_path(self.version, self.plural, name, namespace if self.namespaced else None)


class Api:
    """One cluster, as one user. The server may take 5 s to accept a connection and 60 s between two bytes."""

    def __init__(self, kubeconfig: Kubeconfig, path: Sequence[Path] = (), trusted: Path | None = None) -> None:
        """Get the user's credentials, for which plugins are searched in ``path`` first; the server is not asked yet.

        Raises KubeconfigError: the certificates or the credentials cannot be had.
        """
        if kubeconfig.anonymous:
            raise KubeconfigError(
                f"{kubeconfig.user_at} has neither a token nor a client certificate nor a credential plugin (exec)"
            )
        self._resources: dict[str, dict[str, ApiResource]] = {}
        self._connection = Connection(
            kubeconfig,
            environment(path),
            timeout=_TIMEOUT,
            trusted=trusted,
            pause=_BUSY_SECONDS,
            connections=_CONNECTIONS,
        )
        proxy = self._connection.proxy
        self._where = f"{kubeconfig.server} (through the proxy {proxy})" if proxy else kubeconfig.server

    def ready(self) -> bool:
        """Whether the API server answers that it is ready."""
        try:
            self._exchange("GET", "/readyz")
        except (ApiError, UnreachableError):
            return False
        return True

    def version(self) -> str:
        """The API server's own version, with ``v``."""
        return str(self.get("/version")["gitVersion"])

    def get(self, path: str, **query: str) -> Object:
        """One object, or a whole List."""
        return self._send("GET", path, query=query)

    def text(self, path: str) -> str:
        """What is no object, e.g. a pod's log."""
        return self._exchange("GET", path).data.decode(errors="replace")

    def find(self, path: str, **query: str) -> Object | None:
        """Like ``get``, but ``None`` for what does not exist."""
        try:
            return self.get(path, **query)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str, **query: str) -> list[Object]:
        """The items of a List, e.g. ``labelSelector="app=x"``."""
        return self.get(path, **query).get("items") or []

    def create(self, path: str, body: Object) -> Object:
        """Create the object in the collection ``path``; returns it as stored."""
        return self._send("POST", path, body, query={"fieldManager": FIELD_MANAGER})

    def submit(self, path: str, body: Object, **query: str) -> tuple[Object, tuple[str, ...]]:
        """Like ``create``, with the API server's admission warnings, as ``kubectl`` prints them."""
        return _with_warnings(self._exchange("POST", path, body, query=query))

    def submit_apply(self, path: str, body: Object) -> tuple[Object, tuple[str, ...]]:
        """Like ``apply``, with the API server's admission warnings."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return _with_warnings(self._exchange("PATCH", path, body, _APPLY, query))

    def merge(self, path: str, body: Object) -> Object:
        """JSON merge patch."""
        return self._send("PATCH", path, body, content_type=_MERGE, query={"fieldManager": FIELD_MANAGER})

    def merge_if_there(self, path: str, body: Object) -> None:
        """Like ``merge``; what does not exist (any more) is left so."""
        try:
            self.merge(path, body)
        except ApiError as error:
            if error.status != 404:
                raise

    def apply(
        self, path: str, body: Object, *, manager: str = FIELD_MANAGER, force: bool = True, **query: str
    ) -> Object:
        """Server-side apply; what ``manager`` owns of the object becomes exactly ``body``.

        Raises ApiError: 409 names the fields that another manager owns, unless ``force``; 422 what is invalid.
        """
        query = {"fieldManager": manager, "force": str(force).lower(), **query}
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

        Raises NoSuchKindError: the cluster does not know the kind.
        """
        resource, place = self.resource(manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
        return self.apply(resource.path(place["name"], place.get("namespace", "default")), manifest)

    def permits(self, user: str, groups: Sequence[str], attributes: Mapping[str, str]) -> bool:
        """Whether the cluster permits a request with these ``resourceAttributes`` to an authenticated user.

        https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
        """
        version = "authorization.k8s.io/v1"
        spec = {"user": user, "groups": [*groups, "system:authenticated"], "resourceAttributes": dict(attributes)}
        review = {"apiVersion": version, "kind": "SubjectAccessReview", "spec": spec}
        return bool(self.create(f"/apis/{version}/subjectaccessreviews", review)["status"]["allowed"])

    def watch(self, path: str, resource_version: str, seconds: int = 5) -> Iterator[tuple[str, Object]]:
        """(event type, object) pairs; the server ends the stream after ``seconds``.

        Raises ApiError: with status 410 if ``resource_version`` is too old; list again.
        """
        query = {
            "watch": "1",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }
        response = self._exchange("GET", path, query=query, stream=True)
        with contextlib.closing(response), self._reachable():
            for line in _lines(response):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                yield event["type"], event["object"]

    def resource(self, version: str, kind: str) -> ApiResource:
        """Where ``kind`` lives, by discovery. A kind once missing is looked up again.

        Raises NoSuchKindError: the cluster does not know the kind.
        """
        resource_type = self._resources.get(version, {}).get(kind)
        if resource_type is None:
            served = self.find(resource_path(version, "")) or {"resources": []}
            self._resources[version] = {
                each["kind"]: ApiResource(version, each["name"], bool(each["namespaced"]))
                for each in served["resources"]
                if "/" not in each["name"]
            }
            resource_type = self._resources[version].get(kind)
        if resource_type is None:
            message = f"no matches for kind {kind!r} in version {version!r}; create its CustomResourceDefinition first"
            raise NoSuchKindError(404, "NotFound", message)
        return resource_type

    def _send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> Object:
        return json.loads(self._exchange(method, path, body, content_type, query).data)

    def _exchange(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
        *,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        with self._reachable():
            try:
                response = self._connection.request(
                    method, path, body, query=query, content_type=content_type, stream=stream
                )
            except KubeconfigError as error:
                raise ApiError(401, "Unauthorized", str(error)) from error
            if response.status >= 400:
                raise _error(response.status, response.data)
        return response

    @contextlib.contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            with answering():
                yield
        except NoAnswerError as error:
            raise UnreachableError(f"the API server at {self._where} does not answer: {error}") from error


def _with_warnings(response: urllib3.BaseHTTPResponse) -> tuple[Object, tuple[str, ...]]:
    return json.loads(response.data), admission_warnings(response.headers.getlist("Warning"))


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _error(status: int, data: bytes) -> ApiError:
    message, reason = failure(data) or (data.decode(errors="replace").strip() or "no message", "")
    if status == 401:
        message += " (the kubeconfig's credentials were not accepted)"
    return ApiError(status, reason, message)


def condition(item: Mapping[str, Any], kind: str) -> bool:
    """Whether the object's condition ``kind`` is True."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def pod_path(pod: Object) -> str:
    """The path of a pod that is known."""
    return resource_path("v1", "pods", pod["metadata"]["name"], pod["metadata"]["namespace"])


def timestamp() -> str:
    """The time as Kubernetes writes it, in whole seconds."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def warn(
    api: Api, about: Mapping[str, Any], reason: str, message: str, labels: Mapping[str, str] | None = None
) -> None:
    """Create a Warning about a Node or a Pod, by the machines.

    Their reasons are in ``rehearsal/simulation.py``, for those who read them.
    """
    report_event(api, about, reason, message, labels)


def report_event(
    api: Api,
    about: Mapping[str, Any],
    reason: str,
    message: str,
    labels: Mapping[str, str] | None = None,
    *,
    type: str = "Warning",
    source: str = _SOURCE,
) -> None:
    """Create an event about a Node or a Pod, in that object's namespace (a Node's are in ``default``)."""
    now = timestamp()
    metadata = about["metadata"]
    namespace = metadata.get("namespace")
    subject = {"apiVersion": "v1", "kind": "Pod" if namespace else "Node"}
    subject |= {"name": metadata["name"], "uid": metadata["uid"]} | ({"namespace": namespace} if namespace else {})
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "generateName": f"{metadata['name']}.",
            "namespace": namespace or "default",
            "labels": dict(labels or {}),
        },
        "type": type,
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "involvedObject": subject,
        "source": {"component": source},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    api.create(resource_path("v1", "events", namespace=namespace or "default"), event)
