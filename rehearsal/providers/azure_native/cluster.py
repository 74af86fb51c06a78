"""AKS clusters: control plane, identities, the pools that come with them, and the system pods every cluster has."""

from __future__ import annotations

import ipaddress
import zlib
from typing import Any, Final

from typing_extensions import override

from rehearsal.providers.azure_native.agent_pool import (
    API_VERSION,
    pool_outputs,
    pools_of,
    remove_pool,
    require_same_pool,
    require_subnets,
    start_nodes,
)
from rehearsal.providers.azure_native.cloud import Cloud, identifier, same
from rehearsal.providers.azure_native.cluster_rules import CLUSTER_RULES, inline_pools
from rehearsal.providers.azure_native.errors import bad_request
from rehearsal.providers.azure_native.expander import uses_priorities
from rehearsal.providers.azure_native.identity import (
    ENCRYPTION_SET,
    IDENTITY,
    identity_outputs,
    may_assign,
)
from rehearsal.providers.azure_native.kind import Kind, require
from rehearsal.providers.azure_native.network import CLUSTER, NETWORK, POOL, SUBNET
from rehearsal.providers.azure_native.pool_rules import POOL_RULES, count_at_creation
from rehearsal.providers.azure_native.rules import enforce
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.azure_native.system import system_objects
from rehearsal.providers.azure_native.versions import KUBERNETES
from rehearsal.providers.base import UNKNOWN, Created, Properties, ProviderError
from rehearsal.providers.store import Record
from rehearsal.providers.values import at, without_none

RESERVED_RANGES: Final = ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")
"""https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning"""


