"""Access entries, Pod Identity associations and add-ons. moto has none of them: they are in the store."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import yaml

from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks import system
from rehearsal.providers.eks.cloud import ADDON, POD_IDENTITY, Account, maker
from rehearsal.providers.eks.cluster import ACCESS_ENTRY, maker_is_admin, require_cluster, running_version
from rehearsal.providers.eks.iam import require_role_of_pods
from rehearsal.providers.eks.nodes import NODE_GROUP
from rehearsal.providers.eks.row import TABLE, refused
from rehearsal.providers.resource import Lifecycle, Pending
from rehearsal.simulation import UserInfo


@TABLE.check("addon", "addon-exists")
def _exists(inputs: Properties, account: Account) -> str | None:
    if inputs["addonName"] in system.ADDONS:
        return None
    known = ", ".join(sorted(system.ADDONS))
    return f"InvalidParameterException: Addon {inputs['addonName']} specified is not supported; simulated: {known}"


@TABLE.check("addon", "addon-configuration")
def _configuration(inputs: Properties, account: Account) -> str | None:
    text = inputs.get("configurationValues")
    try:
        values = {} if text is None else yaml.safe_load(text)
    except yaml.YAMLError:
        values = None
    if not isinstance(values, dict):
        return "InvalidParameterException: ConfigurationValue provided in request is not a JSON or YAML object"
    addon = system.ADDONS.get(inputs["addonName"])
    unknown = [key for key in values if addon is not None and addon.keys is not None and key not in addon.keys]
    if not unknown:
        return None
    # https://github.com/aws-ia/terraform-aws-eks-blueprints-addons/issues/157 (additionalProperties: false)
    return f"InvalidParameterException: ConfigurationValue provided in request is not supported: {', '.join(unknown)}"


def _addon_requires(pending: Pending[Account]) -> None:
    if pending.before is None and pending.cloud.store.get(ADDON, pending.id):
        raise refused(ADDON, "ResourceInUseException", "Addon already exists.")
    for association in pending.inputs.get("podIdentityAssociations") or []:
        require_role_of_pods(pending.cloud, association["roleArn"])
    name, version = pending.inputs["addonName"], pending.inputs.get("addonVersion")
    if version is not None and not system.version_fits(name, version, _minor(pending)):
        reason = f"Addon version specified is not supported: {name} {version} on Kubernetes {_minor(pending)}"
        raise refused(ADDON, "InvalidParameterException", reason)


def _minor(pending: Pending[Account]) -> str:
    require_cluster(pending.cloud, pending.inputs["clusterName"])
    return running_version(pending.cloud, pending.inputs["clusterName"])


def _version(pending: Pending[Account]) -> str:
    """The one that is named, or that the add-on has, or the default."""
    had = None if pending.before is None else pending.before.outputs.get("addonVersion")
    named = pending.inputs.get("addonVersion") or had
    return str(named or system.default_version(pending.inputs["addonName"], _minor(pending)))


def _arn(pending: Pending[Account], kind: str) -> str:
    return pending.cloud.arn("eks", f"{kind}/{uuid5(NAMESPACE_URL, pending.id)}")


def _entry_arn(pending: Pending[Account]) -> str:
    """https://docs.aws.amazon.com/eks/latest/APIReference/API_AccessEntry.html"""
    principal = pending.inputs["principalArn"].split(":")
    kind, _, name = principal[-1].partition("/")
    return _arn(pending, f"access-entry/{pending.inputs['clusterName']}/{kind}/{principal[4]}/{name}")


# What EKS itself gives the nodes' entries: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
_NODES: Final = {
    "EC2_LINUX": {"userName": "system:node:{{EC2PrivateDNSName}}", "kubernetesGroups": ["system:nodes"]},
}


def _of_nodes(key: str) -> Callable[[Pending[Account]], Any]:
    return lambda pending: pending.inputs.get(key) or _NODES.get(pending.inputs["type"], {}).get(key)


def _start(account: Account, record: Record, before: Record | None) -> Record:
    cluster, name = record.inputs["clusterName"], record.inputs["addonName"]
    values = yaml.safe_load(record.inputs.get("configurationValues") or "{}")
    account.machines().apply_objects(system.workloads(name, values))
    if system.needs_nodes(name):
        wait_for_nodes(account, cluster)
    return record


def wait_for_nodes(account: Account, cluster: str) -> None:
    """Return when the cluster has a node group with nodes; raises what the provider says when it gives up."""

    def has_nodes() -> bool:
        groups = (record.inputs for record in account.store.all(NODE_GROUP))
        return any(each["clusterName"] == cluster and each["scalingConfig"]["desiredSize"] for each in groups)

    if not account.until(has_nodes):
        raise ProviderError(
            "timeout while waiting for state to become 'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s): "
            "InsufficientNumberOfReplicas: no node group of the cluster has nodes; depend on one that has"
        )


def installed(account: Account, cluster: str, addon: str) -> bool:
    """Whether a cluster has an add-on, declared or bootstrapped."""
    record = require_cluster(account, cluster)
    bootstrapped = addon in system.BOOTSTRAPPED and record.inputs.get("bootstrapSelfManagedAddons", True)
    return bool(bootstrapped) or account.store.get(ADDON, f"{cluster}:{addon}") is not None


POLICY_ASSOCIATION: Final = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"


def _entry_requires(pending: Pending[Account]) -> None:
    cluster = require_cluster(pending.cloud, pending.inputs["clusterName"])
    if pending.before is not None:
        return
    if at(cluster.inputs, "accessConfig.authenticationMode") not in ("API", "API_AND_CONFIG_MAP"):
        reason = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
        raise refused(ACCESS_ENTRY, "InvalidRequestException", reason)
    made_it = maker_is_admin(cluster) and pending.inputs["principalArn"] == maker(pending.cloud)
    if made_it or pending.cloud.store.get(ACCESS_ENTRY, pending.id):
        reason = "The specified access entry resource is already in use on this cluster."
        raise refused(ACCESS_ENTRY, "ResourceInUseException", reason)


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
    require_cluster(pending.cloud, inputs["clusterName"])
    require_role_of_pods(pending.cloud, inputs["roleArn"])
    taken = pending.cloud.pod_identity(inputs["clusterName"], inputs["namespace"], inputs["serviceAccount"])
    if pending.before is None and taken:
        where = f"{inputs['namespace']}/{inputs['serviceAccount']}"
        raise refused(POD_IDENTITY, "ResourceInUseException", f"Association already exists: {where}")


ROWS: Final = (
    TABLE.row(
        ADDON,
        outputs={
            "addonVersion": _version,
            "arn": lambda pending: _arn(pending, "addon/{clusterName}/{addonName}".format_map(pending.inputs)),
        },
        requires=_addon_requires,
        lifecycle=Lifecycle("EKS Add-On", _start),  # its pods stay until the cluster goes
    ),
    TABLE.row(
        ACCESS_ENTRY,
        outputs={
            "accessEntryArn": _entry_arn,
            "kubernetesGroups": _of_nodes("kubernetesGroups"),
            "userName": _of_nodes("userName"),
        },
        requires=_entry_requires,
    ),
    TABLE.row(POLICY_ASSOCIATION, requires=_association_requires),
    TABLE.row(POD_IDENTITY, make=lambda _: f"a-{random.getrandbits(68):017x}", requires=_identity_requires),
)
