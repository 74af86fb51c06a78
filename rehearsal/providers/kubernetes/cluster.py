"""One cluster through the official Python client: discovery, server-side apply, reads, deletion."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.kubernetes.manifest import Kind

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration

_CONNECTIONS: Final = 32
_TIMEOUT_SECONDS: Final = (5.0, 60.0)
"""To connect, and to read one answer."""

_PATCH: Final = "application/apply-patch+yaml"
_JSON_PATCH: Final = "application/json-patch+json"


class ApiError(Exception):
    """The API server's refusal, in its own words: HTTP ``status``, machine-readable ``reason``, and the message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason

    @property
    def immutable(self) -> bool:
        """Whether a field cannot be changed in place."""
        return self.status == 422 and "immutable" in str(self)


class NoSuchKindError(ApiError):
    """The API server does not serve the kind: usually its CustomResourceDefinition is not there (yet)."""


class UnreachableError(Exception):
    """No answer from the API server, or none that can be trusted."""


@dataclass(frozen=True)
class ApiResource:
    """Where the objects of a kind live."""

    path: str
    plural: str
    namespaced: bool

    def url(self, name: str | None = None, namespace: str | None = None) -> str:
        """The path of one object, or of all in ``namespace``, or of all."""
        parts = [self.path]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        return "/".join([*parts, quote(name, safe="")] if name else parts)


class Cluster:
    """The cluster of one kubeconfig. Thread-safe; connects at the first call."""

    def __init__(self, kubeconfig: Mapping[str, Any]) -> None:
        self._kubeconfig = kubeconfig
        self._lock = threading.Lock()
        self._client: ApiClient | None = None
        self._resources: dict[str, dict[str, ApiResource]] = {}

    @property
    def server(self) -> str:
        """The API server's URL."""
        return str(self._connected().configuration.host)

    @property
    def namespace(self) -> str:
        """The namespace of the current context, ``default`` where it names none."""
        current = self._kubeconfig.get("current-context")
        for context in self._kubeconfig.get("contexts") or []:
            if context.get("name") == current:
                return str((context.get("context") or {}).get("namespace") or "default")
        return "default"

    def resource(self, kind: Kind) -> ApiResource:
        """Where ``kind`` lives. Raises ``NoSuchKindError``; a kind once missing is looked up again."""
        found = self._resources.get(kind.api_version, {}).get(kind.kind)
        if found is not None:
            return found
        path = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
        try:
            served = self._call("GET", path)["resources"]
        except ApiError as error:
            if error.status != 404:
                raise
            served = []
        resources = {
            each["kind"]: ApiResource(path, each["name"], bool(each["namespaced"]))
            for each in served
            if "/" not in each["name"]
        }
        if kind.kind not in resources:
            message = f"no matches for kind {kind.kind!r} in version {kind.api_version!r}"
            raise NoSuchKindError(404, "NotFound", f"{message}; create its CustomResourceDefinition first")
        self._resources[kind.api_version] = resources
        return resources[kind.kind]

    def get(self, kind: Kind, name: str, namespace: str | None) -> Properties:
        """The live object. Raises ``ApiError`` (404 if it is gone)."""
        return self._call("GET", self.resource(kind).url(name, namespace))

    def list(self, kind: Kind, namespace: str | None = None, **selectors: str) -> list[Properties]:
        """The live objects; ``selectors`` are ``labelSelector`` and ``fieldSelector``."""
        found = self._call("GET", self.resource(kind).url(namespace=namespace), tuple(selectors.items()))
        items: list[Properties] = found.get("items") or []
        return items

    def apply(self, kind: Kind, manifest: Properties, *, manager: str, force: bool, dry_run: bool) -> Properties:
        """Server-side apply of ``manifest``; fields that the schema does not know are errors.

        Raises ``ApiError``: 409 names the fields that another manager owns, 422 what is invalid.
        """
        place = manifest["metadata"]
        query = [("fieldManager", manager), ("force", str(force).lower()), ("fieldValidation", "Strict")]
        if dry_run:
            query.append(("dryRun", "All"))
        url = self.resource(kind).url(place["name"], place.get("namespace"))
        return self._call("PATCH", url, query, manifest, _PATCH)

    def relinquish(self, kind: Kind, name: str, namespace: str | None, manager: str) -> None:
        """Give up ``manager``'s ownership of its fields; their values stay."""
        live = self.get(kind, name, namespace)["metadata"]
        others = [entry for entry in live.get("managedFields") or [] if entry.get("manager") != manager]
        patch = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": live["resourceVersion"]},
            {"op": "replace", "path": "/metadata/managedFields", "value": others or [{}]},
        ]
        self._call("PATCH", self.resource(kind).url(name, namespace), body=patch, content_type=_JSON_PATCH)

    def delete(self, kind: Kind, name: str, namespace: str | None, propagation: str) -> None:
        """Start the deletion. Raises ``ApiError`` (404 if it is gone already)."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        self._call("DELETE", self.resource(kind).url(name, namespace), body=options)

    def _connected(self) -> ApiClient:
        with self._lock:
            if self._client is None:
                # Here, not above: the package takes more than a second to import.
                from kubernetes.client import Configuration
                from kubernetes.config import ConfigException, new_client_from_config_dict

                configuration = Configuration()
                configuration.connection_pool_maxsize = _CONNECTIONS
                try:
                    self._client = new_client_from_config_dict(
                        dict(self._kubeconfig), persist_config=False, client_configuration=configuration
                    )
                except ConfigException as error:
                    raise ProviderError(f"the kubeconfig cannot be used: {error}") from error
                self._require_credentials(configuration)
            return self._client

    def _require_credentials(self, configuration: Configuration) -> None:
        """Refuse to go on as nobody: the client only logs that an exec plugin failed."""
        for user in self._kubeconfig.get("users") or []:
            command = (user.get("user") or {}).get("exec")
            if command and not configuration.api_key and not configuration.cert_file:
                self._client = None
                raise ProviderError(
                    f"the kubeconfig's credential plugin {command.get('command')} gave no credentials; "
                    "is it on PATH, and does it run?"
                )

    def _call(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: Any = None,
        content_type: str = "application/json",
    ) -> Properties:
        from urllib3.exceptions import HTTPError

        client = self._connected()
        request = client.param_serialize(
            method,
            path,
            query_params=list(query),
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = client.call_api(*request, _request_timeout=_TIMEOUT_SECONDS)
            answer: bytes = response.read()
        except HTTPError as error:
            # The connection's description ahead of the reason repeats the address.
            reason = str(getattr(error, "reason", None) or error).rpartition("): ")[2]
            raise UnreachableError(
                f"the API server at {client.configuration.host} does not answer: {reason}"
            ) from error
        if 200 <= response.status < 300:
            parsed: Properties = json.loads(answer)
            return parsed
        raise _refusal(response.status, answer)


def _refusal(status: int, answer: bytes) -> ApiError:
    try:
        parsed = json.loads(answer)
        message, reason = str(parsed["message"]), str(parsed.get("reason", ""))
    except (ValueError, KeyError, TypeError):
        message, reason = answer.decode(errors="replace").strip() or "no message", ""
    if status == 401:
        message += " (the kubeconfig's credentials were not accepted)"
    return ApiError(status, reason, message)
