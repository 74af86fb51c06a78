"""A driver of the Azure Native stand-in: the engine's calls in the engine's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rehearsal.providers.azure_native import AzureNativeProvider
from rehearsal.providers.base import Created, Diff, Properties, ProviderError, Request
from tests.rehearsal.noting_fleet import NotingFleet

GROUP = "azure-native:resources:ResourceGroup"
NETWORK = "azure-native:network:VirtualNetwork"
SUBNET = "azure-native:network:Subnet"
NAT = "azure-native:network:NatGateway"
ADDRESS = "azure-native:network:PublicIPAddress"
SECURITY_GROUP = "azure-native:network:NetworkSecurityGroup"
ROUTE_TABLE = "azure-native:network:RouteTable"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ROLE_ASSIGNMENT = "azure-native:authorization:RoleAssignment"
ENCRYPTION_SET = "azure-native:compute:DiskEncryptionSet"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
GROUP_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/gpu-dev"
NETWORK_ID = f"{GROUP_ID}/providers/Microsoft.Network/virtualNetworks/net"
SUBNET_ID = f"{NETWORK_ID}/subnets/nodes"
IDENTITY_ID = f"{GROUP_ID}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/control-plane"
KUBELET_ID = f"{GROUP_ID}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelet"
CLUSTER_ID = f"{GROUP_ID}/providers/Microsoft.ContainerService/managedClusters/gpu-dev"
ROLES = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
NETWORK_CONTRIBUTOR = f"{ROLES}/4d97b98b-1d4f-4787-a291-c67834d212e7"
IDENTITY_OPERATOR = f"{ROLES}/f1a07417-d97a-45cb-824c-7a7467783830"


class Microsoft:
    """One program's view of the provider; ``restart`` is a new process on the same state."""

    def __init__(self, directory: Path, **config: str) -> None:
        self.directory = directory
        self.fleet = NotingFleet()
        self.config = {"subscriptionId": SUBSCRIPTION, "location": "eastus", **config}
        self.provider = self._provider()

    def _provider(self) -> AzureNativeProvider:
        provider = AzureNativeProvider(self.directory, self.fleet)
        provider.configure(dict(self.config))
        return provider

    def restart(self) -> None:
        self.provider.close()
        self.provider = self._provider()

    def request(self, type: str, name: str = "it", **more: Any) -> Request:
        return Request(f"urn:pulumi:dev::test::{type}::{name}", type, name, random_seed=name.encode(), **more)

    def check(self, type: str, inputs: Properties, olds: Properties | None = None, name: str = "it") -> Properties:
        accepted, failures = self.provider.check(self.request(type, name), olds or {}, inputs)
        if failures:
            raise ProviderError("; ".join(f"{failure.property}: {failure.reason}" for failure in failures))
        return accepted

    def create(self, type: str, inputs: Properties, name: str = "it") -> Created:
        accepted = self.check(type, inputs, name=name)
        created = self.provider.create(self.request(type, name), accepted, 0)
        return Created(created.id, created.state, accepted)

    def preview(self, type: str, inputs: Properties) -> Properties:
        accepted = self.check(type, inputs)
        return self.provider.create(self.request(type, preview=True), accepted, 0).state

    def diff(self, type: str, old: Properties, new: Properties, ignored: tuple[str, ...] = ()) -> Diff:
        before = self.check(type, old)
        after = self.check(type, new, before)
        return self.provider.diff(self.request(type), "id", before, before, after, ignored)

    def update(self, type: str, existing: Created, inputs: Properties, *, preview: bool = False) -> Properties:
        old = existing.inputs or {}
        accepted = self.check(type, inputs, old)
        request = self.request(type, preview=preview)
        return self.provider.update(request, existing.id, old, existing.state, accepted, 0)

    def delete(self, type: str, existing: Created) -> None:
        self.provider.delete(self.request(type), existing.id, existing.inputs or {}, existing.state, 0)

    def read(self, type: str, id: str, inputs: Properties | None = None) -> Created:
        return self.provider.read(self.request(type), id, inputs or {}, {})

    def group(self) -> Created:
        return self.create(GROUP, {"resourceGroupName": "gpu-dev"})

    def network(self) -> Created:
        """A resource group with a network and the subnet of the nodes."""
        self.group()
        self.create(NETWORK, network())
        return self.create(SUBNET, subnet())

    def identity(self, name: str = "control-plane") -> Created:
        return self.create(IDENTITY, {"resourceGroupName": "gpu-dev", "resourceName": name})

    def cluster(self, **changes: Any) -> Created:
        """A cluster with a system pool in a network of its own."""
        self.network()
        self.identity()
        return self.create(CLUSTER, cluster(**changes))