class ClusterKind(Kind):
    """``azure-native:containerservice:ManagedCluster``. Its own pools are recorded like declared ones."""

    token = CLUSTER
    shape = Shape(
        package="containerservice",
        model="ManagedCluster",
        api_version=API_VERSION,
        namespace="Microsoft.ContainerService",
        segments=(("managedClusters", "resourceName"),),
        located=True,
        own_replaces=(
            "diskEncryptionSetID",
            "dnsPrefix",
            "fqdnSubdomain",
            "linuxProfile",
            "nodeResourceGroup",
            "windowsProfile",
            *(
                f"networkProfile.{key}"
                for key in (
                    "dnsServiceIP",
                    "networkDataplane",
                    "networkMode",
                    "networkPlugin",
                    "networkPluginMode",
                    "networkPolicy",
                    "outboundType",
                    "podCidr",
                    "serviceCidr",
                    "serviceCidrs",
                )
            ),
        ),
        fixed={
            "apiServerAccessProfile.enablePrivateCluster": False,
            "apiServerAccessProfile.privateDNSZone": None,
            "enableRBAC": True,
        },
        unordered=("apiServerAccessProfile.authorizedIPRanges",),
    )
    rules = CLUSTER_RULES.rules
    computed = (
        "azurePortalFQDN",
        "currentKubernetesVersion",
        "eTag",
        "fqdn",
        "maxAgentPools",
        "powerState",
        "resourceUID",
    )

    @override
    def preview(self, cloud: Cloud, inputs: Properties, old: Properties | None = None) -> Properties:
        state = super().preview(cloud, inputs, old)
        for pool in inline_pools(inputs):
            enforce(POOL_RULES.rules, pool, cloud)
        unknown = ("identity", "identityProfile", "nodeResourceGroup", "oidcIssuerProfile", "privateFQDN")
        return {**state, **dict.fromkeys(unknown, UNKNOWN), **_declared(inputs, "nodeResourceGroup")}

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        super().references(cloud, inputs)
        for id in at(inputs, "identity.userAssignedIdentities") or []:
            require(cloud, id, IDENTITY)
        if inputs.get("diskEncryptionSetID"):
            require(cloud, inputs["diskEncryptionSetID"], ENCRYPTION_SET)
        _require_kubelet_identity(cloud, inputs)
        for pool in inline_pools(inputs):
            require_subnets(cloud, pool, inputs)
        _require_ranges_apart(cloud, inputs)
        _require_nat(cloud, inputs)

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        enforce(self.rules, inputs, cloud)
        for pool in inline_pools(inputs):
            enforce(POOL_RULES.rules, pool, cloud)
            if problem := count_at_creation(pool):
                raise bad_request(problem)
        self.references(cloud, inputs)
        cloud.machines()
        record = self.record(cloud, inputs)
        cloud.store.add(record)
        return Created(record.id, self._start(cloud, record).state)

    @override
    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        existing = self.existing(cloud, id)
        enforce(self.rules, inputs, cloud)
        for pool in inline_pools(inputs):
            enforce(POOL_RULES.rules, pool, cloud)
        self.require_unchanged(existing.inputs, inputs)
        self.references(cloud, inputs)
        record = self.record(cloud, inputs)
        cloud.store.put(record)
        record = self._start(cloud, record)
        if uses_priorities(record) or uses_priorities(existing):
            for pool_ in pools_of(cloud, record.id):
                start_nodes(cloud, pool_)
        return record.state

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        record = cloud.find(id, self.token)
        if record is None:
            return
        for pool in pools_of(cloud, record.id):
            remove_pool(cloud, pool)
        cloud.machines().delete_cluster(record.inputs["resourceName"])
        cloud.store.remove(endpoint_path(record))
        cloud.store.remove(record.id)

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        id = self.id(cloud, inputs)
        region, name = inputs["location"], inputs["resourceName"]
        # https://learn.microsoft.com/azure/aks/faq: AKS's own resource group
        made_in = inputs.get("nodeResourceGroup") or f"MC_{inputs['resourceGroupName']}_{name}_{region}"
        prefix = str(inputs.get("dnsPrefix") or inputs.get("fqdnSubdomain"))
        host = f"{prefix}-{zlib.crc32(id.lower().encode()):08x}.hcp.{region}.azmk8s.io"
        private = bool(at(inputs, "apiServerAccessProfile.enablePrivateCluster"))
        issuer = dict(inputs.get("oidcIssuerProfile") or {})
        if issuer.get("enabled"):
            path = f"{cloud.tenant}/{identifier('issuer', id)}/"
            issuer["issuerURL"] = f"https://{region}.oic.prod-aks.azure.com/{path}"
        return {
            "azurePortalFQDN": f"{prefix}.portal.hcp.{region}.azmk8s.io",
            "currentKubernetesVersion": KUBERNETES,
            "eTag": "",
            "fqdn": host,
            "identity": identity_outputs(cloud, inputs.get("identity"), id),
            "identityProfile": {"kubeletidentity": self._kubelet(cloud, inputs, made_in)},
            "kubernetesVersion": inputs.get("kubernetesVersion") or KUBERNETES,
            "maxAgentPools": 100,
            "nodeResourceGroup": made_in,
            "oidcIssuerProfile": {"enabled": False, **issuer},
            "powerState": {"code": "Running"},
            "privateFQDN": host.replace(".hcp.", f".{identifier('zone', id)}.privatelink.") if private else None,
            "resourceUID": identifier("uid", id).replace("-", ""),
        }

    @override
    def require_unchanged(self, old: Properties, new: Properties) -> None:
        super().require_unchanged(old, new)
        before = {pool["name"]: pool for pool in inline_pools(old)}
        for pool in inline_pools(new):
            # What the provider would replace a pool of its own for, nobody replaces here.
            require_same_pool(before.get(pool["name"], pool), pool)

    def _kubelet(self, cloud: Cloud, inputs: Properties, made_in: str) -> Properties:
        """The identity of the nodes: the declared one, else one that AKS makes in its own resource group."""
        declared = at(inputs, "identityProfile.kubeletidentity")
        if declared:
            state = require(cloud, declared["resourceId"], IDENTITY).outputs
            given = {"clientId": state["clientId"], "objectId": state["principalId"]}
            return {**given, **without_none(declared)}
        name = f"{inputs['resourceName']}-agentpool"
        group = f"/subscriptions/{cloud.subscription}/resourceGroups/{made_in}"
        id = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
        return {"clientId": identifier("client", id), "objectId": identifier("principal", id), "resourceId": id}

    def _start(self, cloud: Cloud, cluster: Record) -> Record:
        """Start what does not run yet: the control plane, unless an earlier attempt did, and its own pools."""
        try:
            if cloud.store.get(endpoint_path(cluster)) is None:
                _start_control_plane(cloud, cluster)
            for inputs in inline_pools(cluster.inputs):
                with cloud.changing:
                    pool = pool_record(cluster, inputs)
                    cloud.store.put(pool)
                    start_nodes(cloud, pool)
        except Exception as error:
            # The API made the cluster before its start failed; the provider keeps it in its state too.
            made = Created(cluster.id, cluster.state)
            raise ProviderError(f"error creating cluster {cluster.id}: {error}", partial=made) from error
        return cluster


