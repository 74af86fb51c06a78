"""The cluster as a user's kubeconfig reaches it: plain objects in and out, failures in words."""

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
_JSON: Final = "application/json"


class ClusterError(Exception):
    """The cluster cannot be used, or refuses; the message says what to do. ``status`` is HTTP's, 0 with no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Reply:
    """An object as it is stored, and the warnings of the cluster's admission."""

    stored: Object
    warnings: tuple[str, ...] = ()


class ClusterClient:
    """One cluster, by a context of the kubeconfig; the current one unless named."""

    def __init__(self, context: str | None = None) -> None:
        """Read the kubeconfig; the cluster is not asked yet.

        Raises:
            ClusterError: there is no kubeconfig, no such context, or its credentials cannot be had.
        """
        # The library takes a second to load: `gpu --help` and errors in arguments do without it.
        from kubernetes import config

        try:
            listed: Any = config.list_kube_config_contexts()
        except (config.ConfigException, OSError) as error:
            raise ClusterError(f"no usable kubeconfig: {error}; set KUBECONFIG to the stack's") from error
        contexts, current = listed
        known = {each["name"]: each for each in contexts}
        if context is not None and context not in known:
            raise ClusterError(
                f"--context {context}: there is no such context; write one of {', '.join(sorted(known))}"
            )
        chosen = known[context] if context is not None else current
        self.context: str = chosen["name"]
        self.namespace: str = chosen["context"].get("namespace") or "default"
        self.others: int = len(known) - 1
        """Contexts that the kubeconfig has besides."""

    @cached_property
    def _client(self) -> ApiClient:
        from kubernetes import config

        try:
            return config.new_client_from_config(context=self.context)
        except (config.ConfigException, OSError, subprocess.SubprocessError) as error:
            raise ClusterError(f"context {self.context}: {error}") from error

    def offer(self) -> Offer:
        """What the cluster offers.

        Raises:
            ClusterError: it is not a cluster of ours, or of an older program.
            OfferError: what is published cannot be read.
        """
        found = self.find(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}")
        if found is None:
            raise ClusterError(
                f"context {self.context}: the cluster publishes no pools (ConfigMap {NAMESPACE}/{CONFIG_MAP}); it is "
                "another cluster (choose one with --context), or its program is older: run `pulumi up`",
                404,
            )
        return from_config_map(found)

    def get(self, path: str, **query: str) -> Object:
        """One object or a List. Raises ClusterError."""
        return self._send("GET", path, query=query).stored

    def find(self, path: str) -> Object | None:
        """Like ``get``, but ``None`` for what does not exist, whatever else is refused raises."""
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
        """Like ``list``, but ``None`` where the user may not see it, or the cluster knows no such kind."""
        try:
            return self.list(path, **query)
        except ClusterError as error:
            if error.status in (403, 404):
                return None
            raise

    def create(self, manifest: Object) -> Reply:
        """Create a namespaced object as its manifest says."""
        return self._send("POST", collection(manifest), manifest)

    def delete(self, path: str) -> None:
        """Delete, with what depends on it; what is gone already is fine."""
        try:
            self._send("DELETE", path, {"propagationPolicy": "Background"})
        except ClusterError as error:
            if error.status != 404:
                raise

    def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
        """What a pod has said, each line with its time as the node wrote it; with ``since``, one of these times, only
        what follows it.

        Raises:
            ClusterError: the container has not started, or its node is gone and the log with it (404).
        """
        query = {"timestamps": "true", **({"sinceTime": since} if since else {})}
        text = self._exchange("GET", f"{pod_path(namespace, pod)}/log", query=query).data.decode(errors="replace")
        lines = [(time, said) for line in text.splitlines() for time, _, said in [line.partition(" ")]]
        # The server looks at seconds: what was there already comes again.
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
            raise self._refused(error) from error
        except (HTTPError, OSError) as error:
            reason = str(getattr(error, "reason", error)).rpartition("): ")[2]
            raise ClusterError(
                f"context {self.context}: the cluster does not answer: {reason}; is this the right context, and are "
                "you connected to its network?"
            ) from error
        return answer[0] if isinstance(answer, tuple) else answer

    def _refused(self, error: Any) -> ClusterError:
        message, _ = failure(error.body) or (str(error.reason), "")
        if error.status == 401:
            message = f"context {self.context}: your credentials were not accepted; log in to the cloud again"
        if error.status == 403 and "forbidden: User" in message:
            message += "; ask the cluster's administrator for the role `edit` in the namespace"
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
    """Where an object of ours (a Job, a Service) is created."""
    return resource_path(
        manifest["apiVersion"], manifest["kind"].lower() + "s", None, manifest["metadata"]["namespace"]
    )
