"""A developer who uses the cluster: submits and deletes workloads, and reads the API server's replies."""

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
"""What an administrator grants to users who submit jobs: Kubernetes' role ``edit`` in one namespace
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles)."""

_PREAMBLE: Final = re.compile(r"^.*ValidatingAdmissionPolicy '[^']*' with binding '[^']*'(?: denied request)?: ")


@dataclass(frozen=True)
class SubmissionReply:
    """The reply to a submission; ``message``: the API server's refusal, empty if it accepted."""

    ok: bool
    message: str = ""
    warnings: tuple[str, ...] = ()


def short_message(message: str) -> str:
    """An admission policy's message without the API server's preamble, which names the policy."""
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
        """Delete a Pod or a Job and, in the background, its pods; a missing one is no error."""
        self._api.delete(f"{_PLURALS[kind]}/{name}", gracePeriodSeconds=0)
