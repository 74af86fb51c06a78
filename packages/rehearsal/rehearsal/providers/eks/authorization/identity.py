"""IAM roles as the account has them, the role of a pod (that of its EKS Pod Identity association), and callers with
their temporary credentials."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from facts.concepts.iam import AuthorizationRequest, Document, Value, trusts, unevaluated_operators
from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.simulation import Fleet

POD_IDENTITY_SERVICE: Final = "pods.eks.amazonaws.com"
POD_IDENTITY_AGENT: Final = "eks-pod-identity-agent"
DAEMON_SETS: Final = "/apis/apps/v1/namespaces/kube-system/daemonsets"
_ACTIONS: Final = ("sts:AssumeRole", "sts:TagSession")


@dataclass(frozen=True)
class Role:
    """An IAM role: ``policies`` are its inline and attached documents by name, ``trust`` its trust policy.

    What they allow counts as far as its ``boundary`` allows it too:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
    """

    arn: str
    trust: Document
    policies: Mapping[str, Document]
    boundary: Document | None = None


class PodIdentityError(Exception):
    """Why a pod gets no credentials; ``status`` and ``code`` are those of the agent's answer."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Roles:
    """The roles of one account, read again only after IAM has changed."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._known: dict[str, Role | None] = {}
        self._read_at = -1

    def get(self, arn: str) -> Role | None:
        """The role with all its policies and its boundary, ``None`` if it does not exist."""
        state = self._account.writes("iam")
        if state != self._read_at:
            self._known, self._read_at = {}, state
        if arn not in self._known:
            self._known[arn] = _role(self._account, arn)
        return self._known[arn]

    def of_pod(self, fleet: Fleet, cluster: Record, namespace: str, service_account: str) -> Role:
        """The role of a service account's pods in ``cluster``. Raises PodIdentityError: they have none.

        https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html and …/pod-id-agent-setup.html. IRSA and the
        nodes' metadata service give no pod a role: the program uses neither.
        """
        where = f"service account {namespace}/{service_account}"
        arn = self._account.pod_identity(cluster.id, namespace, service_account)
        if not _agent_runs(fleet):
            reason = f"no pod of {POD_IDENTITY_AGENT} is ready; declare the EKS add-on {POD_IDENTITY_AGENT}"
            raise PodIdentityError(503, "", f"{where} gets no credentials: {reason}")
        if arn is None:
            reason = f"{where} has no EKS Pod Identity association in cluster {cluster.id}; add one with its role"
            raise PodIdentityError(404, "ResourceNotFoundException", reason)
        role = self.get(arn)
        if role is None:
            raise PodIdentityError(400, "AccessDeniedException", f"{where}: its role {arn} does not exist")
        if problem := trust_problem(role, cluster, namespace, service_account):
            raise PodIdentityError(400, "AccessDeniedException", problem)
        return role


def trust_problem(role: Role, cluster: Record, namespace: str, service_account: str) -> str:
    """Why EKS Pod Identity may not assume the role for a service account's pods, ``""`` if it may."""
    arn = str(cluster.outputs["arn"])
    context = {
        "aws:SourceAccount": arn.split(":")[4],
        "aws:SourceArn": arn,
        "aws:RequestTag/eks-cluster-arn": arn,
        "aws:RequestTag/eks-cluster-name": cluster.id,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    trusted = trusts(role.trust, POD_IDENTITY_SERVICE, _ACTIONS, context)
    if trusted is True:
        return ""
    if trusted is UNKNOWN:
        calls = map(AuthorizationRequest, _ACTIONS)
        odd = [each for call in calls for each in unevaluated_operators([role.trust], call)]
        return f"the trust policy of the role {role.arn}: condition operator {odd} cannot be evaluated"
    allow = f"its trust policy must allow it {' and '.join(_ACTIONS)}"
    return f"the role {role.arn} does not trust {POD_IDENTITY_SERVICE}; {allow}"


def _agent_runs(fleet: Fleet) -> bool:
    agents = [each for each in fleet.list_objects(DAEMON_SETS) if each["metadata"]["name"] == POD_IDENTITY_AGENT]
    return any(int((each.get("status") or {}).get("numberReady") or 0) > 0 for each in agents)


def _role(account: Account, arn: str) -> Role | None:
    name = arn.rpartition("/")[2]
    try:
        iam_role = account.call("iam", "GetRole", RoleName=name)["Role"]
    except AwsError as error:
        if error.code == "NoSuchEntity":
            return None
        raise
    limit = (iam_role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn")
    boundary = _managed(account, limit) if limit else None
    return Role(iam_role["Arn"], _document(iam_role["AssumeRolePolicyDocument"]), _policies(account, name), boundary)


def _policies(account: Account, role_name: str) -> dict[str, Document]:
    documents = {
        name: _document(account.call("iam", "GetRolePolicy", RoleName=role_name, PolicyName=name)["PolicyDocument"])
        for name in account.call("iam", "ListRolePolicies", RoleName=role_name)["PolicyNames"]
    }
    for attached in account.call("iam", "ListAttachedRolePolicies", RoleName=role_name)["AttachedPolicies"]:
        documents[attached["PolicyName"]] = _managed(account, attached["PolicyArn"])
    return documents


def _managed(account: Account, arn: str) -> Document:
    version = account.call("iam", "GetPolicy", PolicyArn=arn)["Policy"]["DefaultVersionId"]
    answer = account.call("iam", "GetPolicyVersion", PolicyArn=arn, VersionId=version)
    return _document(answer["PolicyVersion"]["Document"])


def _document(raw: Any) -> Document:
    """A policy document as botocore gives it: parsed, or as the URL-encoded text that IAM answers."""
    return raw if isinstance(raw, Mapping) else json.loads(unquote(str(raw)))


SESSION_SECONDS: Final = 6 * 3600
"""https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html: credentials of Pod Identity last six hours."""
_LONGEST_NAME: Final = 64


@dataclass(frozen=True)
class Caller:
    """``arn`` is an assumed role's session; ``role`` is the role's ARN.

    ``tags`` are the session's, which policies see as ``aws:PrincipalTag/…``.
    """

    arn: str
    role: str
    tags: Mapping[str, str] = field(default_factory=dict)


class Callers:
    """The sessions of one account.

    A session's token is its secret, which no other user of the machine learns; signatures are not checked.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Caller]] = {}

    def of(self, access_key: str, session_token: str) -> Caller | None:
        """Whose the session is; ``None`` for a key that was never given out, or with another session's token."""
        with self._lock:
            token, caller = self._known.get(access_key, ("", None))
        return caller if secrets.compare_digest(token.encode(), session_token.encode()) else None

    def assume(self, role: str, session: str, tags: Mapping[str, str]) -> Mapping[str, Any]:
        """STS's credentials for the role; who may assume it is the caller's business. STS's errors come through."""
        answer = self._account.call(
            "sts", "AssumeRole", RoleArn=role, RoleSessionName=session[:_LONGEST_NAME], DurationSeconds=SESSION_SECONDS
        )
        keys: Mapping[str, Any] = {**answer["Credentials"], "SessionToken": secrets.token_urlsafe(48)}
        caller = Caller(answer["AssumedRoleUser"]["Arn"], role, dict(tags))
        with self._lock:
            self._known[keys["AccessKeyId"]] = keys["SessionToken"], caller
        return keys


@dataclass(frozen=True)
class Right:
    """One action on one resource: an ARN, or ``*`` for actions that take none.

    ``context`` are the condition keys of this action and resource; those of every request come from ``evaluation``.
    """

    action: str
    resource: str = "*"
    context: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One request: the operation's parameters, and the account (in the request's region) to look things up in."""

    account: Account
    params: Mapping[str, Any]

    def arn(self, service: str, resource: str, *, everywhere: bool = False) -> str:
        """The ARN of a resource of this account."""
        return self.account.arn(service, resource, everywhere=everywhere)


Needs = Callable[[Operation], Iterable[Right]]
Table = Mapping[tuple[str, str], Needs]
"""Service and operation → what it needs."""


def only(action: str) -> Needs:
    """The right to an action that takes no resource."""
    return lambda _: (Right(action),)
