"""IAM roles as the account has them: policies, boundary, trusted OIDC issuers, and the role that a node lends a pod."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from facts.concepts.iam import Document
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError

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


def cluster(account: Account, name: str) -> Mapping[str, Any] | None:
    """What EKS's DescribeCluster answers, ``None`` if there is no such cluster."""
    try:
        description: Mapping[str, Any] = account.call("eks", "DescribeCluster", name=name)["cluster"]
    except AwsError:
        return None
    return description


def reachable_node_role(account: Account, cluster_name: str, node_group: str, *, host_network: bool) -> str | None:
    """ARN of a node group's instance role if a pod can get at it through the metadata service, else ``None``.

    A launch template with a hop limit of 1 keeps it from pods that are not on the host's network:
    https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
    """
    try:
        group = account.call("eks", "DescribeNodegroup", clusterName=cluster_name, nodegroupName=node_group)
    except AwsError:
        return None
    node_group_record = group["nodegroup"]
    hops = _POD_HOPS if host_network else _hop_limit(account, node_group_record.get("launchTemplate") or {})
    return str(node_group_record["nodeRole"]) if hops >= _POD_HOPS else None


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
    answer = account.call(
        "ec2",
        "DescribeLaunchTemplateVersions",
        LaunchTemplateId=template.get("id"),
        LaunchTemplateName=None if template.get("id") else template.get("name"),
        Versions=[template.get("version") or "$Default"],
    )
    versions = answer["LaunchTemplateVersions"]
    options = versions[0]["LaunchTemplateData"].get("MetadataOptions") or {} if versions else {}
    return int(options.get("HttpPutResponseHopLimit") or _POD_HOPS)
