"""GKE clusters: control plane, default pool, inline pools, and the system pods every cluster has."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from rehearsal.providers.base import UNKNOWN, Created, Properties, ProviderError
from rehearsal.providers.gcp import versions
from rehearsal.providers.gcp.cloud import Cloud, last_part, region_of
from rehearsal.providers.gcp.cluster_rules import CLUSTER_RULES, cluster_zones
from rehearsal.providers.gcp.errors import bad_request
from rehearsal.providers.gcp.iam import require_account
from rehearsal.providers.gcp.kind import Kind
from rehearsal.providers.gcp.network import CLUSTER, SELF_LINK, require_network, require_subnetwork
from rehearsal.providers.gcp.node_pool import UNORDERED_NODE_CONFIG, pool_record, pools_of, start_nodes, stop_nodes
from rehearsal.providers.gcp.pool_rules import POOL_RULES
from rehearsal.providers.gcp.rules import enforce
from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.gcp.system import system_objects
from rehearsal.providers.gcp.tables.cluster import CLUSTER as CLUSTER_TABLE
from rehearsal.providers.gcp.tables.cluster import CLUSTER_REPLACES
from rehearsal.providers.store import Record
from rehearsal.providers.values import at, without_none

PROTECTED: Final = (
    "Cannot destroy cluster because deletion_protection is set to true. "
    "Set it to false to proceed with cluster deletion."
)
DEFAULT_POOL: Final = "default-pool"


class ClusterKind(Kind):
    """``gcp:container/cluster:Cluster``. Its own pools (default or inline) are recorded like declared ones."""

    token = CLUSTER
    shape = Shape(
        api="container.v1beta1",
        schema="Cluster",
        table=CLUSTER_TABLE,
        defaults={
            "clusterAutoscaling.autoscalingProfile": "BALANCED",
            "deletionPolicy": "DELETE",
            "deletionProtection": True,
            "enableShieldedNodes": True,
            "ipAllocationPolicy.stackType": "IPV4",
            "network": "default",
        },
        replaces=CLUSTER_REPLACES,
        links=("network", "subnetwork"),
        unordered=(
            "nodeLocations",
            "masterAuthorizedNetworksConfig.cidrBlocks",
            *UNORDERED_NODE_CONFIG,
            *(f"nodePools.{path}" for path in UNORDERED_NODE_CONFIG),
        ),
        name_limit=40,
    )
    rules = CLUSTER_RULES.rules
    computed = (
        "endpoint",
        "labelFingerprint",
        "masterAuth",
        "masterVersion",
        "operation",
        "selfLink",
        "servicesIpv4Cidr",
    )

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        location = inputs.get("location") or cloud.default("zone") or cloud.default("region")
        return {**super().complete(cloud, inputs), "location": location}

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/locations/{inputs['location']}/clusters/{inputs['name']}"

    @override
    def preview(self, cloud: Cloud, inputs: Properties) -> Properties:
        state = super().preview(cloud, inputs)
        for pool in inline_pools(inputs):
            enforce(POOL_RULES.rules, pool, cloud)
        return {**state, "masterAuth": UNKNOWN}

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        network = require_network(cloud, inputs["project"], inputs["network"])
        region = region_of(inputs["location"])
        if inputs.get("subnetwork"):
            subnetwork = require_subnetwork(cloud, inputs["project"], region, inputs["subnetwork"])
            if subnetwork.outputs["network"] != SELF_LINK + network.id:
                raise bad_request(f"Subnetwork {subnetwork.id} is not in network {network.id}.")
            _require_ranges(inputs, subnetwork)
        elif network.inputs.get("autoCreateSubnetworks") is False:
            raise bad_request(
                f"Network '{network.inputs['name']}' is in custom subnet mode: a subnetwork must be given."
            )
        for pool in inline_pools(inputs):
            account = at(pool, "nodeConfig.serviceAccount")
            if account and account != "default":
                require_account(cloud, account)

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        enforce(self.rules, inputs, cloud)
        for pool in inline_pools(inputs):
            enforce(POOL_RULES.rules, pool, cloud)
        self.references(cloud, inputs)
        cloud.machines()
        record = Record(self.path(inputs), self.token, without_none(inputs), self._outputs(cloud, inputs))
        cloud.store.add(record)
        return Created(record.id, self._start(cloud, record).state)

    @override
    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        existing = self._existing(cloud, id)
        enforce(self.rules, inputs, cloud)
        self.references(cloud, inputs)
        outputs = {**self._outputs(cloud, inputs), "endpoint": existing.outputs["endpoint"]}
        outputs["masterAuth"] = {**outputs["masterAuth"], **_certificate(existing)}
        record = Record(id, self.token, without_none(inputs), outputs)
        cloud.store.put(record)
        return self._start(cloud, record).state

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        record = cloud.store.get(id)
        if record is None:
            return
        if record.inputs.get("deletionProtection"):
            raise ProviderError(PROTECTED)
        for pool in pools_of(cloud, id):
            stop_nodes(cloud, pool)
            cloud.store.remove(pool.id)
        cloud.machines().delete_cluster(record.inputs["name"])
        cloud.store.remove(id)

    def _outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        project, path = inputs["project"], self.path(inputs)
        network = require_network(cloud, project, inputs["network"])
        version = versions.resolve(inputs.get("minMasterVersion"))
        outputs: Properties = {
            "labelFingerprint": "",
            "masterAuth": {**(inputs.get("masterAuth") or {})},
            "masterVersion": version,
            "network": network.id,
            "nodeLocations": sorted({*cluster_zones(inputs, cloud)} - {inputs["location"]}),
            "nodeVersion": inputs.get("nodeVersion") or version,
            "operation": "",
            "selfLink": f"https://container.googleapis.com/v1beta1/{path}",
            "endpoint": "",
        }
        if inputs.get("subnetwork"):
            subnetwork = require_subnetwork(cloud, project, region_of(inputs["location"]), inputs["subnetwork"])
            outputs["subnetwork"] = subnetwork.id
            outputs |= _range_outputs(inputs, subnetwork)
        return outputs

    def _start(self, cloud: Cloud, cluster: Record) -> Record:
        """Start what does not run yet: the control plane, unless an earlier attempt did, and its own pools."""
        try:
            if not cluster.outputs["endpoint"]:
                cluster = _start_control_plane(cloud, cluster)
                cloud.store.put(cluster)
            # A default pool that is to be removed is gone before anything can use it: no machine is made.
            if not cluster.inputs.get("removeDefaultNodePool"):
                for inputs in inline_pools(cluster.inputs):
                    pool = pool_record(cloud, cluster, inputs)
                    cloud.store.put(pool)
                    start_nodes(cloud, cluster, pool)
        except Exception as error:
            # The API made the cluster before its start failed; the provider keeps it in its state too.
            made = Created(cluster.id, cluster.state)
            raise ProviderError(f"error creating cluster {cluster.id}: {error}", partial=made) from error
        return cluster


def _start_control_plane(cloud: Cloud, cluster: Record) -> Record:
    inputs = cluster.inputs
    endpoint = cloud.machines().create_cluster(
        inputs["name"],
        version=cluster.outputs["masterVersion"],
        region=region_of(inputs["location"]),
        zones=cluster_zones(inputs, cloud),
        system_objects=system_objects(),
    )
    auth = {**cluster.outputs["masterAuth"], "clusterCaCertificate": endpoint.ca_pem_base64}
    return replace(cluster, outputs={**cluster.outputs, "endpoint": endpoint.host, "masterAuth": auth})


def inline_pools(cluster: Properties) -> Iterator[Properties]:
    """The pools declared inside a cluster, as pool inputs: its ``nodePools``, else the default pool."""
    shared = {"project": cluster.get("project"), "location": cluster.get("location"), "cluster": cluster.get("name")}
    pools: Any = cluster.get("nodePools")
    if not isinstance(pools, list) or not pools:
        pools = [{"name": DEFAULT_POOL, **_default_pool(cluster)}]
    for index, pool in enumerate(pools):
        if isinstance(pool, dict):
            yield {"name": f"pool-{index}", **copy.deepcopy(pool), **shared}


def _default_pool(cluster: Properties) -> Properties:
    return without_none({"nodeConfig": cluster.get("nodeConfig"), "nodeCount": cluster.get("initialNodeCount")})


def _certificate(cluster: Record) -> Properties:
    certificate = at(cluster.outputs, "masterAuth.clusterCaCertificate")
    return {"clusterCaCertificate": certificate} if certificate else {}


def _require_ranges(inputs: Properties, subnetwork: Record) -> None:
    policy = inputs.get("ipAllocationPolicy") or {}
    known = {entry["rangeName"] for entry in subnetwork.inputs.get("secondaryIpRanges") or []}
    for key, what in (("clusterSecondaryRangeName", "Pod"), ("servicesSecondaryRangeName", "Services")):
        name = policy.get(key)
        if name and name not in known:
            raise bad_request(
                f"{what} secondary range '{name}' does not exist in subnetwork '{last_part(subnetwork.id)}' "
                f"(it has: {', '.join(sorted(known)) or 'none'})."
            )


def _range_outputs(inputs: Properties, subnetwork: Record) -> Properties:
    ranges = {
        entry["rangeName"]: entry.get("ipCidrRange") for entry in subnetwork.inputs.get("secondaryIpRanges") or []
    }
    policy = inputs.get("ipAllocationPolicy") or {}
    pods = ranges.get(policy.get("clusterSecondaryRangeName")) or policy.get("clusterIpv4CidrBlock")
    services = ranges.get(policy.get("servicesSecondaryRangeName")) or policy.get("servicesIpv4CidrBlock")
    return without_none({"clusterIpv4Cidr": pods, "servicesIpv4Cidr": services})
