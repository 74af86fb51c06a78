"""GKE node pools. Sizes are totals over the pool's zones: ``min/maxNodeCount`` would count per zone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.gke.node_config import node_config
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.resources import CustomResource

if TYPE_CHECKING:
    from components.clouds.gke.cluster import GkeCluster

# Replacing nodes one by one by a surplus node would need quota for one more GPU machine, which few projects have.
_UPGRADE_IN_PLACE: Final = {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
_UPGRADE_BY_SURPLUS: Final = {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}


def admin_pool(cluster: GkeCluster, name: str, spec: AdminPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """A pool of ``nodes`` per zone that never has fewer, so that system pods always have a home."""
    config = node_config(
        machine_type=spec.machine_type,
        disk_gb=spec.disk_gb,
        service_account=cluster.node_account,
        labels=spec.labels,
        resource_labels=cluster.spec.labels,
        spot=spec.spot,
    )
    size = {**_admin_size(spec), "upgradeSettings": _UPGRADE_BY_SURPLUS}
    return _node_pool(cluster, name, spec, {**size, "nodeConfig": config}, opts)


def cpu_node_pool(cluster: GkeCluster, name: str, spec: CpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool without GPUs."""
    config = node_config(
        machine_type=spec.machine_type,
        disk_gb=spec.disk_gb,
        service_account=cluster.node_account,
        labels=spec.labels,
        taints=spec.taints,
        resource_labels=cluster.spec.labels,
        spot=spec.spot,
    )
    size = {**_autoscaled(spec), "upgradeSettings": _UPGRADE_BY_SURPLUS}
    return _node_pool(cluster, name, spec, {**size, "nodeConfig": config}, opts)


def gpu_node_pool(cluster: GkeCluster, name: str, spec: GpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool of GPU nodes that starts empty."""
    config = node_config(
        machine_type=spec.machine_type,
        disk_gb=spec.disk_gb,
        service_account=cluster.node_account,
        labels=spec.labels,
        taints=spec.taints,
        resource_labels=cluster.spec.labels,
        image=spec.image,
        spot=spec.spot,
        # Google signs the driver it builds for COS; the one for Ubuntu is built on the node and would not load.
        secure_boot=spec.image == "cos",
    )
    config["guestAccelerators"] = [_accelerator(spec)]
    if spec.reservation is not None:
        config["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [spec.reservation],
        }
    size = {**_autoscaled(spec), "upgradeSettings": _UPGRADE_IN_PLACE}
    return _node_pool(cluster, name, spec, {**size, "nodeConfig": config}, opts)


def location_policy(spec: GpuPoolSpec | CpuPoolSpec) -> str:
    """``ANY`` where capacity is scarce (GPUs, spot): a node in whichever zone has one, unused reservations first."""
    return "ANY" if isinstance(spec, GpuPoolSpec) or spec.spot else "BALANCED"


def _admin_size(spec: AdminPoolSpec) -> dict[str, Any]:
    if spec.max_nodes is None:
        return {"nodeCount": spec.nodes}
    limits = {"totalMinNodeCount": spec.total_nodes, "totalMaxNodeCount": spec.max_nodes, "locationPolicy": "BALANCED"}
    return {"initialNodeCount": spec.nodes, "autoscaling": limits}


def _autoscaled(spec: GpuPoolSpec | CpuPoolSpec) -> dict[str, Any]:
    return {
        "initialNodeCount": _initial_nodes_per_zone(spec),
        "autoscaling": {
            "totalMinNodeCount": spec.min_nodes,
            "totalMaxNodeCount": spec.max_nodes,
            "locationPolicy": location_policy(spec),
        },
    }


def _initial_nodes_per_zone(spec: GpuPoolSpec | CpuPoolSpec) -> int:
    zones = len(spec.zones)
    enough = math.ceil(spec.min_nodes / zones)
    return enough if enough * zones <= spec.max_nodes else spec.min_nodes // zones


def _accelerator(spec: GpuPoolSpec) -> dict[str, Any]:
    # Left out, the meaning of the driver version depends on the cluster's version, so it is always written.
    version = spec.driver_version.upper() if spec.drivers == "managed" else "INSTALLATION_DISABLED"
    accelerator: dict[str, Any] = {
        "type": spec.accelerator,
        "count": spec.gpus_per_node,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": version},
    }
    if spec.time_sharing is not None:
        # GKE labels such nodes and its autoscaler counts the shared GPUs of an empty pool (unlike upstream's):
        # https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
        accelerator["gpuSharingConfig"] = {
            "gpuSharingStrategy": "TIME_SHARING",
            "maxSharedClientsPerGpu": spec.time_sharing.clients_per_gpu,
        }
    return accelerator


def _node_pool(
    cluster: GkeCluster,
    name: str,
    spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec,
    inputs: dict[str, Any],
    opts: pulumi.ResourceOptions,
) -> CustomResource:
    common = {
        "project": cluster.spec.project,
        "name": spec.name,
        "cluster": cluster.cluster.output("name"),
        "location": cluster.location,
        "nodeLocations": list(spec.zones),
        "management": {"autoRepair": True, "autoUpgrade": True},
    }
    behaviour = pulumi.ResourceOptions(
        # After creation the autoscaler owns the size; only that of an admin pool without one is ours to change.
        ignore_changes=[]
        if isinstance(spec, AdminPoolSpec) and spec.max_nodes is None
        else ["initialNodeCount", "nodeCount"],
        # Two pools of one name cannot exist side by side.
        delete_before_replace=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="30m"),
    )
    return CustomResource(
        "gcp:container/nodePool:NodePool", name, {**common, **inputs}, pulumi.ResourceOptions.merge(opts, behaviour)
    )
