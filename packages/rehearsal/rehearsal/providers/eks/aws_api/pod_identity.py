"""EKS Pod Identity: a pod's service account token for temporary credentials of its association's role.

In a cluster that is the agent's address http://169.254.170.23/v1/credentials, and behind it the EKS Auth API's
AssumeRoleForPodIdentity: https://docs.aws.amazon.com/eks/latest/APIReference/API_auth_AssumeRoleForPodIdentity.html.
How the agent words an error: https://github.com/aws/eks-pod-identity-agent/blob/main/pkg/errors/errors.go. EKS's own
message inside it is not documented, so that is ours.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from rehearsal.providers.eks.authorization.callers import Callers
from rehearsal.providers.eks.authorization.identity import POD_IDENTITY_SERVICE, PodIdentityError, Roles
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.simulation import Fleet

AUDIENCE: Final = POD_IDENTITY_SERVICE
"""Of the token that a pod presents."""

_SUBJECT: Final = "system:serviceaccount:"
_POD: Final = "authentication.kubernetes.io/pod-"


class PodIdentityAgent:
    """The agent of one account's cluster; ``fleet`` asks its API server what a token is worth."""

    def __init__(self, account: Account, fleet: Fleet, callers: Callers, roles: Roles) -> None:
        self._account = account
        self._fleet = fleet
        self._callers = callers
        self._roles = roles

    def associated(self, namespace: str, service_account: str) -> bool:
        """Whether EKS would hand the agent's address to new pods of this service account."""
        clusters = self._account.store.all(CLUSTER)
        return any(self._account.pod_identity(each.id, namespace, service_account) for each in clusters)

    def credentials(self, token: str) -> Mapping[str, Any]:
        """What the agent answers to a pod that presents ``token``. Raises PodIdentityError: the agent's refusal."""
        status = self._fleet.review_token(token, AUDIENCE)
        user = status.get("user") or {}
        namespace, _, service_account = str(user.get("username") or "").removeprefix(_SUBJECT).partition(":")
        if not status.get("authenticated") or not service_account:
            reason = status.get("error") or "it is no service account's"
            raise PodIdentityError(400, "InvalidTokenException", f"The token is not valid: {reason}")
        cluster = self._account.store.all(CLUSTER)[0]
        role = self._roles.of_pod(self._fleet, cluster, namespace, service_account)
        pod, uid = (next(iter((user.get("extra") or {}).get(f"{_POD}{key}") or ()), "") for key in ("name", "uid"))
        # https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html
        tags = {
            "eks-cluster-arn": str(cluster.outputs["arn"]),
            "eks-cluster-name": cluster.id,
            "kubernetes-namespace": namespace,
            "kubernetes-service-account": service_account,
            "kubernetes-pod-name": pod,
            "kubernetes-pod-uid": uid,
        }
        keys = self._callers.assume(role.arn, f"eks-{cluster.id}-{pod}-{uuid.uuid4()}", tags)
        return {
            **{key: keys[key] for key in ("AccessKeyId", "SecretAccessKey")},
            "Token": keys["SessionToken"],
            "AccountId": self._account.id,
            "Expiration": keys["Expiration"].isoformat().replace("+00:00", "Z"),
        }


def answer(error: PodIdentityError) -> str:
    """What the agent writes; without an agent, nothing listens."""
    if error.status == 503:
        return f"connection refused: {error}"
    return f"[{uuid.uuid4()}]: ({error.code}): {error}, fault: client"
