"""EKS add-ons. moto has none: they are in the store, their requests are checked, their pods are applied."""

from __future__ import annotations

import time
import zlib
from typing import Final

import yaml

from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.eks.base.account import ADDON, Account
from rehearsal.providers.eks.base.addon_pods import ADDONS, BOOTSTRAPPED, workloads
from rehearsal.providers.eks.base.row import Row, refused
from rehearsal.providers.eks.resources.cluster import require_cluster
from rehearsal.providers.eks.resources.groups import NODE_GROUP
from rehearsal.providers.eks.resources.iam import require_role_of_pods
from rehearsal.providers.eks.resources.network import CLUSTER
from rehearsal.providers.resource import Lifecycle, Pending, Reference
from rehearsal.providers.rules import RuleBook
from rehearsal.providers.store import Record

ADDON_RULES: Final = RuleBook[Account]()
_CREATE: Final = "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html"
_LOOK_SECONDS: Final = 0.5
CREATED: Final = "2026-11-01T00:00:00Z"


@ADDON_RULES.add("addon-exists", _CREATE, "addonName")
def _exists(inputs: Properties, account: Account) -> str | None:
    if inputs["addonName"] in ADDONS:
        return None
    known = ", ".join(sorted(ADDONS))
    return f"InvalidParameterException: Addon {inputs['addonName']} specified is not supported; simulated: {known}"


@ADDON_RULES.add("addon-configuration", _CREATE, "configurationValues")
def _configuration(inputs: Properties, account: Account) -> str | None:
    text = inputs.get("configurationValues")
    try:
        values = {} if text is None else yaml.safe_load(text)
    except yaml.YAMLError:
        values = None
    if not isinstance(values, dict):
        return "InvalidParameterException: ConfigurationValue provided in request is not a JSON or YAML object"
    addon = ADDONS.get(inputs["addonName"])
    unknown = [key for key in values if addon is not None and addon.keys is not None and key not in addon.keys]
    if not unknown:
        return None
    # https://github.com/aws-ia/terraform-aws-eks-blueprints-addons/issues/157 (additionalProperties: false)
    return f"InvalidParameterException: ConfigurationValue provided in request is not supported: {', '.join(unknown)}"


def _requires(pending: Pending[Account]) -> None:
    if pending.before is None and pending.cloud.store.get(ADDON, pending.id):
        raise refused(ADDON, "ResourceInUseException", "Addon already exists.")
    for association in pending.inputs.get("podIdentityAssociations") or []:
        require_role_of_pods(pending.cloud, association["roleArn"])


def _version(pending: Pending[Account]) -> str:
    return pending.inputs.get("addonVersion") or ADDONS[pending.inputs["addonName"]].version


def _arn(pending: Pending[Account]) -> str:
    addon = f"addon/{pending.inputs['clusterName']}/{pending.inputs['addonName']}/{zlib.crc32(pending.id.encode()):08x}"
    return pending.cloud.arn("eks", addon)


def _start(account: Account, record: Record, before: Record | None) -> Record:
    cluster, name = record.inputs["clusterName"], record.inputs["addonName"]
    values = yaml.safe_load(record.inputs.get("configurationValues") or "{}")
    account.machines().apply_objects(workloads(name, values))
    if ADDONS[name].needs_nodes:
        wait_for_nodes(account, cluster)
    return record


def _stop(account: Account, record: Record) -> None:
    """Its pods stay until the cluster goes."""


def wait_for_nodes(account: Account, cluster: str) -> None:
    """Return when the cluster has a node group with nodes; raises what the provider says when it gives up."""
    deadline = time.monotonic() + account.patience
    while not any(_has_nodes(record, cluster) for record in account.store.all(NODE_GROUP)):
        if time.monotonic() >= deadline or account.cancelled.wait(_LOOK_SECONDS):
            raise ProviderError(
                "timeout while waiting for state to become 'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s): "
                "InsufficientNumberOfReplicas: no node group of the cluster has nodes; depend on one that has"
            )


def installed(account: Account, cluster: str, addon: str) -> bool:
    """Whether a cluster has an add-on, declared or bootstrapped."""
    record = require_cluster(account, cluster)
    bootstrapped = addon in BOOTSTRAPPED and record.inputs.get("bootstrapSelfManagedAddons", True)
    return bool(bootstrapped) or account.store.get(ADDON, f"{cluster}:{addon}") is not None


def _has_nodes(record: Record, cluster: str) -> bool:
    scaling = record.inputs["scalingConfig"]
    return record.inputs["clusterName"] == cluster and bool(scaling["desiredSize"])


ROWS: Final = (
    # An add-on with a Deployment becomes ACTIVE only when its pods can run. Without nodes it stays DEGRADED, and the
    # provider gives up after 20 minutes: https://github.com/pulumi/pulumi-eks/issues/1819
    Row(
        token=ADDON,
        id="{clusterName}:{addonName}",
        outputs={"addonVersion": _version, "arn": _arn, "createdAt": CREATED, "modifiedAt": CREATED},
        unknown=("addonVersion",),
        rules=ADDON_RULES.rules,
        references={"clusterName": Reference(CLUSTER, "part")},
        requires=_requires,
        unordered=("podIdentityAssociations",),
        lifecycle=Lifecycle("EKS Add-On", _start, _stop),
    ),
)
