"""Agent pools: their own resource, and the pools that come with a cluster."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from rehearsal.providers.azure_native.cloud import Cloud, last_part, same
from rehearsal.providers.azure_native.errors import bad_request, change_refused
from rehearsal.providers.azure_native.expander import rank_of
from rehearsal.providers.azure_native.kind import Kind, require
from rehearsal.providers.azure_native.network import CLUSTER, POOL, SUBNET
from rehearsal.providers.azure_native.nodes import effective_labels, effective_taints, max_pods, node_group
from rehearsal.providers.azure_native.pool_rules import POOL_RULES, count_at_creation, is_system
from rehearsal.providers.azure_native.rules import enforce
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.azure_native.versions import KUBERNETES
from rehearsal.providers.base import UNKNOWN, Created, Properties, ProviderError
from rehearsal.providers.store import Record

API_VERSION: Final = "2025-09-01"


class AgentPoolKind(Kind):
    """``azure-native:containerservice:AgentPool``.

    What AKS cannot change of a pool is what Terraform's provider cycles or replaces it for; azure-native itself knows
    only two of them and leaves the others to the API, which refuses:
    https://www.pulumi.com/registry/packages/azure/api-docs/containerservice/kubernetesclusternodepool/
    """

    token = POOL
    shape = Shape(
        package="containerservice",
        model="AgentPool",
        api_version=API_VERSION,
        namespace="Microsoft.ContainerService",
        segments=(("managedClusters", "resourceName"), ("agentPools", "agentPoolName")),
        own_replaces=("gpuInstanceProfile", "vmSize", "networkProfile.nodePublicIPTags"),
        fixed={
            "availabilityZones": [],
            "capacityReservationGroupID": None,
            "enableEncryptionAtHost": False,
            "enableNodePublicIP": False,
            "enableUltraSSD": False,
            "gpuProfile.driver": "Install",
            "hostGroupID": None,
            "kubeletConfig": None,
            "kubeletDiskType": "OS",
            "linuxOSConfig": None,
            "maxPods": None,
            "nodePublicIPPrefixID": None,
            "osDiskSizeGB": 0,
            "osDiskType": None,
            "osType": "Linux",
            "podSubnetID": None,
            "proximityPlacementGroupID": None,
            "scaleSetEvictionPolicy": "Delete",
            "scaleSetPriority": "Regular",
            "spotMaxPrice": -1,
            "type": "VirtualMachineScaleSets",
            "vnetSubnetID": None,
        },
        unordered=("availabilityZones", "nodeTaints"),
    )
    rules = POOL_RULES.rules
    computed = ("currentOrchestratorVersion", "eTag", "nodeImageVersion", "powerState", "status")

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        super().references(cloud, inputs)
        cluster = require(cloud, self.id(cloud, inputs).rpartition("/agentPools/")[0], CLUSTER)
        require_subnets(cloud, inputs, cluster.inputs)
        others = [pool for pool in pools_of(cloud, cluster.id) if not same(pool.id, self.id(cloud, inputs))]
        if not any(is_system(pool.inputs) for pool in [*others, Record("", POOL, inputs)]):
            raise bad_request("Must define at least one system pool.")

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        enforce(self.rules, inputs, cloud)
        problem = count_at_creation(inputs)
        if problem:
            raise bad_request(problem)
        self.references(cloud, inputs)
        cloud.machines()
        record = self.record(cloud, inputs)
        cloud.store.add(record)
        try:
            start_nodes(cloud, record)
        except Exception as error:
            # The API made the pool before its nodes failed; the provider keeps it in its state too.
            made = Created(record.id, record.state)
            raise ProviderError(f"error creating agent pool {record.id}: {error}", partial=made) from error
        return Created(record.id, record.state)

    @override
    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        with cloud.changing:
            state = super().update(cloud, id, inputs)
            start_nodes(cloud, self.existing(cloud, id))
        return state

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        record = cloud.find(id, self.token)
        if record is None:
            return
        others = [pool for pool in pools_of(cloud, cluster_of(record)) if pool.id != record.id]
        if is_system(record.inputs) and not any(is_system(pool.inputs) for pool in others):
            name = last_part(record.id)
            raise bad_request(
                f"There has to be at least one system agent pool: '{name}' is the last one. Add another, or delete "
                "the cluster.",
                "OperationNotAllowed",
            )
        remove_pool(cloud, record)

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        cluster = require(cloud, self.id(cloud, inputs).rpartition("/agentPools/")[0], CLUSTER)
        return pool_outputs(cluster.inputs, inputs)


def require_same_pool(old: Properties, new: Properties) -> None:
    """Refuse to change what is fixed in a pool that exists, its machines included."""
    kind = AgentPoolKind()
    kind.require_unchanged(old, new)
    for key in ("gpuInstanceProfile", "vmSize"):
        if UNKNOWN not in (old.get(key), new.get(key)) and old.get(key) != new.get(key):
            raise change_refused(key)


def pool_outputs(cluster: Properties, pool: Properties) -> Properties:
    """What AKS adds to a pool's answer, defaults included."""
    image = pool.get("osSKU") or "Ubuntu"
    outputs: Properties = {
        "count": 1 if pool.get("count") is None else pool["count"],
        "currentOrchestratorVersion": KUBERNETES,
        "eTag": "",
        "kubeletDiskType": pool.get("kubeletDiskType") or "OS",
        "maxPods": max_pods(cluster, pool),
        "mode": pool.get("mode") or "User",
        "nodeImageVersion": f"AKS{image}-rehearsal",
        "orchestratorVersion": pool.get("orchestratorVersion") or KUBERNETES,
        "osDiskType": pool.get("osDiskType") or "Managed",
        "osSKU": image,
        "osType": pool.get("osType") or "Linux",
        "powerState": {"code": "Running"},
        "type": pool.get("type") or "VirtualMachineScaleSets",
    }
    if taints := effective_taints(pool):
        outputs["nodeTaints"] = taints
    if labels := effective_labels(pool):
        outputs["nodeLabels"] = labels
    return outputs


