"""The existing pools of a cluster, as the autoscaler and earlier updates left them.

The provider always sends a complete pool, with its ``count``
(https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/crud/crud.go). An ignored ``count`` is
sent as it was recorded (https://www.pulumi.com/docs/iac/concepts/resources/options/ignorechanges/), which Azure refuses
while the pool has another size (https://github.com/hashicorp/terraform-provider-azurerm/pull/4543), or applies, ending
busy nodes (https://github.com/kubernetes-sigs/cluster-api-provider-azure/pull/1991). It is uncertain whether
Azure still refuses; the current size of the pool is right in both cases, even below a new minimum
(https://github.com/Azure/AKS/issues/1758).

A new Kubernetes version drains and reimages every node of a pool, which ends its jobs
(https://learn.microsoft.com/azure/aks/upgrade-aks-cluster). So do another image
(https://learn.microsoft.com/azure/aks/upgrade-os-version), secure boot and vTPM
(https://learn.microsoft.com/azure/aks/node-disruption-policy), also where somebody changed them with ``az`` and the
complete pool would turn them back. So a GPU pool keeps what its nodes run, and gets the new one at the first update
that finds it empty; Azure allows three minors behind the control plane
(https://learn.microsoft.com/azure/aks/supported-kubernetes-versions).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterLookup
from components.clouds.data_lookup import data_lookup, look_up
from components.clouds.raw import at, changing
from components.settings import Settings
from facts.catalog.aks.naming import pool_name
from facts.concepts.pool import Pool

CLUSTER: Final = "azure-native:containerservice:getManagedCluster"
POOL: Final = "azure-native:containerservice:getAgentPool"
LONG_TERM: Final = "AKSLongTermSupport"

_REIMAGING: Final = {
    "orchestratorVersion": "Kubernetes version",
    "osSKU": "image",
    "enableSecureBoot": "secure boot",
    "enableVTPM": "vTPM",
}

# What Azure refuses to change of a pool. The provider knows only the first two and leaves the others to Azure's error:
# https://github.com/pulumi/pulumi-azure-native/pull/3655
_FIXED: Final = (
    "vmSize",
    "gpuInstanceProfile",
    "availabilityZones",
    "capacityReservationGroupID",
    "enableEncryptionAtHost",
    "enableUltraSSD",
    "gpuProfile.driver",
    "hostGroupID",
    "kubeletConfig",
    "kubeletDiskType",
    "linuxOSConfig",
    "maxPods",
    "osDiskSizeGB",
    "osDiskType",
    "podSubnetID",
    "proximityPlacementGroupID",
    "scaleSetEvictionPolicy",
    "scaleSetPriority",
    "spotMaxPrice",
    "vnetSubnetID",
)

# Inputs of ``raw`` for which Azure reimages the nodes, with the jobs on them, and the provider says update:
# https://learn.microsoft.com/azure/aks/enable-fips-nodes, https://learn.microsoft.com/azure/aks/localdns-custom,
# https://learn.microsoft.com/azure/aks/node-disruption-policy
_REIMAGING_RAW: Final = ("enableFIPS", "localDNSProfile", "securityProfile.sshAccess")

TAKEN_OVER: Final = ("enableEncryptionAtHost", "maxPods", "podIPAllocationMode", "podSubnetID", "vnetSubnetID")
"""Of a pool in a cluster that somebody else made: what it has as those that are there, unless its ``raw`` says it."""

# Azure chooses them where nobody does, and answers all others as they were written: ``Computed`` in
# https://github.com/hashicorp/terraform-provider-azurerm/blob/main/internal/services/containers/kubernetes_cluster_node_pool_resource.go
_CHOSEN: Final = ("kubeletDiskType", "scaleSetEvictionPolicy", "spotMaxPrice")

# ``PulumiAzcoreResponseError`` in
# https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/client_azcore.go
NOT_THERE: Final = "Status=404 "

RunningPool = pulumi.Output[Mapping[str, Any]] | None
"""A pool as Azure has it; ``None`` of one that is new, and of one that no autoscaler changes. Empty if it ended with a
cluster that this update replaced."""


class RunningPools:
    """The agent pools of a stack's cluster; none if it does not exist yet (``cluster_exists``). ``secrets_key`` is the
    URL of the key that encrypts its Secrets, ``None`` for Azure's own. ``version`` is what its control plane runs, and
    ``long_term`` whether it has long-term support. ``busy`` are its GPU pools with nodes, as messages name them, and
    ``node_os_channel`` is how its nodes get patches.

    Raises:
        Exception: Azure does not say whether there is such a cluster.
    """

    def __init__(self, settings: Settings, parent: pulumi.Resource) -> None:
        # Both have the same name (``AksCluster``), known before either is declared.
        self._place = {"resourceGroupName": settings.cluster_name, "resourceName": settings.cluster_name}
        self._parent = parent
        resource = _look_up(CLUSTER, self._place, parent)
        self.cluster_exists = bool(resource)
        kms = (resource.get("securityProfile") or {}).get("azureKeyVaultKms") or {}
        self.secrets_key: str | None = kms.get("keyId") if kms.get("enabled") else None
        self.version = str(resource.get("currentKubernetesVersion") or "")
        self.long_term = resource.get("supportPlan") == LONG_TERM
        profiles = resource.get("agentPoolProfiles") or ()
        counts = {profile["name"]: int(profile.get("count") or 0) for profile in profiles}
        self._names = frozenset(counts)
        nodes = {pool.name: counts.get(pool_name(pool.name), 0) for pool in settings.gpu_pools}
        self.busy = tuple(f"{name} ({count})" for name, count in nodes.items() if count)
        upgrades = resource.get("autoUpgradeProfile") or {}
        self.node_os_channel: str | None = upgrades.get("nodeOSUpgradeChannel")

    def find(self, pool: Pool, after: Sequence[pulumi.Resource]) -> RunningPool:
        """The existing pool, read when all of ``after`` is up to date."""
        name = pool_name(pool.name)
        if not pool.scaling.autoscaled or name not in self._names:
            return None
        return data_lookup(POOL, {**self._place, "agentPoolName": name}, self._parent, after, NOT_THERE)


class JoinedPools:
    """The agent pools of a stack in a cluster that somebody else made, of which ``found`` says what is there."""

    def __init__(self, found: pulumi.Output[ClusterLookup], parent: pulumi.Resource) -> None:
        self._found, self._parent = found, parent

    def find(self, pool: Pool, after: Sequence[pulumi.Resource]) -> RunningPool:
        """The existing pool, read when all of ``after`` is up to date; empty if it is new."""

        def look(known: ClusterLookup) -> Any:
            if pool.name not in known.pools:
                return {}
            place = {"resourceGroupName": known.network["resourceGroup"], "resourceName": known.name}
            return data_lookup(POOL, {**place, "agentPoolName": pool_name(pool.name)}, self._parent, after, NOT_THERE)

        return self._found.apply(look)


def replacing(pool: Pool) -> list[str]:
    """The inputs of which another value replaces the pool."""
    # Only what the stack file writes: Azure leaves alone what somebody else set.
    reimaging = _REIMAGING_RAW if pool.role == "gpu" else ()
    return [*_FIXED, *(path for path in reimaging if at(pool.raw, path) is not None)]


def unless_replaced(pool: Pool, running: RunningPool, declared: Mapping[str, Any]) -> RunningPool:
    """``running``, but as without nodes if ``declared`` replaces the pool: the new one has none of the old one's.

    Azure makes no pool of a patch version that it no longer offers, nor machines that it does not have at the moment:
    https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
    """
    if running is None:
        return None
    paths = [path for path in replacing(pool) if path not in TAKEN_OVER or path in pool.raw]
    keys = {path.partition(".")[0] for path in paths}
    target = _comparable({key: declared.get(key) for key in keys}) or {}

    def known(answer: Mapping[str, Any]) -> Mapping[str, Any]:
        runs = _comparable({key: answer.get(key) for key in keys}) or {}
        # What Azure leaves out is a reason in raw alone: a pool that stays is never sent another size.
        other = [
            path
            for path in changing(target, runs, paths)
            if at(pool.raw, path) is not None or at(runs, path) is not None
        ]
        ended = [path for path in paths if at(target, path) is None and at(runs, path) is not None]
        replaced = other or {*ended} - {*_CHOSEN}
        return {**answer, "count": pool.scaling.min_nodes} if replaced else answer

    return running.apply(known)


def _comparable(value: Any) -> Any:
    """A value as it is compared; None where there is none. Azure compares names without their case, lists are sets, and
    numbers come back as floats."""
    if isinstance(value, Mapping):
        return {key: each for key, inner in value.items() if (each := _comparable(inner)) is not None} or None
    if not value:
        return None
    if isinstance(value, (list, tuple)):
        return sorted(str(_comparable(each)) for each in value)
    return f"{value:.15g}" if isinstance(value, (int, float)) else str(value).lower()


def count(pool: Pool, running: RunningPool) -> pulumi.Input[int]:
    """What to send as the pool's ``count``: the nodes that it has, of any other its minimum."""
    return (
        pool.scaling.min_nodes
        if running is None
        else running.apply(lambda pool_state: int(pool_state.get("count", pool.scaling.min_nodes)))
    )


