"""EKS Pod Identity: a pod's service account token for temporary credentials of its association's role.

In a cluster that is the agent's address http://169.254.170.23/v1/credentials, and behind it the EKS Auth API's
AssumeRoleForPodIdentity: https://docs.aws.amazon.com/eks/latest/APIReference/API_auth_AssumeRoleForPodIdentity.html.
How the agent words an error: https://github.com/aws/eks-pod-identity-agent/blob/main/pkg/errors/errors.go. EKS's own
message inside it is not documented, so that is ours.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.eks.authorization import identity
from rehearsal.providers.eks.authorization.callers import Callers
from rehearsal.providers.eks.authorization.identity import POD_IDENTITY_AGENT, Facts, ServiceAccountRef, role_of
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.simulation import Fleet

AUDIENCE: Final = "pods.eks.amazonaws.com"
"""Of the token that a pod presents."""

_SUBJECT: Final = "system:serviceaccount:"
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_DAEMON_SETS: Final = "/apis/apps/v1/namespaces/kube-system/daemonsets"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"


class PodIdentityError(Exception):
    """Why a pod gets no credentials: the HTTP ``status`` and what the agent says."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"[{uuid.uuid4()}]: ({code}): {message}, fault: client")
        self.status = status


class NoAgentError(Exception):
    """Nothing listens at the agent's address."""


@dataclass(frozen=True)
class _Pod:
    namespace: str
    service_account: str
    name: str
    uid: str


class PodIdentityAgent:
    """The agent of one account's cluster; ``fleet`` asks its API server what a token is worth."""

    def __init__(self, account: Account, fleet: Fleet, callers: Callers) -> None:
        self._account = account
        self._fleet = fleet
        self._callers = callers

    def associated(self, namespace: str, service_account: str) -> bool:
        """Whether EKS would hand the agent's address to new pods of this service account."""
        clusters = self._account.store.all(CLUSTER)
        return any(self._account.pod_identity(each.id, namespace, service_account) for each in clusters)

    def credentials(self, token: str) -> Mapping[str, Any]:
        """What the agent answers to a pod that presents ``token``.

        Raises NoAgentError: the cluster has no agent; PodIdentityError: the agent's refusal.
        """
        pod = self._pod(token)
        cluster = next(iter(self._account.store.all(CLUSTER)), None)
        if cluster is None or not identity.agent_runs(self._fleet.list_objects(_DAEMON_SETS)):
            raise NoAgentError(f"no pod of {POD_IDENTITY_AGENT} is ready; declare the EKS add-on {POD_IDENTITY_AGENT}")
        arn, where = str(cluster.outputs["arn"]), f"{pod.namespace}/{pod.service_account}"
        role = self._account.pod_identity(cluster.id, pod.namespace, pod.service_account)
        if role is None:
            message = f"Service account {where} has no Pod Identity association in cluster {cluster.id}"
            raise PodIdentityError(404, "ResourceNotFoundException", message)
        iam_role = identity.role(self._account, role)
        place = ServiceAccountRef(cluster.id, pod.namespace, pod.service_account)
        facts = Facts(place, arn, self._account.id, associated=role, agent=True)
        answer = role_of(facts, {role: iam_role} if iam_role else {})
        if isinstance(answer, str):
            raise PodIdentityError(400, "AccessDeniedException", answer)
        session = f"eks-{cluster.id}-{pod.name}-{uuid.uuid4()}"
        keys = self._callers.assume(role, session, _session_tags(arn, cluster.id, pod))
        return {
            **{key: keys[key] for key in ("AccessKeyId", "SecretAccessKey")},
            "Token": keys["SessionToken"],
            "AccountId": self._account.id,
            "Expiration": keys["Expiration"].isoformat().replace("+00:00", "Z"),
        }

    def _pod(self, token: str) -> _Pod:
        status = self._fleet.review_token(token, AUDIENCE)
        user = status.get("user") or {}
        namespace, _, name = str(user.get("username") or "").removeprefix(_SUBJECT).partition(":")
        if not status.get("authenticated") or not name:
            reason = status.get("error") or "it is no service account's"
            raise PodIdentityError(400, "InvalidTokenException", f"The token is not valid: {reason}")
        extra = user.get("extra") or {}
        return _Pod(namespace, name, _first(extra.get(_POD_NAME)), _first(extra.get(_POD_UID)))


def _session_tags(cluster_arn: str, cluster: str, pod: _Pod) -> dict[str, str]:
    """https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html."""
    return {
        "eks-cluster-arn": cluster_arn,
        "eks-cluster-name": cluster,
        "kubernetes-namespace": pod.namespace,
        "kubernetes-service-account": pod.service_account,
        "kubernetes-pod-name": pod.name,
        "kubernetes-pod-uid": pod.uid,
    }


def _first(values: list[str] | None) -> str:
    return values[0] if values else ""
