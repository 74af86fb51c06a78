"""Node pools: their own resource, the pools that come with a cluster, and the order in which GKE's autoscaler tries the
pools of a ComputeClass, as its own code does it:
https://github.com/GoogleCloudPlatform/cluster-autoscaler/blob/main/pkg/computeclass/organizer.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from rehearsal.providers.base import Properties, at, merged, without_none
from rehearsal.providers.cloud import Record, SimulatedCloud, last_part
from rehearsal.providers.gke import nodes, rules
from rehearsal.providers.gke.cloud import TABLE, bad_request, not_registered, region_of
from rehearsal.providers.gke.iam import require_account, require_granted
from rehearsal.providers.gke.network import POLICY
from rehearsal.providers.pool_order import PoolOrder
from rehearsal.providers.resource import Lifecycle, Pending, SimulatedResource, changed
from rehearsal.simulation import SimulatedNodeGroup

CLUSTER: Final = "gcp:container/cluster:Cluster"
POOL: Final = "gcp:container/nodePool:NodePool"
_MODEL: Final = "goog-gke-node-pool-provisioning-model"
_MANAGERS: Final = "https://www.googleapis.com/compute/v1/projects/{}/zones/{}/instanceGroupManagers/{}"
NODES_RECREATED: Final = TABLE.recreates(POOL)


def _completed(cloud: SimulatedCloud, inputs: Properties) -> Properties:
    cluster = inputs.get("cluster")
    if inputs.get("location") is not None or not isinstance(cluster, str):
        return inputs
    parts = cluster.split("/")
    located = parts[parts.index("locations") + 1] if "locations" in parts else None
    return {**inputs, "location": located or cloud.default("zone") or cloud.default("region")}


_EMPTIED: Final = ("labels", "resourceLabels")


def _require_something_to_send(pending: Pending[SimulatedCloud]) -> None:
    """400 for an update that takes the last label away: the provider then sends a request that says nothing.

    https://github.com/hashicorp/terraform-provider-google/issues/15848 has the words, for ``labels``. For
    ``resourceLabels`` it is not certain: the provider's code is the same, but Google's own labels may be sent with it.
    """
    before = ((pending.before and pending.before.inputs) or {}).get("nodeConfig") or {}
    for key in _EMPTIED:
        if before.get(key) and not _config(pending).get(key):
            raise bad_request(
                "At least one of ['node_version', 'image_type', 'updated_node_pool', 'locations', "
                "'workload_metadata_config', 'upgrade_settings', 'kubelet_config', 'linux_node_config', 'tags', "
                "'taints', 'labels', 'node_network_config', 'gcfs_config', 'gvnic', 'resource_labels'] must be "
                "specified."
            )


def _require_gpus_there(pending: Pending[SimulatedCloud]) -> None:
    """400 for a zone that is not known to have the GPU.

    https://cloud.google.com/compute/docs/gpus/gpu-regions-zones; the words:
    https://github.com/hashicorp/terraform-provider-google/issues/5860
    """
    gpus = nodes.gpus_of(pending.cloud, _config(pending))
    gpu = gpus and nodes.gpu_called(pending.cloud, gpus.accelerator)
    known = (gpu and pending.cloud.catalog.gpu_zones(gpu)) or ()
    for zone in _zones(pending) if gpus and known else ():
        if zone not in known:
            project = _cluster_of(pending.cloud, pending.id).inputs["project"]
            where = f"projects/{project}/zones/{zone}/acceleratorTypes/{gpus.accelerator}" if gpus else ""
            raise bad_request(f"The resource '{where}' was not found")


def _require(pending: Pending[SimulatedCloud]) -> None:
    _require_something_to_send(pending)
    cluster = _cluster_of(pending.cloud, pending.id)
    wrong = rules.zones_outside(
        region_of(cluster.inputs["location"]), pending.inputs.get("nodeLocations") or [], pending.cloud
    )
    if wrong:
        raise bad_request(wrong)
    _require_one_zone(pending)
    _require_gpus_there(pending)
    _require_version(pending.inputs.get("version"), cluster.outputs["masterVersion"])
    _require_disk_key(pending, cluster)
    # https://cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods
    more = at(pending.inputs, "networkConfig.additionalNodeNetworkConfigs")
    if more and not cluster.inputs.get("enableMultiNetworking"):
        raise bad_request("Additional node networks need a cluster with enable_multi_networking.")
    _require_upgrades(pending, cluster.inputs)
    _require_workload_pool(pending, cluster.inputs)
    _require_workload_policy(pending, cluster.inputs)
    account = _config(pending).get("serviceAccount")
    if account and account != "default":
        require_account(pending.cloud, account)


def _require_one_zone(pending: Pending[SimulatedCloud]) -> None:
    """400 for a compact pool or a slice of TPUs that gets several zones from its cluster, as for one that names them:
    https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/modules/compute/gke-node-pool/main.tf."""
    placement = pending.inputs.get("placementPolicy") or {}
    if len(_zones(pending)) == 1:
        return
    if placement.get("type") == "COMPACT":
        raise bad_request("Compact placement is only available for node pools in a single zone.")
    if placement.get("tpuTopology"):
        raise bad_request("Multi-host TPU node pools must be zonal.")


def _require_disk_key(pending: Pending[SimulatedCloud], cluster: Record) -> None:
    """400 for a key of another region, or that Compute Engine's agent may not use.

    https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek. Grants that others made are not simulated.
    """
    key = _config(pending).get("bootDiskKmsKey")
    if key is None:
        return
    region = region_of(cluster.inputs["location"])
    match = rules.KEY.fullmatch(key)
    if match is None or match[1] != region:
        raise bad_request(f"node_config.boot_disk_kms_key '{key}' is not a key in '{region}'.")
    # Volumes of the cluster's pods have the key, too, and outlive the pool.
    require_granted(pending.cloud, cluster.id, cluster.inputs["project"], key, "compute-system")


def _require_upgrades(pending: Pending[SimulatedCloud], cluster: Properties) -> None:
    """400 for a pool that is not upgraded or repaired in a cluster with a release channel, and for an exclusion from
    upgrades in a cluster without one.

    https://cloud.google.com/kubernetes-engine/docs/concepts/release-channels; the words:
    https://github.com/rancher/rancher/issues/32282
    """
    channel, management = at(cluster, "releaseChannel.channel"), pending.inputs.get("management") or {}
    if channel == "UNSPECIFIED":
        if nodes.excluded(pending.inputs):
            raise bad_request("A maintenance exclusion until the end of support needs a release channel.")
        return
    # The default: https://github.com/crossplane-contrib/provider-upjet-gcp/issues/324
    off = [key for key in ("autoUpgrade", "autoRepair") if key in management and not management[key]]
    if "autoUpgrade" in off or (off and not _lent(pending.inputs)):
        channel = channel or "REGULAR"
        raise bad_request(f"Auto_upgrade and auto_repair cannot be false when release_channel {channel} is set.")


def as_answered(pool: Record) -> Record:
    """A pool as GKE answers it: one of flex-start or queued machines has their upgrade strategy, whatever was sent.

    https://github.com/crossplane-contrib/provider-upjet-gcp/issues/1028
    """
    return replace(pool, inputs={**pool.inputs, "upgradeSettings": _LENT_UPGRADES}) if _lent(pool.inputs) else pool


def made_public(cloud: SimulatedCloud) -> list[str]:
    """The pools whose nodes have public addresses although nobody declared it, as sentences."""
    private = {cluster.id for cluster in cloud.store.all(CLUSTER) if nodes.private(cluster.inputs, {})}
    return [
        f"the nodes of pool {pool.id} have public addresses, those of its cluster have none: its networkConfig leaves "
        "enablePrivateNodes out, which the provider sends as false"
        for pool in cloud.store.all(POOL)
        if pool.id.partition("/nodePools/")[0] in private
        and nodes.private({}, TABLE.sent(POOL, pool.inputs)) is False
        and at(pool.inputs, "networkConfig.enablePrivateNodes") is None
    ]


def _lent(pool: Properties) -> bool:
    return bool(at(pool, "nodeConfig.flexStart") or at(pool, "queuedProvisioning.enabled"))


def _require_workload_pool(pending: Pending[SimulatedCloud], cluster: Properties) -> None:
    """400 for the metadata server of GKE in a cluster without a workload pool.

    https://cloud.google.com/python/docs/reference/container/latest/google.cloud.container_v1.types.WorkloadMetadataConfig.Mode
    """
    mode = at(pending.inputs, "nodeConfig.workloadMetadataConfig.mode")
    if mode == "GKE_METADATA" and not at(cluster, "workloadIdentityConfig.workloadPool"):
        raise bad_request("workload_metadata_config mode GKE_METADATA needs the cluster's workload_identity_config.")


def _require_workload_policy(pending: Pending[SimulatedCloud], cluster: Properties) -> None:
    """400 for a policy of another topology than the pool's, or that does not place nodes close to each other.

    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpu-ironwood. GKE itself takes the topology from the
    policy, but the provider then finds a pool that differs from what is declared, and replaces it.
    """
    placement = pending.inputs.get("placementPolicy") or {}
    name = placement.get("policyName")
    if not name or not str(_config(pending).get("machineType")).startswith("tpu7x-"):
        return
    region = region_of(cluster["location"])
    policy = pending.cloud.store.get(POLICY, f"projects/{cluster['project']}/regions/{region}/resourcePolicies/{name}")
    declared = (policy and policy.inputs.get("workloadPolicy")) or {}
    if declared != {"type": "HIGH_THROUGHPUT", "acceleratorTopology": placement.get("tpuTopology")}:
        raise bad_request(f"placement_policy: {name} is no HIGH_THROUGHPUT policy of {placement.get('tpuTopology')}.")


def _require_version(version: str | None, master: str) -> None:
    """400 for nodes newer than their control plane, or more than two minors older (Google's message is not known).

    https://cloud.google.com/kubernetes-engine/versioning
    """
    if version and not rules.not_newer(version, master):
        raise bad_request(f'Node version "{version}" must not be newer than the master\'s, "{master}".')
    if version and rules.minors_behind(version, master) > 2:
        raise bad_request(f'Node version "{version}" may be at most two minor versions older than "{master}".')


def _cluster_of(cloud: SimulatedCloud, pool: str) -> Record:
    record = cloud.store.get(CLUSTER, pool.partition("/nodePools/")[0])
    if record is None:
        raise ValueError(f"the cluster of {pool} was looked up before")
    return record


def _config(pending: Pending[SimulatedCloud]) -> Properties:
    return pending.inputs.get("nodeConfig") or {}


def _zones(pending: Pending[SimulatedCloud]) -> tuple[str, ...]:
    own = pending.inputs.get("nodeLocations")
    return tuple(own or rules.cluster_zones(_cluster_of(pending.cloud, pending.id).inputs, pending.cloud))


def _managers(pending: Pending[SimulatedCloud]) -> list[str]:
    cluster = _cluster_of(pending.cloud, pending.id).inputs
    group = f"gke-{cluster['name']}-{pending.inputs['name']}"
    return [_MANAGERS.format(cluster["project"], zone, f"{group}-{zone}") for zone in _zones(pending)]


# As GKE answered in 2026: recorded/ in the tests.
_SCOPES: Final = ("devstorage.read_only", "logging.write", "monitoring", "service.management.readonly")
_CONFIG: Final[Properties] = {
    "imageType": "COS_CONTAINERD",
    "kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE", "maxParallelImagePulls": 2},
    "machineType": "e2-medium",
    "metadata": {"disable-legacy-endpoints": "true"},
    "oauthScopes": [f"https://www.googleapis.com/auth/{each}" for each in (*_SCOPES, "servicecontrol", "trace.append")],
    "serviceAccount": "default",
    "shieldedInstanceConfig": {"enableIntegrityMonitoring": True},
}
_LENT_UPGRADES: Final = {"strategy": "SHORT_LIVED", "maxSurge": 0, "maxUnavailable": 0}


def answered_config(config: Properties) -> Properties:
    """A configuration of nodes with what GKE completes."""
    disk = config.get("bootDisk") or {}
    size = config.get("diskSizeGb") or disk.get("sizeGb") or 100
    type = config.get("diskType") or disk.get("diskType") or "pd-balanced"
    model = {} if any(map(config.get, ("spot", "preemptible", "flexStart"))) else {_MODEL: "on-demand"}
    return {
        **merged(_CONFIG, config),
        "bootDisk": {**disk, "sizeGb": size, "diskType": type},
        "diskSizeGb": size,
        "diskType": type,
        "resourceLabels": {**model, **(config.get("resourceLabels") or {})},
    }


def _pool_network(pending: Pending[SimulatedCloud]) -> Properties:
    cluster = _cluster_of(pending.cloud, pending.id)
    policy = cluster.outputs.get("ipAllocationPolicy") or {}
    network = {
        "enablePrivateNodes": bool(nodes.private(cluster.inputs, pending.inputs)),
        "podIpv4CidrBlock": policy.get("clusterIpv4CidrBlock"),
        "podRange": policy.get("clusterSecondaryRangeName"),
        "subnetwork": cluster.outputs.get("subnetwork"),
    }
    return merged(without_none(network), pending.inputs.get("networkConfig") or {})


def _upgrades(pending: Pending[SimulatedCloud]) -> Properties:
    if _lent(pending.inputs):
        return _LENT_UPGRADES
    declared = pending.inputs.get("upgradeSettings") or {}
    surge = {"strategy": "SURGE", "maxSurge": 1} if declared.get("strategy") in (None, "SURGE") else {}
    return {**surge, **declared}


def _node_config(pending: Pending[SimulatedCloud]) -> Properties:
    """The pool's configuration with the taint that GKE adds when a pool joins, and never later."""
    cloud, cluster, config = pending.cloud, _cluster_of(pending.cloud, pending.id), _config(pending)
    if pending.before is not None:
        declared = (pending.before.inputs.get("nodeConfig") or {}).get("taints") or []
        beside_cpu = len(pending.before.outputs["nodeConfig"]["effectiveTaints"]) > len(declared)
    else:
        others = [pool.inputs.get("nodeConfig") or {} for pool in pools_of(cloud, cluster.id) if pool.id != pending.id]
        beside_cpu = any(nodes.gpus_of(cloud, other) is None for other in others)
    taints = nodes.effective_taints(config, nodes.gpus_of(cloud, config), beside_cpu)
    return {**answered_config(config), "effectiveTaints": taints}


def _autoscaling(pending: Pending[SimulatedCloud]) -> Properties | None:
    scaling = pending.inputs.get("autoscaling")
    # Google's default:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#default-values
    chosen = "ANY" if _config(pending).get("spot") or _config(pending).get("preemptible") else "BALANCED"
    return {"locationPolicy": chosen, **without_none(scaling)} if scaling else None


def pools_of(cloud: SimulatedCloud, cluster: str) -> list[Record]:
    """A cluster's pools, however they were declared."""
    return [record for record in cloud.store.all(POOL) if record.id.startswith(f"{cluster}/nodePools/")]


def with_all_pools(cloud: SimulatedCloud, cluster: Record) -> Record:
    """A cluster that declares its pools inside, as it is answered: with every pool that there is.

    ``node_pool`` is ``Computed`` and ``ForceNew``, so another program's pool makes the next update replace the cluster:
    https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/resource_container_cluster.go
    """
    inside = cluster.inputs.get("nodePools")
    if not inside:
        return cluster
    own = {each.get("name", f"pool-{index}") for index, each in enumerate(inside)}
    others = [pool.inputs["name"] for pool in pools_of(cloud, cluster.id) if pool.inputs["name"] not in own]
    return replace(cluster, inputs={**cluster.inputs, "nodePools": [*inside, *({"name": each} for each in others)]})


def move(cloud: SimulatedCloud, cluster: str, zones: tuple[str, ...]) -> None:
    """Move all pools of a cluster to its new zones, whatever zones they declare.

    "Changing cluster locations will update the NodePool.Locations of all node pools and will result in nodes being
    added and/or removed": https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/ClusterUpdate
    """
    for pool in pools_of(cloud, cluster):
        moved = replace(pool, outputs={**pool.outputs, "nodeLocations": list(zones)})
        cloud.store.put(moved)
        start(cloud, moved, None)
        if not {*pool.outputs["nodeLocations"]} <= {*zones}:
            cloud.machines().recreate_nodes(last_part(cluster), pool.inputs["name"])


def start(cloud: SimulatedCloud, pool: Record, before: Record | None) -> Record:
    """Start the pool's machines, or change them to the pool's current inputs."""
    state, cluster = pool.outputs, _cluster_of(cloud, pool.id)
    zones, taints = tuple(state["nodeLocations"]), state["nodeConfig"]["effectiveTaints"]
    name = cluster.inputs["name"]
    sent = TABLE.sent(POOL, pool.inputs)
    group = ordered(nodes.node_group(cloud, cluster.inputs, sent, zones, taints), cloud)
    if (problem := nodes.node_problem(cloud, cluster.inputs, sent)) is not None:
        if first := sum(group.permanent().values()):
            raise not_registered(first, problem)
        group = group.not_scaled(problem)
    cloud.machines().apply_group(group)
    # Nodes in a zone that is removed are deleted; here those of the other zones are replaced as well:
    # https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools
    left = before is not None and not {*before.outputs["nodeLocations"]} <= {*zones}
    if before is not None and (left or changed(before, pool, NODES_RECREATED)):
        cloud.machines().recreate_nodes(name, pool.inputs["name"])
    return pool


def _stop(cloud: SimulatedCloud, pool: Record) -> None:
    cloud.machines().delete_group(last_part(pool.id.partition("/nodePools/")[0]), pool.inputs["name"])


def _imported(inputs: Properties) -> Properties:
    """The pool without its taints, which the provider does not read: https://github.com/pulumi/pulumi-gcp/issues/3441."""
    config = {key: value for key, value in (inputs.get("nodeConfig") or {}).items() if key != "taints"}
    return {**inputs, "nodeConfig": config or None}


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        POOL,
        outputs={
            "autoscaling": _autoscaling,
            "instanceGroupUrls": _managers,
            "managedInstanceGroupUrls": lambda pending: [
                url.replace("instanceGroupManagers", "instanceGroups") for url in _managers(pending)
            ],
            "initialNodeCount": lambda pending: pending.inputs.get("initialNodeCount", pending.inputs.get("nodeCount")),
            "maxPodsPerNode": lambda pending: nodes.max_pods(
                _cluster_of(pending.cloud, pending.id).inputs, pending.inputs
            ),
            "networkConfig": _pool_network,
            "nodeConfig": _node_config,
            "upgradeSettings": _upgrades,
            "nodeLocations": lambda pending: list(_zones(pending)),
            "version": lambda pending: (
                pending.inputs.get("version") or _cluster_of(pending.cloud, pending.id).outputs["masterVersion"]
            ),
        },
        derive_inputs=_completed,
        requires=_require,
        imported=_imported,
        lifecycle=Lifecycle("NodePool", start, _stop),
    ),
)


