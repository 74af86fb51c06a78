"""AKS agent pools: one scale set each, over the pool's zones, so sizes are totals.

https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import pulumi

from components.clouds.aks.context import Context, PoolsContext
from components.clouds.aks.maintenance import GPU_UPGRADES
from components.clouds.aks.running_pools import (
    TAKEN_OVER,
    RunningPool,
    as_running,
    count,
    replacing,
    unless_replaced,
)
from components.clouds.declare import aks as declare
from components.clouds.raw import beside
from components.resources import CustomResource
from facts.catalog.aks.cloud import CATALOG
from facts.catalog.aks.naming import pool_name, zone_numbers
from facts.catalog.aks.nodes import MAX_PODS, surge_nodes
from facts.concepts.kubernetes import ALL_OPERANDS, GPU_RESOURCE, Taint
from facts.concepts.parts import Gpus, Image
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks

_IMAGES: Final[dict[Image, str]] = {"ubuntu": "Ubuntu", "azurelinux": "AzureLinux"}

_RESOURCE_TAG: Final = "k8s.io_cluster-autoscaler_node-template_resources_"

_UPGRADE_BY_SURPLUS: Final[aks.AgentPoolUpgradeSettings] = {"maxSurge": "1", "maxUnavailable": "0"}

# Azure's own time, written because a time that is left out stays as it was
# (https://github.com/Azure/azure-rest-api-specs/issues/27373): https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling
_CPU_UPGRADES: Final[aks.AgentPoolUpgradeSettings] = {**_UPGRADE_BY_SURPLUS, "drainTimeoutInMinutes": 30}

# Azure adds them to a new spot pool. An update removes labels that it does not list, from running nodes too, and pods
# that select them, as https://learn.microsoft.com/azure/aks/spot-node-pool recommends, would never start again:
# https://github.com/Azure/AKS/issues/3152
_SPOT_LABELS: Final = {taint.key: str(taint.value) for taint in CATALOG.labels.spot_taints}


def admin_profile(
    pool: Pool, subnet: pulumi.Input[str], tags: dict[str, str], count: pulumi.Input[int]
) -> aks.ManagedClusterAgentPoolProfile:
    """The system pool that the cluster is created with, as an entry of its ``agentPoolProfiles``.

    It names no version: Azure takes those of a cluster's pools all or none in one request, and the others are not in
    this one (https://github.com/Azure/ARO-HCP/pull/662). So its nodes keep theirs when a pinned version is raised,
    until ``az aks nodepool upgrade``; Kubernetes allows three minors between.
    """
    profile: aks.ManagedClusterAgentPoolProfile = {
        "name": pool_name(pool.name),
        "mode": "System",
        "count": count,
        "enableAutoScaling": pool.scaling.autoscaled,
        "upgradeSettings": _UPGRADE_BY_SURPLUS,
    }
    _add_nodes(profile, pool, subnet, tags)
    if pool.scaling.autoscaled:
        profile["minCount"] = pool.scaling.min_nodes
        profile["maxCount"] = pool.scaling.max_nodes
    return profile


def admin_pool(context: Context, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
    """The pool that the cluster was created with: read, not declared, as Azure refuses to create it a second time.

    The cluster's ``agentPoolProfiles`` are where its size and everything else change.
    """
    id = context.control_plane.id.apply(lambda cluster_id: f"{cluster_id}/agentPools/{pool_name(pool.name)}")
    return declare(
        "azure-native:containerservice:AgentPool",
        name,
        cast("aks.AgentPool", {}),  # a resource read by ID has no inputs
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(id=id)),
    )


def aks_taint(taint: Taint) -> str:
    """A taint as AKS writes it (``key=value:Effect``)."""
    return f"{taint.key}={taint.value or ''}:{taint.effect}"


def _inputs(context: PoolsContext, pool: Pool, running: RunningPool) -> aks.AgentPool:
    inputs: aks.AgentPool = {
        "resourceGroupName": context.group,
        "resourceName": context.name,
        "agentPoolName": pool_name(pool.name),
        "mode": "User",
        "count": pool.scaling.min_nodes,
        "enableAutoScaling": True,
        "minCount": pool.scaling.min_nodes,
        "maxCount": pool.scaling.max_nodes,
        "nodeTaints": [aks_taint(taint) for taint in pool.nodes.taints],
        "scaleDownMode": "Delete",
        "scaleSetPriority": "Spot" if pool.scaling.spot else "Regular",
    }
    _add_nodes(inputs, pool, context.subnet, {**context.settings.labels, **_node_template_tags(pool)})
    if context.settings.kubernetes.version is not None:
        # Without it a raised version is the control plane's alone (https://github.com/pulumi/pulumi-azure-native/issues/2094).
        inputs["orchestratorVersion"] = context.settings.kubernetes.version
    if pool.scaling.spot:
        # Deallocated machines would still count against the quota. -1: up to the price on demand.
        # There are no surplus nodes on spot: https://learn.microsoft.com/azure/aks/spot-node-pool
        inputs["nodeLabels"] = {**pool.nodes.labels, **_SPOT_LABELS}
        inputs["scaleSetEvictionPolicy"] = "Delete"
        inputs["spotMaxPrice"] = -1
    else:
        inputs["upgradeSettings"] = _upgrade(pool)
    if context.theirs is not None:
        own = {key: value for key, value in inputs.items() if key not in TAKEN_OVER}
        inputs = cast("aks.AgentPool", {**own, **_taken_over(context.theirs, pool)})
        own_labels = {**pool.nodes.labels, **(_SPOT_LABELS if pool.scaling.spot else {})}
        inputs["nodeLabels"] = {**without_operator(pool), **own_labels}
    where = f"{pool.declared_at}.raw"
    if pool.role == "gpu":
        _add_gpus(inputs, pool)
        running = unless_replaced(pool, running, beside(inputs, pool.raw, where))
    inputs["count"] = count(pool, running)
    _keep_nodes(inputs, pool, running)
    return beside(inputs, pool.raw, where)


def _keep_nodes(inputs: aks.AgentPool, pool: Pool, running: RunningPool) -> None:
    """Name what the nodes of a busy GPU pool run where Azure would reimage them for another one."""
    boot = cast(Mapping[str, Any], inputs.get("securityProfile") or {})
    own = {key: value for key, value in inputs.items() if key in ("orchestratorVersion", "osSKU")}
    kept = as_running(pool, running, {**own, **boot})
    merged = {**inputs, **{key: kept[key] for key in own}}
    if boot:
        merged["securityProfile"] = {key: kept[key] for key in boot}
    inputs.update(cast("aks.AgentPool", merged))


def _taken_over(theirs: pulumi.Output[Mapping[str, Any]], pool: Pool) -> dict[str, Any]:
    return {key: theirs.apply(operator.methodcaller("get", key)) for key in TAKEN_OVER if key not in pool.raw}


def without_operator(pool: Pool) -> dict[str, str]:
    """The label by which NVIDIA's GPU Operator of somebody else leaves nodes alone, where AKS installs the driver."""
    return {ALL_OPERANDS: "false"} if installs_driver(pool.gpus) else {}


def _upgrade(pool: Pool) -> aks.AgentPoolUpgradeSettings:
    default = GPU_UPGRADES if pool.role == "gpu" else _CPU_UPGRADES
    upgrade = pool.nodes.upgrade
    if upgrade is None:
        return default
    settings: aks.AgentPoolUpgradeSettings = {**default, "maxSurge": str(surge_nodes(pool))}
    if upgrade.max_surge is not None or upgrade.max_unavailable is not None:
        settings["maxUnavailable"] = str(upgrade.max_unavailable or 0)
    if upgrade.drain_minutes is not None:
        settings["drainTimeoutInMinutes"] = upgrade.drain_minutes
    return settings


def _add_gpus(inputs: aks.AgentPool, pool: Pool) -> None:
    inputs["gpuProfile"] = {"driver": "Install" if installs_driver(pool.gpus) else "None"}
    if pool.scaling.reservation is not None:
        # A pool in preview may be given one later; a node that has one already keeps it.
        inputs["capacityReservationGroupID"] = pool.scaling.reservation
    if pool.gpus.mig is not None:
        inputs["gpuInstanceProfile"] = f"MIG{pool.gpus.mig}"


def _node_template_tags(pool: Pool) -> dict[str, str]:
    """Tags of the scale set that correct what the autoscaler knows of an empty pool: it takes all GPUs for NVIDIA's.

    https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/azure/azure_template.go
    """
    if pool.gpus.of_nvidia:
        return {}
    counts = {pool.gpus.resource: pool.gpus.per_node, GPU_RESOURCE: 0}
    return {f"{_RESOURCE_TAG}{resource.replace('/', '_')}": str(count) for resource, count in counts.items()}


def image(pool: Pool) -> str:
    """The image's name in both APIs. AMD's driver is for Ubuntu 24.04, and ``Ubuntu`` is another from Kubernetes 1.38:
    https://github.com/Azure/AKS/releases/tag/2026-10-25"""
    return _IMAGES[pool.nodes.image] if pool.gpus.of_nvidia else "Ubuntu2404"


def installs_driver(gpus: Gpus) -> bool:
    """Whether AKS installs the driver; it has none for AMD's GPUs: https://learn.microsoft.com/azure/aks/use-amd-gpus"""
    return gpus.of_nvidia and gpus.drivers == "managed"


def _add_nodes(
    inputs: aks.AgentPool | aks.ManagedClusterAgentPoolProfile,
    pool: Pool,
    subnet: pulumi.Input[str] | None,
    tags: dict[str, str],
) -> None:
    """What both forms of a pool say of its nodes."""
    inputs["type"] = "VirtualMachineScaleSets"
    inputs["vmSize"] = pool.nodes.machine_type
    inputs["osType"] = "Linux"
    inputs["osSKU"] = image(pool)
    inputs["osDiskSizeGB"] = pool.nodes.disk_gb
    # Ephemeral disks are limited by what each size has; a managed disk of any size fits them all.
    inputs["osDiskType"] = "Managed"
    inputs["maxPods"] = MAX_PODS
    if subnet is not None:
        inputs["vnetSubnetID"] = subnet
    if zones := zone_numbers(pool.nodes.zones):
        inputs["availabilityZones"] = zones
    inputs["nodeLabels"] = dict(pool.nodes.labels)
    # Registered once per subscription: https://learn.microsoft.com/azure/aks/enable-host-encryption
    inputs["enableEncryptionAtHost"] = True
    inputs["enableNodePublicIP"] = False
    machine = CATALOG.machines.get(pool.nodes.machine_type)
    if machine is None or machine.trusted_launch:
        # AKS's GPU driver for Ubuntu is not signed, so secure boot would not load it; a user's may not be either:
        # https://learn.microsoft.com/azure/aks/use-trusted-launch
        boot: aks.AgentPoolSecurityProfile = {"enableVTPM": True, "enableSecureBoot": pool.role != "gpu"}
        inputs["securityProfile"] = boot
    inputs["tags"] = tags


def agent_pool(
    context: PoolsContext, name: str, pool: Pool, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> CustomResource:
    """A separate pool, in addition to the one of the cluster's creation; declared ``after`` other resources."""
    # Its owner may change these of other pools; with a change here the nodes would be made again, jobs and all.
    ignored = [] if context.theirs is None else [key for key in TAKEN_OVER if key not in pool.raw]
    behaviour = pulumi.ResourceOptions(
        depends_on=list(after),
        ignore_changes=ignored,
        replace_on_changes=replacing(pool),
        # Two pools of one name cannot exist side by side.
        delete_before_replace=True,
        # One request ends the cluster with its pools; one for each pool would also wait for disruption budgets:
        # https://learn.microsoft.com/azure/aks/delete-node-pool
        deleted_with=next(iter(context.made), None),
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="30m"),
    )
    return declare(
        "azure-native:containerservice:AgentPool",
        name,
        _inputs(context, pool, context.running_pools.find(pool, [*context.made, *after])),
        pulumi.ResourceOptions.merge(opts, behaviour),
    )