def require_subnets(cloud: Cloud, pool: Properties, cluster: Properties) -> None:
    """404 if a pool names a subnet that is not there, 400 if the subnet is in another region than the cluster."""
    for key in ("vnetSubnetID", "podSubnetID"):
        if pool.get(key):
            subnet = require(cloud, pool[key], SUBNET)
            network = cloud.store.get(subnet.id.rpartition("/subnets/")[0])
            if network is not None and network.inputs["location"] != cluster["location"]:
                raise bad_request(
                    f"{key}: subnet {subnet.id} is in {network.inputs['location']}, the cluster in "
                    f"{cluster['location']}."
                )


def cluster_of(pool: Record) -> str:
    """The id of a pool's cluster."""
    return pool.id.rpartition("/agentPools/")[0]


def pools_of(cloud: Cloud, cluster: str) -> list[Record]:
    """A cluster's pools, however they were declared."""
    start = f"{cluster.lower()}/agentpools/"
    return [record for record in cloud.store.all(POOL) if record.id.lower().startswith(start)]


def start_nodes(cloud: Cloud, pool: Record) -> None:
    """Give the pool its machines, or change them to what the pool now says."""
    cluster = require(cloud, cluster_of(pool), CLUSTER)
    name = last_part(pool.id)
    rank = rank_of(cloud, cluster, name)
    made_in = cluster.outputs["nodeResourceGroup"]
    cloud.machines().apply_group(node_group(cloud, cluster.inputs, name, pool.inputs, made_in, rank))


def remove_pool(cloud: Cloud, pool: Record) -> None:
    """Take the pool's machines away, and the pool."""
    with cloud.changing:
        cloud.machines().delete_group(last_part(cluster_of(pool)), last_part(pool.id))
        cloud.store.remove(pool.id)