class ClassOrder(PoolOrder[SimulatedCloud]):
    """Applies the order of the ComputeClasses to the pools that have their label, while there are any."""

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__("compute-classes", cloud)
        self._applied: Classes = {}

    @override
    def look(self) -> None:
        """Apply the classes to their pools if one of them has changed."""
        known = classes(self._cloud)
        if known == self._applied:
            return
        for pool in self.ordered():
            self.apply(pool, lambda cloud, present: start(cloud, present, None))
        self._applied = known

    @override
    def ordered(self) -> list[Record]:
        return [
            pool
            for pool in self._cloud.store.all(POOL)
            if (at(pool.inputs, "nodeConfig.labels") or {}).get(nodes.CLASS_LABEL)
        ]


PATH: Final = "/apis/cloud.google.com/v1/computeclasses"

Classes = Mapping[str, Mapping[str, Any]]
"""ComputeClass → its ``spec``."""


def classes(cloud: SimulatedCloud) -> Classes:
    """The ComputeClasses in the cluster."""
    return {each["metadata"]["name"]: each.get("spec") or {} for each in cloud.machines().list_objects(PATH)}


def ordered(group: SimulatedNodeGroup, cloud: SimulatedCloud) -> SimulatedNodeGroup:
    """The group at its place in its class: that of the first priority that names it.

    A pool that none names is not scaled. A pool without a class, or of one that does not exist, keeps Google's order.
    """
    name = group.nodes.labels.get(nodes.CLASS_LABEL, "")
    known = classes(cloud) if name else {}
    if name not in known:
        return group
    priorities = known[name].get("priorities") or []
    place = next((index for index, each in enumerate(priorities) if group.name in each.get("nodepools", ())), None)
    if place is not None:
        return replace(group, rank=place)
    if known[name].get("whenUnsatisfiable") == "ScaleUpAnyway":
        return replace(group, rank=len(priorities))
    return group.not_scaled(f"no priority of ComputeClass {name} names the pool")
