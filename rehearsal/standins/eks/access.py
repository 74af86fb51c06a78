"""Who may use a cluster, and whose rights its pods have. moto has neither: both are in the store."""

from __future__ import annotations

import random
import re
import zlib
from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import POD_IDENTITY, Account
from rehearsal.standins.eks.addons import CREATED
from rehearsal.standins.eks.cluster import ACCESS_ENTRY, require_cluster
from rehearsal.standins.eks.iam import require_role
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To
from rehearsal.standins.rules import RuleBook
from rehearsal.standins.values import at

ENTRY_RULES: Final = RuleBook[Account]()
POLICY_RULES: Final = RuleBook[Account]()
TYPES: Final = ("EC2", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX", "HYPERPOD_LINUX", "STANDARD")
POLICIES: Final = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
)
"""https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html (those for people and nodes)."""

_ENTRIES: Final = "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html"
_PRINCIPAL: Final = re.compile(r"arn:[^:]+:iam::\d{12}:(role|user)/\S+")


@ENTRY_RULES.add("entry-principal", _ENTRIES, "principalArn")
def _principal(inputs: Properties, account: Account) -> str | None:
    if _PRINCIPAL.fullmatch(inputs["principalArn"]):
        return None
    return (
        f"InvalidParameterException: The specified principalArn is invalid: {inputs['principalArn']} is no role or user"
    )


@ENTRY_RULES.add("entry-type", _ENTRIES, "type", "kubernetesGroups")
def _type(inputs: Properties, account: Account) -> str | None:
    kind = inputs.get("type") or "STANDARD"
    if kind not in TYPES:
        return f"InvalidParameterException: The specified type is invalid: {kind} is none of {', '.join(TYPES)}"
    if kind != "STANDARD" and inputs.get("kubernetesGroups"):
        return f"InvalidRequestException: An access entry of type {kind} has the groups that EKS gives it"
    for group in inputs.get("kubernetesGroups") or []:
        if group.startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
            return (
                f"InvalidParameterException: The kubernetes group name {group} is invalid, it cannot start with system:"
            )
    return None


@POLICY_RULES.add("access-policy", "https://docs.aws.amazon.com/eks/latest/userguide/access-policies.html", "policyArn")
def _policy(inputs: Properties, account: Account) -> str | None:
    prefix = f"arn:{account.partition}:eks::aws:cluster-access-policy/"
    if inputs["policyArn"] in {prefix + name for name in POLICIES}:
        return None
    return (
        f"InvalidParameterException: The policyArn {inputs['policyArn']} is unknown; write e.g. {prefix}{POLICIES[3]}"
    )


@POLICY_RULES.add(
    "access-scope", "https://docs.aws.amazon.com/eks/latest/APIReference/API_AccessScope.html", "accessScope"
)
def _scope(inputs: Properties, account: Account) -> str | None:
    kind, namespaces = at(inputs, "accessScope.type"), at(inputs, "accessScope.namespaces")
    if kind == "namespace" and not namespaces:
        return "InvalidParameterException: accessScope namespace needs namespaces"
    return (
        "InvalidParameterException: accessScope cluster has no namespaces" if kind == "cluster" and namespaces else None
    )


class _OwnKind(Kind):
    """What exists in the store alone."""

    in_moto = False

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        cluster = account.store.get("aws:eks/cluster:Cluster", inputs["clusterName"])
        return None if cluster is None else self.facts(account, id, inputs)

    def facts(self, account: Account, id: str, inputs: Properties) -> Properties:
        """The outputs."""
        raise NotImplementedError

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        """Nothing in AWS: the store forgets it."""


