"""GKE node pools. Sizes are totals over the pool's zones, but of slices: ``min/maxNodeCount`` count per zone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.declare import gke as declare
from components.clouds.gke.context import Context
from components.clouds.gke.node_config import node_config
from components.clouds.names import shortened
from components.clouds.raw import beside
from components.resources import CustomResource
from facts import catalog
from facts.catalog.gke.nodes import surge_nodes
from facts.concepts.kubernetes import ALL_OPERANDS
from facts.concepts.parts import Gpus
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import gke

# An upgrade drains a node within an hour, even if a job runs on it. So a GPU pool keeps its version until support of
# the control plane's version ends, or until you upgrade it, which has to be before it is more than two minors older:
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
_NO_UPGRADES_BY_ITSELF: Final[gke.NodePoolMaintenancePolicy] = {"exclusionUntilEndOfSupports": [{"enabled": True}]}

# A change would replace all nodes with their jobs, so a pool keeps the values of its creation unless ``raw`` sets them.
# GKE sets the features of some TPUs itself: https://github.com/GoogleCloudPlatform/cloud-foundation-fabric/pull/3972
_IMMUTABLE: Final = tuple(
    f"nodeConfig.{key}" for key in ("advancedMachineFeatures", "ephemeralStorageLocalSsdConfig", "gvnic")
)

# Google changes these by draining and replacing the nodes, with the jobs on them, and the provider says update.
# As a replacement, a preview says it: https://github.com/GoogleCloudPlatform/magic-modules/pull/9575. Those that the
# program does not set come from ``raw``. Sources of each: nodeConfigUpdateMode and the fields' own texts in
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/projects.locations.clusters.nodePools/update
_RECREATES_NODES: Final = tuple(
    f"nodeConfig.{key}"
    for key in (
        "bootDisk",
        "confidentialNodes",
        "containerdConfig",
        "diskSizeGb",
        "diskType",
        "fastSocket",
        "gcfsConfig",
        "gvnic",
        "imageType",
        "kubeletConfig",
        "linuxNodeConfig",
        "loggingVariant",
        "machineType",
        "storagePools",
        "workloadMetadataConfig",
    )
)

# Pascal and Volta: https://forums.developer.nvidia.com/t/unix-graphics-feature-deprecation-schedule/60588. Which driver
# "latest" is changes with the releases of Container-Optimized OS.
_LAST_DRIVER_580: Final = frozenset({"nvidia-p4", "nvidia-p100", "nvidia-v100"})
_TOO_NEW: Final = (
    "{gpu}: NVIDIA's drivers support it up to branch 580. When the latest driver of Container-Optimized OS is newer, "
    "nodes come without a usable GPU, and cost: write driverVersion: default"
)

_WHO: Final = "serviceAccount"
_READ: Final = (_WHO, "oauthScopes", "resourceManagerTags", "tags", "workloadMetadataConfig")

# With the label GKE's own plugin stays away, and its driver, which comes with it:
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpu-operator
WITHOUT_PLUGIN: Final = "gke-no-default-nvidia-gpu-device-plugin"

_PUBLIC_NODES: Final = (
    "The nodes of pool {pool} have public addresses, because an older version of this program made it so. They keep "
    "them for the jobs that run there: to have private ones, give {entry} another name when it is idle"
)


_FABRIC_STAYS: Final = (
    "pool {pool} keeps the networks of fabric: rdma, which the stack file no longer has: to have a pool without them, "
    "give {entry} another name when it is idle"
)

# https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies
_DRAIN_DEFAULT: Final = "3600s"


def node_pool(context: Context, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
    """One pool; the admin pool never has fewer nodes than it starts with, so that system pods always have a home."""
    settings = context.settings
    upgraded: pulumi.Input[bool] = True
    if context.nodes is not None:
        pool = replace(pool, nodes=replace(pool.nodes, labels={**without_operator(pool), **pool.nodes.labels}))
        # Without a release channel upgrades can be turned off, and nobody says whether an exclusion is accepted:
        # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/release-channels
        upgraded = context.nodes.apply(lambda nodes: bool(nodes["channel"]))
    is_slice = pool.gpus.slice_nodes > 1
    config = node_config(settings, context.node_account, pool.nodes.machine_type, pool.nodes.disk_gb, pool)
    if pool.role == "gpu":
        config |= _gpus(pool)
    if context.pods_as_nodes is not False:
        config["workloadMetadataConfig"] = {"mode": _metadata_mode(context.pods_as_nodes)}
    if context.nodes is not None:
        config["oauthScopes"] = context.nodes.apply(lambda nodes: nodes["oauthScopes"])
        raw = pool.raw.get("nodeConfig") or {}
        if "tags" not in raw:
            config["tags"] = context.nodes.apply(lambda nodes: nodes["tags"])
        if "resourceManagerTags" not in raw:
            config["resourceManagerTags"] = context.nodes.apply(lambda nodes: nodes["resourceManagerTags"])
    inputs: gke.NodePool = {
        "project": settings.project,
        "name": pool.name,
        "cluster": context.name,
        "location": context.location,
        "nodeLocations": list(pool.nodes.zones),
        # A flex-start node is not repaired: a replacement would wait for capacity.
        "management": {"autoRepair": pool.scaling.capacity_type != "flex-start", "autoUpgrade": upgraded},
        "nodeConfig": config,
    }
    if pool.scaling.capacity_type != "flex-start":
        # Of those GKE keeps a strategy of its own, and a declared one would be a change in every preview:
        # https://github.com/crossplane-contrib/provider-upjet-gcp/issues/1028
        inputs["upgradeSettings"] = _upgrade(pool)
    running = context.deployed.outputs("gcp:container/nodePool:NodePool", name)
    if drain := _drain(pool, running):
        inputs["nodeDrainConfigs"] = [{"graceTerminationDuration": drain, "pdbTimeoutDuration": drain}]
    if pool.nodes.compact:
        # https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement
        inputs["placementPolicy"] = {"type": "COMPACT"}
    deleted_with: pulumi.Resource | None = context.control_plane
    if is_slice and pool.gpus.topology is not None:
        # Not for a node by itself: https://github.com/AI-Hypercomputer/xpk/pull/825
        inputs["placementPolicy"] = {"type": "COMPACT", "tpuTopology": pool.gpus.topology}
        if pool.nodes.machine_type.startswith("tpu7x-"):
            # Such a pool is deleted individually: Google keeps a policy that a pool uses.
            policy, deleted_with = _workload_policy(context, name, pool, opts), None
            # As Google's own autoscaler makes them (autoscaling_gke_client_v1beta1.go, TYPE_UNSPECIFIED):
            # https://github.com/GoogleCloudPlatform/cluster-autoscaler/tree/main/pkg/cloudprovider/gke/gkeclient
            inputs["placementPolicy"] |= {"type": "", "policyName": policy.outputs["name"]}
    if pool.nodes.fabric is not None:
        # Google makes the networks; the label has its driver offer the devices as claims:
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
        # The provider sends a block without enablePrivateNodes as one of public nodes.
        inputs["networkConfig"] = {"acceleratorNetworkProfile": "auto", "enablePrivateNodes": context.private_nodes}
    elif "networkConfig" in pool.raw:
        inputs["networkConfig"] = {"enablePrivateNodes": context.private_nodes}
    if pool.nodes.image_streaming is not None:
        # https://cloud.google.com/kubernetes-engine/docs/how-to/image-streaming. Left out, it stays as it was:
        # https://github.com/pulumi/pulumi-gcp/issues/1072
        config["gcfsConfig"] = {"enabled": pool.nodes.image_streaming}
    if isinstance(upgraded, pulumi.Output):
        inputs["maintenancePolicies"] = upgraded.apply(lambda channel: [_NO_UPGRADES_BY_ITSELF] if channel else [])
    elif pool.role == "gpu":
        inputs["maintenancePolicies"] = [_NO_UPGRADES_BY_ITSELF]
    if pool.scaling.autoscaled:
        inputs["initialNodeCount"] = _initial_nodes_per_zone(pool)
        low, high = pool.scaling.min_nodes, pool.scaling.max_nodes
        # Google takes a slice without a maximum per zone for one of 0 nodes: https://github.com/vllm-project/ci-infra/pull/545
        inputs["autoscaling"] = (
            {"minNodeCount": low, "maxNodeCount": high, "locationPolicy": location_policy(pool)}
            if is_slice
            else {"totalMinNodeCount": low, "totalMaxNodeCount": high, "locationPolicy": location_policy(pool)}
        )
    else:
        inputs["nodeCount"] = pool.nodes_per_zone
    raw_config = pool.raw.get("nodeConfig") or {}
    immutable = [path for path in _IMMUTABLE if path.rpartition(".")[2] not in raw_config]
    if settings.existing_cluster is not None:
        # Its owner may change these for new pools; with a change here the nodes would be made again, jobs and all.
        immutable += [
            f"nodeConfig.{key}" for key in _READ if not settings.existing_cluster.node_identity or key != _WHO
        ]
    if _keeps_public_nodes(pool, running.get("networkConfig") or {}, declared="networkConfig" in inputs):
        # Whether Google makes the nodes again for this, with the jobs on them, is not known.
        immutable.append("networkConfig.enablePrivateNodes")
    options = pulumi.ResourceOptions(
        # The autoscaler owns the size after creation; without one the program does.
        ignore_changes=[*immutable, *(("initialNodeCount", "nodeCount") if pool.scaling.autoscaled else ())],
        replace_on_changes=[*_RECREATES_NODES, "placementPolicy"] if pool.role == "gpu" else [],
        # Deleted with its cluster by one request: nodes created while pools are deleted one by one would remain.
        deleted_with=deleted_with,
        # Two pools of one name cannot exist side by side.
        delete_before_replace=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="30m"),
    )
    inputs = beside(inputs, pool.raw, f"{pool.declared_at}.raw")
    return declare("gcp:container/nodePool:NodePool", name, inputs, pulumi.ResourceOptions.merge(opts, options))


def _keeps_public_nodes(pool: Pool, running: Mapping[str, Any], *, declared: bool) -> bool:
    """Whether the nodes of the ``running`` network keep their public addresses; warns of what a pool keeps."""
    if not declared and running.get("acceleratorNetworkProfile"):
        pulumi.warn(_FABRIC_STAYS.format(pool=pool.name, entry=pool.declared_at))
    public = declared and bool(running) and not running.get("enablePrivateNodes")
    if public:
        pulumi.warn(_PUBLIC_NODES.format(pool=pool.name, entry=pool.declared_at))
    return public


def has_plugin_of_others(pool: Pool) -> bool:
    """Whether the pool is made for a device plugin of others."""
    return pool.nodes.labels.get(WITHOUT_PLUGIN) == "true" and pool.gpus.drivers == "daemonset"


def without_operator(pool: Pool) -> dict[str, str]:
    """The label by which NVIDIA's GPU Operator of somebody else leaves nodes alone, where GKE's own plugin runs."""
    return {ALL_OPERANDS: "false"} if pool.gpus.of_nvidia and not has_plugin_of_others(pool) else {}


def _workload_policy(context: Context, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
    """What places the nodes of a slice of TPU7x: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpu-ironwood

    Its name has the topology, so that a new one is there before the pool moves to it."""
    settings, topology = context.settings, pool.gpus.topology or ""

    def called(cluster: str) -> str:
        return shortened(f"{cluster}-{pool.name}", 63, suffix=f"-{topology}")

    # The name of a cluster that somebody else made may be known only once it exists.
    own = context.control_plane is not None
    inputs: gke.ResourcePolicy = {
        "project": settings.project,
        "region": settings.region,
        "name": called(settings.cluster_name) if own else pulumi.Output.from_input(context.name).apply(called),
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": topology},
    }
    options = pulumi.ResourceOptions(parent=opts.parent, depends_on=context.made)
    return declare("gcp:compute/resourcePolicy:ResourcePolicy", f"{name}-workload-policy", inputs, options)


def _metadata_mode(pods_as_nodes: pulumi.Input[bool]) -> pulumi.Output[str]:
    """A pool of GKE's metadata server needs a workload pool of its cluster:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/workload-identity"""
    return pulumi.Output.from_input(pods_as_nodes).apply(lambda node: "GCE_METADATA" if node else "GKE_METADATA")


