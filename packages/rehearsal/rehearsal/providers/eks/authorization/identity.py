"""The IAM role of a pod: by EKS Pod Identity, by IRSA, or that of its node; and roles as the account has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from facts.concepts.iam import AuthorizationRequest, Document, allows, trusts, unevaluated_operators
from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.resources import scaling_group

POD_IDENTITY_SERVICE: Final = "pods.eks.amazonaws.com"
POD_IDENTITY_AGENT: Final = "eks-pod-identity-agent"
IRSA_ANNOTATION: Final = "eks.amazonaws.com/role-arn"
_POD_IDENTITY_ACTIONS: Final = ("sts:AssumeRole", "sts:TagSession")


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

    def missing(self, calls: Collection[AuthorizationRequest]) -> str:
        """Why the role may not make all of ``calls``, ``""`` if it may."""
        # A real request: what it does not bring along, it does not have.
        whole = [replace(call, whole=True) for call in calls]
        odd = [operator for call in whole for operator in unevaluated_operators(self.policies.values(), call)]
        if odd:
            return f"the role {self.arn}: {_cannot_evaluate(odd[0])}"
        bounded = [] if self.boundary is None else [call for call in whole if allows([self.boundary], call) is not True]
        refused = bounded or [call for call in whole if allows(self.policies.values(), call) is not True]
        if not refused:
            return ""
        on = next((f" on {call.resource}" for call in refused if call.resource != "*"), "")
        actions = ", ".join(dict.fromkeys(call.action for call in refused))
        subject = f"the permissions boundary of the role {self.arn}" if bounded else f"the role {self.arn}"
        return f"{subject} does not allow {actions}{on}; add the action or correct the statement's condition"


@dataclass(frozen=True)
class ServiceAccountRef:
    """A pod's cluster, namespace and service account."""

    cluster: str
    namespace: str
    service_account: str


@dataclass(frozen=True)
class Facts:
    """The facts that decide about a pod's role. ``associated`` and ``annotated`` are ARNs.

    ``agent`` is whether the Pod Identity agent runs on the cluster's nodes. ``node_role`` is the instance role of the
    pod's node, ``None`` where the pod cannot reach it (IMDS with a hop limit of 1) or has no node.
    """

    place: ServiceAccountRef
    cluster_arn: str
    account: str
    associated: str | None = None
    agent: bool = False
    annotated: str | None = None
    oidc_provider: bool = False
    node_role: str | None = None


def role_of(facts: Facts, roles: Mapping[str, Role]) -> Role | str:
    """The pod's role among ``roles`` (by ARN), or why it has none.

    IRSA comes first where both are set up: the AWS SDKs look for its web identity token before they ask the Pod
    Identity agent (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html).
    """
    subject = f"service account {facts.place.namespace}/{facts.place.service_account}"
    if facts.annotated:
        if not facts.oidc_provider:
            return (
                f"{subject} names a role by the annotation {IRSA_ANNOTATION}, but the account has no IAM OIDC provider "
                "of the cluster; use an EKS Pod Identity association"
            )
        return roles.get(facts.annotated) or f"{subject}: the role {facts.annotated} does not exist"
    if facts.associated:
        return _by_pod_identity(facts, roles, subject)
    if facts.node_role and facts.node_role in roles:
        return roles[facts.node_role]
    return f"{subject} has no AWS identity: it has no EKS Pod Identity association; add one with the autoscaler's role"


