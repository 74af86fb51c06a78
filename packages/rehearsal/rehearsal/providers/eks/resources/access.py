"""Access entries and Pod Identity associations. moto has neither: both are in the store."""

from __future__ import annotations

import random
import re
import zlib
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import POD_IDENTITY, Account, maker
from rehearsal.providers.eks.base.row import Row, refused
from rehearsal.providers.eks.resources.addons import CREATED
from rehearsal.providers.eks.resources.cluster import ACCESS_ENTRY, require_cluster
from rehearsal.providers.eks.resources.iam import require_role_of_pods
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.providers.resource import Pending, Reference
from rehearsal.providers.rules import RuleBook
from rehearsal.providers.store import Record
from rehearsal.providers.values import at
from rehearsal.simulation import UserInfo

POLICY_ASSOCIATION: Final = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
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


def _entry_requires(pending: Pending[Account]) -> None:
    cluster = require_cluster(pending.cloud, pending.inputs["clusterName"])
    if pending.before is not None:
        return
    if at(cluster.inputs, "accessConfig.authenticationMode") not in ("API", "API_AND_CONFIG_MAP"):
        reason = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
        raise refused(ACCESS_ENTRY, "InvalidRequestException", reason)
    if pending.cloud.store.get(ACCESS_ENTRY, pending.id) or _made_it(
        pending.cloud, cluster, pending.inputs["principalArn"]
    ):
        reason = "The specified access entry resource is already in use on this cluster."
        raise refused(ACCESS_ENTRY, "ResourceInUseException", reason)


def _made_it(account: Account, cluster: Record, principal: str) -> bool:
    """Whether EKS has an entry for the principal already, as it made the cluster: ``bootstrapClusterCreatorAdmin…`` in
    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html."""
    admin = at(cluster.inputs, "accessConfig.bootstrapClusterCreatorAdminPermissions")
    return admin is not False and principal == maker(account)


def find_principals(account: Account) -> dict[str, UserInfo]:
    """Role or user → its name for the API server (its session's ARN) and the entry's groups.

    https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
    """
    return {
        entry.inputs["principalArn"]: UserInfo(
            entry.inputs.get("userName") or entry.inputs["principalArn"],
            tuple(entry.inputs.get("kubernetesGroups") or ()),
        )
        for entry in account.store.all(ACCESS_ENTRY)
        if entry.inputs.get("type", "STANDARD") == "STANDARD"
    }


def _entry_arn(pending: Pending[Account]) -> str:
    entry = f"access-entry/{pending.inputs['clusterName']}/{zlib.crc32(pending.id.encode()):08x}"
    return pending.cloud.arn("eks", entry)


def _association_requires(pending: Pending[Account]) -> None:
    cluster, principal = pending.inputs["clusterName"], pending.inputs["principalArn"]
    entry = pending.cloud.store.get(ACCESS_ENTRY, f"{cluster}:{principal}")
    if entry is None:
        reason = f"The specified principalArn could not be found. You can create it as an access entry: {principal}"
        raise refused(POLICY_ASSOCIATION, "ResourceNotFoundException", reason)
    if entry.inputs.get("type", "STANDARD") not in ("STANDARD", "EC2"):
        reason = f"Access policies go with entries of type STANDARD and EC2, not {entry.inputs['type']}"
        raise refused(POLICY_ASSOCIATION, "InvalidRequestException", reason)


def _identity_requires(pending: Pending[Account]) -> None:
    inputs = pending.inputs
    require_role_of_pods(pending.cloud, inputs["roleArn"])
    taken = pending.cloud.pod_identity(inputs["clusterName"], inputs["namespace"], inputs["serviceAccount"])
    if pending.before is None and taken:
        where = f"{inputs['namespace']}/{inputs['serviceAccount']}"
        raise refused(POD_IDENTITY, "ResourceInUseException", f"Association already exists: {where}")


def _identity_id(pending: Pending[Account]) -> str:
    return f"a-{random.getrandbits(68):017x}"


_IN_CLUSTER: Final = {"clusterName": Reference(CLUSTER, "part")}

ROWS: Final = (
    Row(
        token=ACCESS_ENTRY,
        id="{clusterName}:{principalArn}",
        outputs={"accessEntryArn": _entry_arn, "createdAt": CREATED, "modifiedAt": CREATED},
        defaults={"type": "STANDARD"},
        rules=ENTRY_RULES.rules,
        references=_IN_CLUSTER,
        requires=_entry_requires,
        replaces=("type",),
        unordered=("kubernetesGroups",),
    ),
    Row(
        token=POLICY_ASSOCIATION,
        id="{clusterName}#{principalArn}#{policyArn}",
        outputs={"associatedAt": CREATED, "modifiedAt": CREATED},
        rules=POLICY_RULES.rules,
        references=_IN_CLUSTER,
        requires=_association_requires,
        replaces=("accessScope",),
        unordered=("accessScope.namespaces",),
    ),
    Row(
        token=POD_IDENTITY,
        make=_identity_id,
        outputs={
            "associationArn": "arn:{partition}:eks:{region}:{account}:podidentityassociation/{clusterName}/{id}",
            "associationId": "{id}",
        },
        references=_IN_CLUSTER,
        requires=_identity_requires,
        replaces=("clusterName", "namespace", "serviceAccount"),
    ),
)