def _upgrade(pool: Pool) -> gke.ClusterNodePoolUpgradeSettings:
    """By surplus nodes if there are some, else one node after the other; a number that a setting omits is 0."""
    surge = surge_nodes(pool)
    unavailable = 0 if surge else 1
    if pool.nodes.upgrade is not None:
        unavailable = pool.nodes.upgrade.max_unavailable or 0
    return {"strategy": "SURGE", "maxSurge": surge, "maxUnavailable": unavailable}


def _drain(pool: Pool, running: Mapping[str, Any]) -> str | None:
    """How long an upgrade waits for the pods of a node; ``None``: as GKE does. Of a ``running`` pool that had another
    time GKE's own is written, because a time that is left out stays as it was."""
    if pool.nodes.upgrade is not None and pool.nodes.upgrade.drain_minutes is not None:
        return f"{60 * pool.nodes.upgrade.drain_minutes}s"
    set_before = any(each.get("graceTerminationDuration") for each in running.get("nodeDrainConfigs") or ())
    return _DRAIN_DEFAULT if set_before and "nodeDrainConfigs" not in pool.raw else None


def location_policy(pool: Pool) -> str:
    """``ANY`` where capacity is scarce (GPUs, spot), unless the pool sets a policy: a node in any zone with capacity.

    A scale-up of as many nodes as the pool may still get, or more, is balanced all the same:
    https://github.com/GoogleCloudPlatform/cluster-autoscaler/blob/main/pkg/processors/locationpolicy/location_policy_processor.go
    It requires pools that start empty, so a pool with a minimum is balanced:
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#location_policy
    """
    if pool.scaling.location_policy is not None:
        return pool.scaling.location_policy.upper()
    return "ANY" if not pool.scaling.min_nodes and (pool.role == "gpu" or pool.scaling.spot) else "BALANCED"