def as_running(pool: Pool, running: RunningPool, declared: Mapping[str, Any]) -> dict[str, pulumi.Input[Any]]:
    """``declared`` of the nodes, by ``_REIMAGING``'s names; of a GPU pool with nodes, what they run."""
    if pool.role != "gpu" or running is None:
        return dict(declared)
    kept = running.apply(lambda pool_state: _kept(pool_state, pool, declared))
    return {key: kept.apply(operator.itemgetter(key)) for key in declared}


def _kept(running: Mapping[str, Any], pool: Pool, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    nodes = int(running.get("count", 0))
    if not nodes:
        return declared
    version, boot = str(running["currentOrchestratorVersion"]), running.get("securityProfile") or {}
    target = declared.get("orchestratorVersion", "")
    node = {
        "orchestratorVersion": target if version.startswith(f"{target}.") else version,
        "osSKU": running.get("osSKU"),
        "enableSecureBoot": boot.get("enableSecureBoot"),
        "enableVTPM": boot.get("enableVTPM"),
    }
    runs = {key: value if node[key] is None else node[key] for key, value in declared.items()}
    waiting = [words for key, words in _REIMAGING.items() if key in declared and runs[key] != declared[key]]
    if waiting:
        change = " and ".join(waiting)
        pulumi.info(f"pool {pool.name} has nodes ({nodes}): run `up` again when it has none to change {change}")
    return runs


def _look_up(token: str, arguments: Mapping[str, Any], parent: pulumi.Resource) -> Mapping[str, Any]:
    """The result of a look-up; empty if the resource does not exist.

    Look-ups of a missing resource fail: https://github.com/pulumi/pulumi/issues/12346.
    """
    try:
        return look_up(token, arguments, parent)
    except Exception as error:
        if NOT_THERE in str(error):
            return {}
        raise