def network(**changes: Any) -> Properties:
    space = {"addressPrefixes": ["10.0.0.0/16"]}
    return {"resourceGroupName": "gpu-dev", "virtualNetworkName": "net", "addressSpace": space, **changes}


def subnet(**changes: Any) -> Properties:
    return {
        "resourceGroupName": "gpu-dev",
        "virtualNetworkName": "net",
        "subnetName": "nodes",
        "addressPrefix": "10.0.0.0/20",
        **changes,
    }


def role(**changes: Any) -> Properties:
    return {
        "scope": SUBNET_ID,
        "roleDefinitionId": NETWORK_CONTRIBUTOR,
        "principalType": "ServicePrincipal",
        **changes,
    }


def encryption_set(**changes: Any) -> Properties:
    return {
        "resourceGroupName": "gpu-dev",
        "diskEncryptionSetName": "disks",
        "activeKey": {"keyUrl": f"https://vault.vault.azure.net/keys/disks/{'0123456789abcdef' * 2}"},
        "identity": {"type": "SystemAssigned"},
        **changes,
    }


def system_pool(**changes: Any) -> Properties:
    return {
        "name": "system",
        "mode": "System",
        "count": 1,
        "vmSize": "Standard_D2s_v5",
        "vnetSubnetID": SUBNET_ID,
        **changes,
    }


def cluster(**changes: Any) -> Properties:
    """A cluster as safe as AKS makes them; blocks in ``changes`` replace whole blocks."""
    return {
        "resourceGroupName": "gpu-dev",
        "resourceName": "gpu-dev",
        "dnsPrefix": "gpu-dev",
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [IDENTITY_ID]},
        "aadProfile": {"managed": True, "enableAzureRBAC": True},
        "disableLocalAccounts": True,
        "oidcIssuerProfile": {"enabled": True},
        "securityProfile": {"workloadIdentity": {"enabled": True}},
        "apiServerAccessProfile": {"authorizedIPRanges": ["203.0.113.0/24"]},
        "networkProfile": {
            "networkPlugin": "azure",
            "networkPluginMode": "overlay",
            "podCidr": "10.4.0.0/14",
            "serviceCidr": "10.8.0.0/20",
            "dnsServiceIP": "10.8.0.10",
        },
        "agentPoolProfiles": [system_pool()],
        **changes,
    }


def gpu_pool(**changes: Any) -> Properties:
    """A spot pool of T4 nodes that starts at zero."""
    return {
        "resourceGroupName": "gpu-dev",
        "resourceName": "gpu-dev",
        "agentPoolName": "t4spot",
        "mode": "User",
        "vmSize": "Standard_NC4as_T4_v3",
        "availabilityZones": ["1", "2"],
        "enableAutoScaling": True,
        "count": 0,
        "minCount": 0,
        "maxCount": 4,
        "scaleSetPriority": "Spot",
        "scaleSetEvictionPolicy": "Delete",
        "spotMaxPrice": -1,
        "gpuProfile": {"driver": "Install"},
        "nodeLabels": {"team": "vision"},
        "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
        "vnetSubnetID": SUBNET_ID,
        **changes,
    }
