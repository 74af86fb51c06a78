"""A client for the cluster of the user's kubeconfig: plain objects in and out, errors for users."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from facts.concepts.offer import CONFIG_MAP, NAMESPACE, Offer, from_config_map
from facts.concepts.rest import admission_warnings, failure, resource_path
from facts.concepts.unknown import at
from gpu.api.kubeconfig import IN_CLUSTER, KubeconfigError, Kubeconfigs, KubeContext, of_user, text

if TYPE_CHECKING:
    import urllib3

    from gpu.api.connection import Connection

Object = dict[str, Any]

_TIMEOUT: Final = (10.0, 60.0)
"""Seconds to connect, and between two bytes."""
_PAGE: Final = 500
"""Items of a List in one answer, as kubectl asks: https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks"""
_MOST_PAGES: Final = 2000  # a server may send pages without an end, and empty ones are lawful
_ANONYMOUS: Final = 'User "system:anonymous"'
_COMPLETION: Final = "_GPU_COMPLETE"
"""What the shell sets while it completes a word: nobody is asked anything."""


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


def _kubeconfigs() -> Kubeconfigs:
    """Raises ClusterError."""
    try:
        return of_user(os.environ)
    except KubeconfigError as error:
        raise ClusterError(str(error)) from error


def all_clusters(namespace: str | None = None) -> list[ClusterClient]:
    """A client of each cluster of the kubeconfig, the current one first; of several contexts of a cluster the first.

    ``namespace`` is that of all of them; default: each context's own.

    Raises:
        ClusterError: no usable kubeconfig.
    """
    known = _kubeconfigs()
    by_cluster: dict[str, str] = {}
    for name in sorted(known.contexts, key=lambda each: each != known.current):
        by_cluster.setdefault(str(known.contexts[name][1].get("cluster")), name)
    return [ClusterClient(context, namespace) for context in by_cluster.values()]


class ClusterClient:
    """One cluster, by a context of the kubeconfig, and a namespace of it. Default: the current context, and its own."""

    option: str = ""
    """What other commands need to find this cluster: ``--context`` if it is not the current one."""
    among: str = ""
    """Where something was changed, for messages: `` in context NAME`` if the kubeconfig has several."""
    others: int = 0
    """Number of other contexts in the kubeconfig."""

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        """Read the kubeconfig, without a request to the cluster.

        Raises:
            ClusterError: no kubeconfig, no such context, or no credentials.
        """
        known = self._known = _kubeconfigs()
        names = ", ".join(sorted(known.contexts))
        if not (context or known.current):
            raise ClusterError(f"{known.named}: no current-context; choose a context with --context: {names}")
        if context is not None and context not in known.contexts:
            raise ClusterError(f"--context {context}: no such context; write one of {names}")
        try:
            _, entry = known.context(context)
        except KubeconfigError as error:
            raise ClusterError(str(error)) from error
        self.context: str = context or known.current
        self.namespace: str = namespace or text(entry.get("namespace")) or "default"
        self.option = "" if self.context == known.current else f" --context {self.context}"
        self.others = len(known.contexts) - 1
        self.among = f" in context {self.context}" if self.others else ""

    @property
    def kubectl_place(self) -> tuple[str, ...]:
        """The options by which kubectl finds the cluster and the namespace."""
        context = () if self.context == IN_CLUSTER else ("--context", self.context)
        return (*context, "--namespace", self.namespace)

    @cached_property
    def _login(self) -> KubeContext:
        """Raises KubeconfigError. Late: other commands than those for this cluster do not need it."""
        return self._known.select(self.context)

    @cached_property
    def _connection(self) -> Connection:
        # Imported late: `gpu --help` needs no connection.
        from gpu.api.connection import Connection
        from gpu.api.credentials import Environment

        environment = Environment.of_user(terminal=_COMPLETION not in os.environ)
        return Connection(self._login, environment, timeout=_TIMEOUT)

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

    def user_name(self) -> str:
        """Who the cluster takes this user for; empty where it does not say.

        https://kubernetes.io/docs/reference/access-authn-authz/authentication/#self-subject-review
        """
        version = "authentication.k8s.io/v1"
        review = {"apiVersion": version, "kind": "SelfSubjectReview"}
        try:
            answer = self._send("POST", resource_path(version, "selfsubjectreviews"), review).stored
        except ClusterError as error:
            if error.status in (403, 404):
                return ""
            raise
        return text(at(answer, "status", "userInfo", "username")) or ""

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

    def list(
        self, path: str, *, page: int = _PAGE, keep: Callable[[Object], Object | None] = lambda item: item, **query: str
    ) -> list[Object]:
        """A List's items; each may lack ``kind``. ``keep`` says what of an item is kept, so that no more than a
        ``page`` of whole ones is in memory; ``None``: nothing."""
        kept: list[Object] = []
        asked = {**query, "limit": str(page)}
        for _ in range(_MOST_PAGES):
            try:
                answer = self.get(path, **asked)
            except ClusterError as error:
                # https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses
                if error.status != 410 or "limit" not in asked:
                    raise
                kept, asked = [], query
                continue
            items = answer.get("items") or []
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise self._no_kubernetes()
            kept += [part for item in items if (part := keep(item)) is not None]
            token = text(at(answer, "metadata", "continue"))
            if not token:
                return kept
            asked = {**asked, "continue": token}
        raise self._no_kubernetes()

    def list_if_allowed(
        self, path: str, *, page: int = _PAGE, keep: Callable[[Object], Object | None] = lambda item: item, **query: str
    ) -> list[Object] | None:
        """Like ``list``, but ``None`` if the user may not list it, or the cluster has no such kind."""
        try:
            return self.list(path, page=page, keep=keep, **query)
        except ClusterError as error:
            if error.status in (403, 404):
                return None
            raise

    def create(self, manifest: Object) -> Reply:
        """Create an object from its manifest."""
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
        try:
            stored = json.loads(response.data)
        except (ValueError, RecursionError) as error:
            raise self._no_kubernetes() from error
        if not isinstance(stored, dict):
            raise self._no_kubernetes()
        return Reply(stored, admission_warnings(response.headers.getlist("Warning")))

    def _exchange(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> urllib3.BaseHTTPResponse:
        from gpu.api.connection import JSON, NoAnswerError

        accept = "*/*" if path.endswith("/log") else JSON
        try:
            response = self._connection.request(method, path, body, query=query, accept=accept)
        except KubeconfigError as error:
            raise ClusterError(f"context {self.context}: {error}") from error
        except NoAnswerError as error:
            through = f" through the proxy {self._connection.proxy}" if self._connection.proxy else ""
            raise ClusterError(
                f"context {self.context}: no answer from the cluster{through}: {error}. Check the context, and your "
                "connection to its network"
            ) from error
        if 300 <= response.status < 400:
            raise self._no_kubernetes()
        if response.status >= 400:
            raise self._refused(response, method)
        return response

    def _no_kubernetes(self) -> ClusterError:
        return ClusterError(
            f"context {self.context}: the answer is not that of a Kubernetes API server; check the cluster's `server` "
            "in the kubeconfig, and whether a proxy asks to log in"
        )

    def _refused(self, response: urllib3.BaseHTTPResponse, method: str) -> ClusterError:
        status = response.status
        message, _ = failure(response.data) or (str(response.reason), "")
        if _ANONYMOUS in message or (status == 401 and self._login.anonymous):
            message = (
                f"context {self.context}: {self._login.user_at} has no credentials that this cluster accepts; get a "
                "kubeconfig with a token, a client certificate or a credential plugin (exec)"
            )
        elif status == 401:
            message = f"context {self.context}: credentials rejected; log in to the cloud again"
        elif status == 403 and "forbidden: User" in message:
            role = "view" if method == "GET" else "edit"
            message += f"; ask the administrator for the role `{role}` in the namespace"
        elif status == 403 and "exceeded quota: namespace-limits," in message:
            message += (
                "; `gpu stop` deletes jobs that have ended, too, with their files (`gpu list` shows them), or ask the "
                f"administrator to raise the limit: kubectl -n {self.namespace} edit resourcequota namespace-limits"
            )
        return ClusterError(message, status)


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
    place = manifest.get("metadata") or {}
    return resource_path(manifest["apiVersion"], manifest["kind"].lower() + "s", None, place.get("namespace"))
