"""EKS add-ons. moto has none: they are in the store, their requests are checked, their pods are applied."""

from __future__ import annotations

import time
import zlib
from typing import Any, Final

import yaml
from typing_extensions import override

from rehearsal.standins.base import Created, Properties, ProviderError
from rehearsal.standins.eks.account import ADDON, Account
from rehearsal.standins.eks.cluster import require_cluster
from rehearsal.standins.eks.groups import NODE_GROUP
from rehearsal.standins.eks.iam import require_role
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.system import ADDONS, BOOTSTRAPPED, workloads
from rehearsal.standins.eks.translate import LOCAL
from rehearsal.standins.rules import RuleBook
from rehearsal.standins.store import Record

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
        valid = text is None or isinstance(yaml.safe_load(text), dict)
    except yaml.YAMLError:
        valid = False
    return (
        None
        if valid
        else "InvalidParameterException: ConfigurationValue provided in request is not a JSON or YAML object"
    )


class AddonKind(Kind):
    """``aws:eks/addon:Addon``.

    An add-on with a Deployment becomes ACTIVE only when its pods can run. Without nodes it stays DEGRADED, and the
    provider gives up after 20 minutes: https://github.com/pulumi/pulumi-eks/issues/1819
    """

    token = ADDON
    in_moto = False
    shape = Shape(
        service="eks",
        operation="CreateAddon",
        table={"CreateAddonRequest": {"resolveConflictsOnCreate": LOCAL}},
        local=("preserve", "resolveConflictsOnCreate", "resolveConflictsOnUpdate"),
        required=("addonName", "clusterName"),
        replaces=("addonName", "clusterName"),
        unordered=("podIdentityAssociations",),
        tags="map",
        tagged="addon",
    )
    rules = ADDON_RULES.rules
    computed = ("addonVersion", "arn", "createdAt", "modifiedAt")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        require_cluster(account, inputs["clusterName"])
        id = f"{inputs['clusterName']}:{inputs['addonName']}"
        if account.store.get(self.token, id):
            raise self.refuse("ResourceInUseException", "Addon already exists.")
        self.change(account, id, {}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        cluster, name = inputs["clusterName"], inputs["addonName"]
        if account.store.get("aws:eks/cluster:Cluster", cluster) is None:
            return None
        return {
            "addonVersion": inputs.get("addonVersion") or ADDONS[name].version,
            "arn": account.arn("eks", f"addon/{cluster}/{name}/{zlib.crc32(id.encode()):08x}"),
            "createdAt": CREATED,
            "modifiedAt": CREATED,
        }

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        for association in new.get("podIdentityAssociations") or []:
            require_role(account, association["roleArn"])

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        """Nothing in AWS: the store forgets it."""

    @override
    def started(self, account: Account, record: Record, *, new: bool) -> Record:
        cluster, name = record.inputs["clusterName"], record.inputs["addonName"]
        values = yaml.safe_load(record.inputs.get("configurationValues") or "{}")
        try:
            account.machines().apply_objects(workloads(name, values))
            if ADDONS[name].needs_nodes:
                wait_for_nodes(account, cluster)
        except Exception as error:
            made = Created(record.id, record.state)
            message = f"waiting for EKS Add-On ({record.id}) create: {error}"
            raise ProviderError(message, partial=made) from error
        return record


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
    found = require_cluster(account, cluster)
    bootstrapped = addon in BOOTSTRAPPED and found.inputs.get("bootstrapSelfManagedAddons", True)
    return bool(bootstrapped) or account.store.get(ADDON, f"{cluster}:{addon}") is not None


def _has_nodes(record: Record, cluster: str) -> bool:
    scaling = record.inputs["scalingConfig"]
    return record.inputs["clusterName"] == cluster and bool(scaling["desiredSize"])
