"""A developer who uses the cluster: submits and deletes workloads, and reads the API server's replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.offer import CONFIG_MAP, NAMESPACE
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.threads import WatchingThread
from rehearsal.scenario.timeline import Kind, Timeline

_PATHS_IN: Final = {"Pod": "/api/v1/namespaces/{}/pods", "Job": "/apis/batch/v1/namespaces/{}/jobs"}

_RBAC: Final = "rbac.authorization.k8s.io"
_SECONDS: Final = 240.0

Wait = Callable[[Callable[[], bool], float], bool]
"""Waits until a condition holds, at most for so many seconds; whether it does."""


@dataclass(frozen=True)
class SubmissionReply:
    """The reply to a submission; ``message``: the API server's refusal, empty if it accepted."""

    ok: bool
    message: str = ""
    warnings: tuple[str, ...] = ()


def let_in(administrator: Api, developer: Api, wait: Wait, namespace: str = "default") -> None:
    """Give ``developer`` what an administrator gives to people who submit jobs: the role ``edit`` in one namespace, and
    the right to read the pools, which not every cloud lets all users read (docs/operations.md).

    Returns when the API server applies it, which reads bindings a moment after they are written
    (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
    """
    for place, kind, role in ((namespace, "ClusterRole", "edit"), (NAMESPACE, "Role", CONFIG_MAP)):
        administrator.apply_manifest(
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "developers", "namespace": place},
                "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
                "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "developer"}],
            }
        )
    group = "authorization.k8s.io/v1"
    asked = {"namespace": namespace, "verb": "create", "group": "batch", "resource": "jobs"}
    review = {"apiVersion": group, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}

    def may() -> bool:
        answer = developer.create(f"/apis/{group}/selfsubjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    wait(may, _SECONDS)


def _path(kind: str, namespace: str | None) -> str:
    return _PATHS_IN[kind].format(namespace or DEFAULT_NAMESPACE)


class User:
    """Works in the namespace ``default``, or the one that a manifest names, through one connection."""

    def __init__(self, api: Api) -> None:
        """Use ``api``'s credentials."""
        self._api = api

    def create(self, manifest: Object) -> SubmissionReply:
        """Submit a Pod or a Job, as ``kubectl create`` does."""
        try:
            _, warnings = self._api.submit(_path(manifest["kind"], manifest["metadata"].get("namespace")), manifest)
        except ApiError as refusal:
            return SubmissionReply(False, str(refusal))
        return SubmissionReply(True, warnings=warnings)

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        """Delete a Pod or a Job and, in the background, its pods; a missing one is no error."""
        self._api.delete(f"{_path(kind, namespace)}/{name}", gracePeriodSeconds=0)


_PATHS: Final[dict[Kind, str]] = {"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "Event": "/api/v1/events"}


class _Recorder(WatchingThread):
    def __init__(self, api: Api, timeline: Timeline, kind: Kind) -> None:
        super().__init__(f"watch-{kind}", api, _PATHS[kind])
        self._timeline = timeline
        self._kind: Kind = kind

    def listed(self, items: list[Object], /) -> None:
        self._timeline.forget_absent(self._kind, (item["metadata"]["uid"] for item in items))

    def notice(self, kind: str, item: Object, /) -> None:
        # Events after the end do not belong to the rehearsal.
        if not self._closed.is_set():
            self._timeline.observe(self._kind, kind, item)


class Watcher:
    """One thread per kind, from now on until ``stop``."""

    def __init__(self, api: Api, timeline: Timeline) -> None:
        self._recorders = [_Recorder(api, timeline, kind) for kind in _PATHS]
        for recorder in self._recorders:
            recorder.start()

    def stop(self) -> None:
        """Stop recording. A thread ends when its watch does, which may be after the process's own end."""
        for recorder in self._recorders:
            recorder.stop()
