"""A client for the cluster of the user's kubeconfig: plain objects in and out, errors for users."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from facts.concepts.offer import CONFIG_MAP, NAMESPACE, Offer, from_config_map
from facts.concepts.rest import admission_warnings, failure, resource_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Object = dict[str, Any]

_TIMEOUT: Final = (10, 60)
"""Seconds to connect, and between two bytes."""
_RETRIES: Final = 1
"""urllib3's own three would take 40 seconds until a cluster counts as unreachable."""
_JSON: Final = "application/json"


class ClusterError(Exception):
    """Unreachable, or a request was refused; the message says what to do. ``status``: HTTP, 0 without answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Reply:
    """An object as stored, and the warnings of admission."""

    stored: Object
    warnings: tuple[str, ...] = ()


def _contexts() -> tuple[list[Object], Object]:
    """All contexts of the kubeconfig, and the current one. Raises ClusterError."""
    # Imported late: it takes a second to load, and `gpu --help` does not need it.
    from kubernetes import config

    try:
        listed: Any = config.list_kube_config_contexts()
    except (config.ConfigException, OSError) as error:
        raise ClusterError(f"no usable kubeconfig: {error}; set KUBECONFIG to the stack's kubeconfig") from error
    contexts, current = listed
    return contexts, current


def all_clusters(namespace: str | None = None) -> list[ClusterClient]:
    """A client of each cluster of the kubeconfig, the current one first; of several contexts of a cluster the first.

    ``namespace`` is that of all of them; default: each context's own.

    Raises:
        ClusterError: no usable kubeconfig.
    """
    contexts, current = _contexts()
    by_cluster: dict[str, str] = {}
    for each in (current, *contexts):
        by_cluster.setdefault(each["context"]["cluster"], each["name"])
    return [ClusterClient(context, namespace) for context in by_cluster.values()]


class ClusterClient:
    """One cluster, by a context of the kubeconfig, and a namespace of it. Default: the current context, and its own."""

    option: str = ""
    """What other commands need to find this cluster: ``--context`` if it is not the current one."""

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        """Read the kubeconfig, without a request to the cluster.

        Raises:
            ClusterError: no kubeconfig, no such context, or no credentials.
        """
        contexts, current = _contexts()
        known = {each["name"]: each for each in contexts}
        if context is not None and context not in known:
            raise ClusterError(f"--context {context}: no such context; write one of {', '.join(sorted(known))}")
        chosen = known[context] if context is not None else current
        self.context: str = chosen["name"]
        self.namespace: str = namespace or chosen["context"].get("namespace") or "default"
        self.option = "" if chosen["name"] == current["name"] else f" --context {chosen['name']}"
        self.others: int = len(known) - 1
        """Number of other contexts in the kubeconfig."""

    @cached_property
    def _client(self) -> ApiClient:
        from kubernetes import client, config

        settings = client.Configuration()
        vars(settings)["retries"] = _RETRIES  # whose type is declared to be None
        try:
            return config.new_client_from_config(context=self.context, client_configuration=settings)
        except (config.ConfigException, OSError, subprocess.SubprocessError) as error:
            raise ClusterError(f"context {self.context}: {error}") from error

    def offer(self) -> Offer:
        """The GPU pools that the cluster publishes, and what jobs can use beside them.

        Raises:
            ClusterError: another kind of cluster, or an older version of the program.
            OfferError: the ConfigMap is unreadable.
        """
        config_map = self.find(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}")
        if config_map is None:
            raise ClusterError(
                f"context {self.context}: no ConfigMap {NAMESPACE}/{CONFIG_MAP}: this is another cluster (choose with "
                "--context), or its stack is older (run `pulumi up`)",
                404,
            )
        return from_config_map(config_map)

    def get(self, path: str, **query: str) -> Object:
        """One object or a List. Raises ClusterError."""
        return self._send("GET", path, query=query).stored

    def find(self, path: str) -> Object | None:
        """Like ``get``, but ``None`` if the object does not exist."""
        try:
            return self.get(path)
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str, **query: str) -> list[Object]:
        """A List's items; each may lack ``kind``."""
        items: list[Object] = self.get(path, **query).get("items") or []
        return items

    def list_if_allowed(self, path: str, **query: str) -> list[Object] | None:
        """Like ``list``, but ``None`` if the user may not list it, or the cluster has no such kind."""
        try:
            return self.list(path, **query)
        except ClusterError as error:
            if error.status in (403, 404):
                return None
            raise

    def create(self, manifest: Object) -> Reply:
        """Create a namespaced object from its manifest."""
        return self._send("POST", collection(manifest), manifest)

    def delete(self, path: str) -> None:
        """Delete an object and its dependents; one that does not exist is no error."""
        try:
            self._send("DELETE", path, {"propagationPolicy": "Background"})
        except ClusterError as error:
            if error.status != 404:
                raise

    def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
        """A pod's log: (time, line), the time as the node wrote it. ``since``, one of these times: only later lines.

        Raises:
            ClusterError: the container has not started, or its node was deleted with the log (404).
        """
        query = {"timestamps": "true", **({"sinceTime": since} if since else {})}
        text = self._exchange("GET", f"{pod_path(namespace, pod)}/log", query=query).data.decode(errors="replace")
        lines = [(time, content) for line in text.splitlines() for time, _, content in [line.partition(" ")]]
        # The server compares whole seconds, so known lines are returned again.
        known = max((index for index, (time, _) in enumerate(lines) if time == since), default=-1)
        return lines[known + 1 :]

    def _send(
        self, method: str, path: str, body: Object | None = None, query: Mapping[str, str] | None = None
    ) -> Reply:
        response = self._exchange(method, path, body, query)
        warnings = response.headers.getlist("Warning") if hasattr(response.headers, "getlist") else ()
        return Reply(json.loads(response.data), admission_warnings(warnings))

    def _exchange(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer: Any = self._client.call_api(
                path,
                method,
                query_params=list((query or {}).items()),
                header_params={"Accept": "*/*" if path.endswith("/log") else _JSON, "Content-Type": _JSON},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=_TIMEOUT,
            )
        except ApiException as error:
            raise self._refused(error, method) from error
        except (HTTPError, OSError) as error:
            cause = getattr(error, "reason", error)
            # urllib3 puts the connection or the pool before its message.
            reason = str((cause.args or (cause,))[-1]).rpartition("): ")[2].rpartition("] ")[2]
            raise ClusterError(
                f"context {self.context}: no answer from the cluster: {reason}. Check the context, and your connection "
                "to its network"
            ) from error
        return answer[0] if isinstance(answer, tuple) else answer

    def _refused(self, error: Any, method: str) -> ClusterError:
        message, _ = failure(error.body) or (str(error.reason), "")
        if error.status == 401:
            message = f"context {self.context}: credentials rejected; log in to the cloud again"
        if error.status == 403 and "forbidden: User" in message:
            role = "view" if method == "GET" else "edit"
            message += f"; ask the administrator for the role `{role}` in the namespace"
        return ClusterError(message, int(error.status or 0))


def pod_path(namespace: str, name: str = "") -> str:
    """The path of a pod, or of all pods of a namespace."""
    return resource_path("v1", "pods", name, namespace)


def job_path(namespace: str, name: str = "") -> str:
    """The path of a Job, or of all Jobs of a namespace."""
    return resource_path("batch/v1", "jobs", name, namespace)


def event_path(namespace: str) -> str:
    """The path of a namespace's events."""
    return resource_path("v1", "events", None, namespace)


def collection(manifest: Mapping[str, Any]) -> str:
    """The path where an object with this manifest (a Job, a Service) is created."""
    return resource_path(
        manifest["apiVersion"], manifest["kind"].lower() + "s", None, manifest["metadata"]["namespace"]
    )
