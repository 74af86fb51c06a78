"""A developer who uses the rehearsed cluster: submits and deletes workloads, and reads what the API server answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rehearsal.cluster.api import Api, ApiError, Object

_PLURALS: Final = {"Pod": "/api/v1/namespaces/default/pods", "Job": "/apis/batch/v1/namespaces/default/jobs"}

_RBAC: Final = "rbac.authorization.k8s.io"
DEVELOPERS: Final[Object] = {
    "apiVersion": f"{_RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "developers", "namespace": "default"},
    "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "developer"}],
}
"""What a team's administrator gives those who submit jobs: Kubernetes' own role for it, in one namespace
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles)."""

_PREAMBLE: Final = re.compile(r"^.*ValidatingAdmissionPolicy '[^']*' with binding '[^']*'(?: denied request)?: ")


@dataclass(frozen=True)
class SubmissionReply:
    """The answer to a submission: ``message`` is the refusal in the API server's words, empty when it was accepted."""

    ok: bool
    message: str = ""
    warnings: tuple[str, ...] = ()


def short_message(message: str) -> str:
    """What an admission policy says, without the API server's preamble about which policy says it."""
    return _PREAMBLE.sub("", message)


class User:
    """Works in the namespace ``default`` through one connection."""

    def __init__(self, api: Api) -> None:
        """Use ``api``'s credentials."""
        self._api = api

    def create(self, manifest: Object) -> SubmissionReply:
        """Submit a Pod or a Job, as ``kubectl create`` does."""
        try:
            _, warnings = self._api.submit(_PLURALS[manifest["kind"]], manifest)
        except ApiError as refusal:
            return SubmissionReply(False, str(refusal))
        return SubmissionReply(True, warnings=warnings)

    def delete(self, kind: str, name: str) -> None:
        """Delete a Pod or a Job and, in the background, its pods; what is gone already is fine."""
        self._api.delete(f"{_PLURALS[kind]}/{name}", gracePeriodSeconds=0)