def endpoint_path(cluster: Record) -> str:
    """Where the store keeps how the control plane is really reached: the ``fqdn`` leads nowhere."""
    return f"{cluster.id}#endpoint"


def pool_record(cluster: Record, pool: Properties) -> Record:
    """A pool that is declared inside a cluster, as if it were a resource."""
    own = {key: value for key, value in pool.items() if key != "name" and value is not None}
    path = {key: cluster.inputs[key] for key in ("resourceGroupName", "resourceName")}
    inputs = {**own, **path, "agentPoolName": pool["name"]}
    outputs = {"name": pool["name"], "provisioningState": "Succeeded", **pool_outputs(cluster.inputs, inputs)}
    return Record(f"{cluster.id}/agentPools/{pool['name']}", POOL, inputs, outputs)


def _declared(inputs: Properties, key: str) -> Properties:
    return {key: inputs[key]} if inputs.get(key) is not None else {}


def _start_control_plane(cloud: Cloud, cluster: Record) -> None:
    inputs = cluster.inputs
    region = inputs["location"]
    endpoint = cloud.machines().create_cluster(
        inputs["resourceName"],
        version=KUBERNETES,
        region=region,
        zones=cloud.catalog.regions()[region],
        system_objects=system_objects(inputs),
    )
    cloud.store.put(Record(endpoint_path(cluster), "endpoint", {}, vars(endpoint).copy()))


def _require_kubelet_identity(cloud: Cloud, inputs: Properties) -> None:
    kubelet = at(inputs, "identityProfile.kubeletidentity.resourceId")
    if not kubelet:
        return
    identity = require(cloud, kubelet, IDENTITY)
    user = require(cloud, inputs["identity"]["userAssignedIdentities"][0], IDENTITY)
    if not may_assign(cloud, user.outputs["principalId"], identity.id):
        raise bad_request(
            f"The cluster using user-assigned managed identity must be granted 'Managed Identity Operator' role to "
            f"assign kubelet identity. You can grant it on {identity.id}.",
            "CustomKubeletIdentityMissingPermissionError",
        )


def _require_ranges_apart(cloud: Cloud, inputs: Properties) -> None:
    networks: dict[str, Any] = {}
    for pool in inline_pools(inputs):
        subnet = cloud.find(pool["vnetSubnetID"], SUBNET) if pool.get("vnetSubnetID") else None
        network = cloud.find(subnet.id.rpartition("/subnets/")[0], NETWORK) if subnet else None
        for text in at(network.inputs, "addressSpace.addressPrefixes") or [] if network else []:
            networks[f"virtual network range {text}"] = ipaddress.ip_network(text)
    reserved = {f"range {text}, which Azure reserves": ipaddress.ip_network(text) for text in RESERVED_RANGES}
    for key in ("podCidr", "serviceCidr"):
        text = at(inputs, f"networkProfile.{key}")
        for what, range_ in {**networks, **reserved}.items():
            if text and ipaddress.ip_network(text).overlaps(range_):
                raise bad_request(
                    f"networkProfile.{key} {text} overlaps {what}.", "ServiceCidrOverlapExistingSubnetsCidr"
                )


def _require_nat(cloud: Cloud, inputs: Properties) -> None:
    if at(inputs, "networkProfile.outboundType") != "userAssignedNATGateway":
        return
    for pool in inline_pools(inputs):
        subnet = require(cloud, pool["vnetSubnetID"], SUBNET)
        if not at(subnet.inputs, "natGateway.id"):
            raise bad_request(f"outboundType userAssignedNATGateway: subnet {subnet.id} has no NAT gateway.")


def find_cluster(cloud: Cloud, group: str, name: str) -> Record:
    """The cluster of that name in a resource group; 404 if there is none."""
    path = f"/subscriptions/{cloud.subscription}/resourceGroups/{group}"
    id = f"{path}/providers/Microsoft.ContainerService/managedClusters/{name}"
    found = next((each for each in cloud.store.all(CLUSTER) if same(each.id, id)), None)
    return found or require(cloud, id, CLUSTER)