class AccessEntryKind(_OwnKind):
    """``aws:eks/accessEntry:AccessEntry``."""

    token = ACCESS_ENTRY
    shape = Shape(
        service="eks",
        operation="CreateAccessEntry",
        table={"CreateAccessEntryRequest": {"userName": To("username")}},
        required=("clusterName", "principalArn"),
        defaults={"type": "STANDARD"},
        replaces=("clusterName", "principalArn", "type"),
        unordered=("kubernetesGroups",),
        tags="map",
        tagged="access-entry",
    )
    rules = ENTRY_RULES.rules
    computed = ("accessEntryArn", "createdAt", "modifiedAt")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        cluster = require_cluster(account, inputs["clusterName"])
        if at(cluster.inputs, "accessConfig.authenticationMode") not in ("API", "API_AND_CONFIG_MAP"):
            reason = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
            raise self.refuse("InvalidRequestException", reason)
        id = f"{inputs['clusterName']}:{inputs['principalArn']}"
        if account.store.get(self.token, id):
            reason = "The specified access entry resource is already in use on this cluster."
            raise self.refuse("ResourceInUseException", reason)
        return id

    @override
    def facts(self, account: Account, id: str, inputs: Properties) -> Properties:
        entry = f"access-entry/{inputs['clusterName']}/{zlib.crc32(id.encode()):08x}"
        return {"accessEntryArn": account.arn("eks", entry), "createdAt": CREATED, "modifiedAt": CREATED}


class AccessPolicyAssociationKind(_OwnKind):
    """``aws:eks/accessPolicyAssociation:AccessPolicyAssociation``."""

    token = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    shape = Shape(
        service="eks",
        operation="AssociateAccessPolicy",
        required=("accessScope", "clusterName", "policyArn", "principalArn"),
        replaces=("accessScope", "clusterName", "policyArn", "principalArn"),
        unordered=("accessScope.namespaces",),
    )
    rules = POLICY_RULES.rules
    computed = ("associatedAt", "modifiedAt")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        cluster, principal = inputs["clusterName"], inputs["principalArn"]
        require_cluster(account, cluster)
        entry = account.store.get(ACCESS_ENTRY, f"{cluster}:{principal}")
        if entry is None:
            reason = f"The specified principalArn could not be found. You can create it as an access entry: {principal}"
            raise self.refuse("ResourceNotFoundException", reason)
        if entry.inputs.get("type", "STANDARD") not in ("STANDARD", "EC2"):
            reason = f"Access policies go with entries of type STANDARD and EC2, not {entry.inputs['type']}"
            raise self.refuse("InvalidRequestException", reason)
        return f"{cluster}#{principal}#{inputs['policyArn']}"

    @override
    def facts(self, account: Account, id: str, inputs: Properties) -> Properties:
        return {"associatedAt": CREATED, "modifiedAt": CREATED}


class PodIdentityAssociationKind(_OwnKind):
    """``aws:eks/podIdentityAssociation:PodIdentityAssociation``.

    A role with a trust policy that Pod Identity cannot use is accepted, as by EKS; its pods get no credentials.
    """

    token = POD_IDENTITY
    shape = Shape(
        service="eks",
        operation="CreatePodIdentityAssociation",
        required=("clusterName", "namespace", "roleArn", "serviceAccount"),
        replaces=("clusterName", "namespace", "serviceAccount"),
        tags="map",
        tagged="pod-identity-association",
    )
    computed = ("associationArn", "associationId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        require_cluster(account, inputs["clusterName"])
        self.change(account, "", {}, inputs)
        if account.pod_identity(inputs["clusterName"], inputs["namespace"], inputs["serviceAccount"]):
            where = f"{inputs['namespace']}/{inputs['serviceAccount']}"
            raise self.refuse("ResourceInUseException", f"Association already exists: {where}")
        return f"a-{random.getrandbits(68):017x}"

    @override
    def facts(self, account: Account, id: str, inputs: Properties) -> Properties:
        arn = account.arn("eks", f"podidentityassociation/{inputs['clusterName']}/{id}")
        return {"associationArn": arn, "associationId": id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        require_role(account, new["roleArn"])
