"""A driver of the simulated Azure Native provider: the engine's calls in the engine's order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Examples, Step
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.base import Created

GROUP = "azure-native:resources:ResourceGroup"
NETWORK = "azure-native:network:VirtualNetwork"
SUBNET = "azure-native:network:Subnet"
NAT = "azure-native:network:NatGateway"
ADDRESS = "azure-native:network:PublicIPAddress"
SECURITY_GROUP = "azure-native:network:NetworkSecurityGroup"
ROUTE_TABLE = "azure-native:network:RouteTable"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ROLE_ASSIGNMENT = "azure-native:authorization:RoleAssignment"
FEDERATED = "azure-native:managedidentity:FederatedIdentityCredential"
REGISTRY = "azure-native:containerregistry:Registry"
STORAGE = "azure-native:storage:StorageAccount"
BLOBS = "azure-native:storage:BlobServiceProperties"
ENDPOINT = "azure-native:network:PrivateEndpoint"
CONTAINER = "azure-native:storage:BlobContainer"
ENCRYPTION_SET = "azure-native:compute:DiskEncryptionSet"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
MAINTENANCE = "azure-native:containerservice:MaintenanceConfiguration"

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

EXAMPLES = Examples(Path(__file__).parent)


class Microsoft(Account):
    """A subscription in Azure."""

    provider_type = AzureNativeProvider
    settings: ClassVar[dict[str, str]] = {"subscriptionId": SUBSCRIPTION, "location": "eastus"}
    missing = "Status=404 "
    in_use = r"Status=400 Code=.* is in use by "
    setting = "location"

    @classmethod
    @override
    def steps(cls) -> Sequence[Step]:
        return EXAMPLES.steps

    def group(self) -> Created:
        return self.create(GROUP, {"resourceGroupName": "gpu-dev"})

    def network(self) -> Created:
        """A resource group with a network and the subnet of the nodes."""
        self.group()
        self.create(NETWORK, network())
        return self.create(SUBNET, subnet())

    def identity(self, name: str = "control-plane", *, joins: bool = True) -> Created:
        """An identity; the control plane's may join the subnet of the nodes."""
        made = self.create(IDENTITY, {"resourceGroupName": "gpu-dev", "resourceName": name})
        if joins and name == "control-plane":
            self.create(ROLE_ASSIGNMENT, role(principalId=made.state["principalId"]), name="join")
        return made

    def cluster(self, **changes: Any) -> Created:
        """A cluster with a system pool in a network of its own."""
        self.network()
        self.identity()
        return self.create(CLUSTER, cluster(**changes))


network = EXAMPLES.inputs("network")
subnet = EXAMPLES.inputs("subnet")
role = EXAMPLES.inputs("role")
encryption_set = EXAMPLES.inputs("encryption_set")
system_pool = EXAMPLES.inputs("system_pool")
cluster = EXAMPLES.inputs("cluster")
gpu_pool = EXAMPLES.inputs("gpu_pool")
window = EXAMPLES.inputs("window")
federated = EXAMPLES.inputs("federated")
address = EXAMPLES.inputs("address")
nat = EXAMPLES.inputs("nat")
