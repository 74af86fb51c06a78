"""Node pools: their own resource, and the pools that come with a cluster."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from rehearsal.providers.base import Created, Properties, ProviderError
from rehearsal.providers.gcp.cloud import Cloud, last_part, region_of
from rehearsal.providers.gcp.cluster_rules import cluster_zones, zones_outside
from rehearsal.providers.gcp.errors import already_exists, bad_request, not_found
from rehearsal.providers.gcp.iam import require_account
from rehearsal.providers.gcp.kind import Kind
from rehearsal.providers.gcp.network import CLUSTER
from rehearsal.providers.gcp.nodes import effective_taints, gpus_of, node_group
from rehearsal.providers.gcp.pool_rules import POOL_RULES
from rehearsal.providers.gcp.rules import enforce
from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.gcp.tables.node_pool import NODE_POOL, NODE_POOL_REPLACES
from rehearsal.providers.store import Record
from rehearsal.providers.values import without_none

UNORDERED_NODE_CONFIG: Final = ("nodeConfig.oauthScopes", "nodeConfig.tags", "nodeConfig.storagePools")


class NodePoolKind(Kind):
    """``gcp:container/nodePool:NodePool``."""

    token = "gcp:container/nodePool:NodePool"
    shape = Shape(
        api="container.v1beta1",
        schema="NodePool",
        table=NODE_POOL,
        required=("cluster",),
        defaults={
            "deletionPolicy": "DELETE",
            "management.autoRepair": True,
            "management.autoUpgrade": True,
            "nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring": True,
            "upgradeSettings.strategy": "SURGE",
        },
        replaces=NODE_POOL_REPLACES,
        links=("cluster",),
        unordered=("nodeLocations", *UNORDERED_NODE_CONFIG),
        name_limit=40,
    )
    rules = POOL_RULES.rules
    computed = ("instanceGroupUrls", "managedInstanceGroupUrls", "operation", "version")

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        inputs = super().complete(cloud, inputs)
        cluster = inputs.get("cluster")
        if inputs.get("location") is None and isinstance(cluster, str):
            parts = cluster.split("/")
            located = parts[parts.index("locations") + 1] if "locations" in parts else None
            inputs["location"] = located or cloud.default("zone") or cloud.default("region")
        return inputs

    @override
    def path(self, inputs: Properties) -> str:
        return f"{cluster_path(inputs)}/nodePools/{inputs['name']}"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        cluster = require_cluster(cloud, inputs)
        wrong = zones_outside(region_of(cluster.inputs["location"]), inputs.get("nodeLocations") or [], cloud)
        if wrong:
            raise bad_request(wrong)
        account = (inputs.get("nodeConfig") or {}).get("serviceAccount")
        if account and account != "default":
            require_account(cloud, account)
        for other in pools_of(cloud, cluster.id):
            if other.id == self.path(inputs):
                continue
            if other.inputs["name"] == inputs["name"]:
                raise already_exists(other.id)

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        cluster = require_cluster(cloud, inputs)
        record = pool_record(cloud, cluster, inputs)
        cloud.store.add(record)
        try:
            start_nodes(cloud, cluster, record)
        except Exception as error:
            # The API made the pool before its nodes failed; the provider keeps it in its state too.
            made = Created(record.id, record.state)
            raise ProviderError(f"error creating NodePool {record.id}: {error}", partial=made) from error
        return Created(record.id, record.state)

    @override
    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        existing = self._existing(cloud, id)
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        cluster = require_cluster(cloud, inputs)
        record = pool_record(cloud, cluster, inputs, joined_gpu_taint=_gpu_taint_was_added(existing))
        start_nodes(cloud, cluster, record)
        cloud.store.put(record)
        return record.state

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        record = cloud.store.get(id)
        if record is None:
            return
        stop_nodes(cloud, record)
        cloud.store.remove(id)


def cluster_path(inputs: Properties) -> str:
    """The path of the cluster that a pool's inputs name."""
    return f"projects/{inputs['project']}/locations/{inputs['location']}/clusters/{last_part(inputs['cluster'])}"


def require_cluster(cloud: Cloud, inputs: Properties) -> Record:
    """The pool's cluster; 404 if there is none."""
    record = cloud.store.get(cluster_path(inputs))
    if record is None or record.type != CLUSTER:
        raise not_found(f"Not found: {cluster_path(inputs)}")
    return record


def pools_of(cloud: Cloud, cluster: str) -> list[Record]:
    """A cluster's pools, however they were declared."""
    return [record for record in cloud.store.all(NodePoolKind.token) if record.id.startswith(f"{cluster}/nodePools/")]


def pool_record(cloud: Cloud, cluster: Record, inputs: Properties, *, joined_gpu_taint: bool | None = None) -> Record:
    """The pool as it exists: with the taints GKE adds, the zones it takes from its cluster, and its instance groups.

    ``joined_gpu_taint`` keeps what was decided when the pool joined: GKE never adds its GPU taint later.
    """
    id = f"{cluster.id}/nodePools/{inputs['name']}"
    config = inputs.get("nodeConfig") or {}
    gpus = gpus_of(cloud, config)
    others = [pool for pool in pools_of(cloud, cluster.id) if pool.id != id]
    beside_cpu = any(gpus_of(cloud, pool.inputs.get("nodeConfig") or {}) is None for pool in others)
    taints = effective_taints(config, gpus, beside_cpu if joined_gpu_taint is None else joined_gpu_taint)
    zones = tuple(inputs.get("nodeLocations") or cluster_zones(cluster.inputs, cloud))
    groups = [f"gke-{cluster.inputs['name']}-{inputs['name']}-{zone}" for zone in zones]
    managers = "https://www.googleapis.com/compute/v1/projects/{}/zones/{}/instanceGroupManagers/{}"
    urls = [managers.format(cluster.inputs["project"], zone, group) for zone, group in zip(zones, groups, strict=True)]
    outputs = {
        "instanceGroupUrls": urls,
        "managedInstanceGroupUrls": [url.replace("instanceGroupManagers", "instanceGroups") for url in urls],
        "nodeConfig": {**config, "effectiveTaints": taints},
        "nodeLocations": list(zones),
        "operation": "",
        "version": inputs.get("version") or cluster.outputs["masterVersion"],
    }
    if inputs.get("autoscaling"):
        # Google picks BALANCED where the request says nothing.
        outputs["autoscaling"] = {"locationPolicy": "BALANCED", **without_none(inputs["autoscaling"])}
    return Record(id, NodePoolKind.token, without_none(inputs), outputs)


def _gpu_taint_was_added(pool: Record) -> bool:
    declared = (pool.inputs.get("nodeConfig") or {}).get("taints") or []
    return len(pool.outputs["nodeConfig"]["effectiveTaints"]) > len(declared)


def start_nodes(cloud: Cloud, cluster: Record, pool: Record) -> None:
    """Give the pool its machines, or change them to what the pool now says."""
    state = pool.outputs
    group = node_group(
        cloud,
        cluster.inputs["name"],
        pool.inputs,
        tuple(state["nodeLocations"]),
        state["nodeConfig"]["effectiveTaints"],
    )
    cloud.machines().apply_group(group)


def stop_nodes(cloud: Cloud, pool: Record) -> None:
    """Take the pool's machines away."""
    cloud.machines().delete_group(last_part(pool.id.partition("/nodePools/")[0]), pool.inputs["name"])