def _by_pod_identity(facts: Facts, roles: Mapping[str, Role], subject: str) -> Role | str:
    """https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html and …/pod-id-agent-setup.html."""
    role = roles.get(facts.associated or "")
    if role is None:
        return f"{subject}: the role {facts.associated} of its Pod Identity association does not exist"
    if not facts.agent:
        return (
            f"{subject} gets no credentials from its Pod Identity association: no pod of {POD_IDENTITY_AGENT} is "
            f"ready; declare the EKS add-on {POD_IDENTITY_AGENT}"
        )
    context = {
        "aws:SourceAccount": facts.account,
        "aws:SourceArn": facts.cluster_arn,
        "aws:RequestTag/eks-cluster-arn": facts.cluster_arn,
        "aws:RequestTag/eks-cluster-name": facts.place.cluster,
        "aws:RequestTag/kubernetes-namespace": facts.place.namespace,
        "aws:RequestTag/kubernetes-service-account": facts.place.service_account,
    }
    trusted = trusts(role.trust, POD_IDENTITY_SERVICE, _POD_IDENTITY_ACTIONS, context)
    if trusted is UNKNOWN:
        odd = [
            each
            for action in _POD_IDENTITY_ACTIONS
            for each in unevaluated_operators([role.trust], AuthorizationRequest(action))
        ]
        return f"the trust policy of the role {role.arn}: {_cannot_evaluate(odd[0] if odd else 'of a statement')}"
    if not trusted:
        return (
            f"the role {role.arn} does not trust {POD_IDENTITY_SERVICE}; its trust policy must allow it "
            f"{' and '.join(_POD_IDENTITY_ACTIONS)}"
        )
    return role


def _cannot_evaluate(operator: str) -> str:
    return f"condition operator {operator} cannot be evaluated"


def agent_runs(daemon_sets: Collection[Mapping[str, Any]]) -> bool:
    """Whether the Pod Identity agent is one of the ``daemon_sets`` and runs on nodes."""
    agents = [each.get("status") or {} for each in daemon_sets if each["metadata"]["name"] == POD_IDENTITY_AGENT]
    return any(int(status.get("numberReady") or 0) > 0 for status in agents)


def annotated_role(service_accounts: Collection[Mapping[str, Any]], place: ServiceAccountRef) -> str | None:
    """The ARN in the service account's IRSA annotation."""
    for each in service_accounts:
        metadata = each["metadata"]
        if (metadata.get("namespace"), metadata["name"]) == (place.namespace, place.service_account):
            return (metadata.get("annotations") or {}).get(IRSA_ANNOTATION)
    return None


_POD_HOPS: Final = 2
"""Hops that the metadata service's answers must survive to reach a pod: one to the node, one into the pod."""


def role(account: Account, arn: str) -> Role | None:
    """The role with all its policies and its boundary, ``None`` if it does not exist."""
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


def has_oidc_provider(account: Account, issuer: str) -> bool:
    """Whether IAM trusts the cluster's OIDC ``issuer`` (a URL)."""
    listed = account.call("iam", "ListOpenIDConnectProviders")["OpenIDConnectProviderList"]
    host = issuer.removeprefix("https://")
    return bool(host) and any(each["Arn"].endswith(f":oidc-provider/{host}") for each in listed)


def reachable_node_role(account: Account, cluster_name: str, node_group: str, *, host_network: bool) -> str | None:
    """ARN of a node group's instance role if a pod can get at it through the metadata service, else ``None``.

    A launch template with a hop limit of 1 keeps it from pods that are not on the host's network:
    https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
    """
    names = {"clusterName": cluster_name, "nodegroupName": node_group}
    group = account.look_up("eks", "DescribeNodegroup", "nodegroup", **names)
    if group is None:
        return None
    hops = _POD_HOPS if host_network else _hop_limit(account, group.get("launchTemplate") or {})
    return str(group["nodeRole"]) if hops >= _POD_HOPS else None


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
    document: Document = raw if isinstance(raw, Mapping) else json.loads(unquote(str(raw)))
    return document


def _hop_limit(account: Account, template: Mapping[str, Any]) -> int:
    if not template:
        return _POD_HOPS
    options = scaling_group.template(account, template)["LaunchTemplateData"].get("MetadataOptions") or {}
    return int(options.get("HttpPutResponseHopLimit") or _POD_HOPS)
