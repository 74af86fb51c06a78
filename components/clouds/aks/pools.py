"""AKS agent pools: one scale set each, over the pool's zones, so sizes are totals.

https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.catalog.aks.nodes import MAX_PODS
from components.clouds.aks.naming import pool_name, zone_numbers
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec, Image
from components.resources import CustomResource
from policies.rules.model import Taint

if TYPE_CHECKING:
    from components.clouds.aks.cluster import AksCluster

_OS_SKUS: Final[dict[Image, str]] = {"ubuntu": "Ubuntu", "azurelinux": "AzureLinux"}

# Replacing nodes one by one by a surplus node would need quota for one more GPU machine, which few subscriptions have.
_UPGRADE_IN_PLACE: Final = {"maxSurge": "0", "maxUnavailable": "1"}
_UPGRADE_BY_SURPLUS: Final = {"maxSurge": "1", "maxUnavailable": "0"}

# https://learn.microsoft.com/azure/aks/use-trusted-launch
_TRUSTED_LAUNCH: Final = {"enableVTPM": True, "enableSecureBoot": True}

# What Azure refuses to change of a pool, besides vmSize and gpuInstanceProfile. The provider knows only those two and
# leaves the others to Azure's error: https://github.com/pulumi/pulumi-azure-native/pull/3655
_FIXED: Final = (
    "availabilityZones",
    "enableEncryptionAtHost",
    "gpuProfile.driver",
    "maxPods",
    "osDiskSizeGB",
    "osDiskType",
    "scaleSetEvictionPolicy",
    "scaleSetPriority",
    "spotMaxPrice",
    "vnetSubnetID",
)


def admin_profile(spec: AdminPoolSpec, subnet: pulumi.Input[str], tags: dict[str, str]) -> dict[str, Any]:
    """The system pool that the cluster is created with, as an entry of its ``agentPoolProfiles``."""
    profile = {
        **_nodes(spec, subnet, tags),
        "name": pool_name(spec.name),
        "mode": "System",
        "osSKU": _OS_SKUS["ubuntu"],
        "count": spec.total_nodes,
        "enableAutoScaling": spec.max_nodes is not None,
        "upgradeSettings": _UPGRADE_BY_SURPLUS,
        "securityProfile": _TRUSTED_LAUNCH,
    }
    if spec.max_nodes is not None:
        profile |= {"minCount": spec.total_nodes, "maxCount": spec.max_nodes}
    return profile


def admin_pool(cluster: AksCluster, name: str, spec: AdminPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """The pool that the cluster was created with: read, not declared, as Azure refuses to create it a second time.

    The cluster's ``agentPoolProfiles`` are where its size and everything else change.
    """
    id = cluster.cluster.id.apply(lambda cluster_id: f"{cluster_id}/agentPools/{pool_name(spec.name)}")
    return CustomResource(
        "azure-native:containerservice:AgentPool",
        name,
        {},
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(id=id)),
    )


def cpu_node_pool(cluster: AksCluster, name: str, spec: CpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool without GPUs."""
    inputs = {
        **_autoscaled(cluster, spec),
        "osSKU": _OS_SKUS["ubuntu"],
        "securityProfile": _TRUSTED_LAUNCH,
        **({} if spec.spot else {"upgradeSettings": _UPGRADE_BY_SURPLUS}),
    }
    return _agent_pool(cluster, name, spec, inputs, opts)


def gpu_node_pool(cluster: AksCluster, name: str, spec: GpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool of GPU nodes that starts empty."""
    inputs = {
        **_autoscaled(cluster, spec),
        "osSKU": _OS_SKUS[spec.image],
        # AKS's driver for Ubuntu is not signed, so secure boot would not load it; what a user brings is not known.
        "securityProfile": {"enableVTPM": True, "enableSecureBoot": False},
        "gpuProfile": {"driver": "Install" if spec.drivers == "managed" else "None"},
        # There are no surplus nodes on spot: https://learn.microsoft.com/azure/aks/spot-node-pool
        **({} if spec.spot else {"upgradeSettings": _UPGRADE_IN_PLACE}),
    }
    if spec.mig is not None:
        inputs["gpuInstanceProfile"] = f"MIG{spec.mig}"
    return _agent_pool(cluster, name, spec, inputs, opts)


def aks_taint(taint: Taint) -> str:
    """A taint as AKS writes it (``key=value:Effect``)."""
    return f"{taint.key}={taint.value or ''}:{taint.effect}"


def _autoscaled(cluster: AksCluster, spec: GpuPoolSpec | CpuPoolSpec) -> dict[str, Any]:
    inputs: dict[str, Any] = {
        **_nodes(spec, cluster.subnet, dict(cluster.spec.labels)),
        "mode": "User",
        "count": spec.min_nodes,
        "enableAutoScaling": True,
        "minCount": spec.min_nodes,
        "maxCount": spec.max_nodes,
        "nodeTaints": [aks_taint(taint) for taint in spec.taints],
        "scaleDownMode": "Delete",
        "scaleSetPriority": "Spot" if spec.spot else "Regular",
    }
    if spec.spot:
        # Deallocated machines would still count against the quota. -1: up to the price on demand.
        inputs |= {"scaleSetEvictionPolicy": "Delete", "spotMaxPrice": -1}
    return inputs


def _nodes(
    spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec, subnet: pulumi.Input[str], tags: dict[str, str]
) -> dict[str, Any]:
    return {
        "type": "VirtualMachineScaleSets",
        "vmSize": spec.machine_type,
        "osType": "Linux",
        "osDiskSizeGB": spec.disk_gb,
        # Ephemeral disks are limited by what each size has; a managed disk of any size fits them all.
        "osDiskType": "Managed",
        "maxPods": MAX_PODS,
        "vnetSubnetID": subnet,
        "availabilityZones": zone_numbers(spec.zones),
        "nodeLabels": dict(spec.labels),
        # Registered once per subscription: https://learn.microsoft.com/azure/aks/enable-host-encryption
        "enableEncryptionAtHost": True,
        "enableNodePublicIP": False,
        "tags": tags,
    }


def _agent_pool(
    cluster: AksCluster,
    name: str,
    spec: CpuPoolSpec | GpuPoolSpec,
    inputs: dict[str, Any],
    opts: pulumi.ResourceOptions,
) -> CustomResource:
    common = {
        "resourceGroupName": cluster.group,
        "resourceName": cluster.cluster.output("name"),
        "agentPoolName": pool_name(spec.name),
    }
    behaviour = pulumi.ResourceOptions(
        # After creation the autoscaler owns the size.
        ignore_changes=["count"],
        replace_on_changes=list(_FIXED),
        # Two pools of one name cannot exist side by side.
        delete_before_replace=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="30m"),
    )
    return CustomResource(
        "azure-native:containerservice:AgentPool",
        name,
        {**common, **inputs},
        pulumi.ResourceOptions.merge(opts, behaviour),
    )