def _initial_nodes_per_zone(pool: Pool) -> int:
    """As many as make the minimum, which GKE keeps and never makes; settings refuse one that no number makes.

    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#minimum_and_maximum_node_pool_size
    """
    return math.ceil(pool.scaling.min_nodes / len(pool.nodes.zones))


def _gpus(pool: Pool) -> gke.NodePoolNodeConfig:
    gpus, scaling = pool.gpus, pool.scaling
    # TPUs are part of the machine type, and GKE brings their driver and plugin.
    config: gke.NodePoolNodeConfig = {"guestAccelerators": [_accelerator(gpus)]} if gpus.of_nvidia else {}
    if scaling.reservation is not None:
        config["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [scaling.reservation],
        }
    if scaling.max_run_hours is not None:
        # https://cloud.google.com/kubernetes-engine/docs/concepts/dws; what has to go with it:
        # https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/modules/compute/gke-node-pool/main.tf
        config["flexStart"] = True
        config["maxRunDuration"] = f"{scaling.max_run_hours * 3600}s"
        config["reservationAffinity"] = {"consumeReservationType": "NO_RESERVATION"}
    return config


def _accelerator(gpus: Gpus) -> gke.AcceleratorConfig:
    # Left out, the meaning of the driver version depends on the cluster's version, so it is always written.
    version = gpus.driver_version.upper() if gpus.drivers == "managed" else "INSTALLATION_DISABLED"
    if version == "LATEST" and gpus.type in _LAST_DRIVER_580:
        pulumi.warn(_TOO_NEW.format(gpu=gpus.type))
    accelerator: gke.AcceleratorConfig = {
        "type": gpus.accelerator,
        "count": gpus.per_node,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": version},
    }
    if gpus.mig is not None:
        accelerator["gpuPartitionSize"] = catalog.of("gke").machines.accelerators[gpus.type].partitions[gpus.mig]
    if gpus.shared is not None:
        # GKE labels such nodes and its autoscaler counts the shared GPUs of an empty pool (unlike upstream's):
        # https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
        accelerator["gpuSharingConfig"] = {
            "gpuSharingStrategy": "TIME_SHARING" if gpus.mps is None else "MPS",
            "maxSharedClientsPerGpu": gpus.shared.clients_per_gpu,
        }
    return accelerator
