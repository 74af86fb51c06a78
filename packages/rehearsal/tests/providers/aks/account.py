"""A driver of the simulated Azure Native provider: the engine's calls in the engine's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Step
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.aks.cloud import identifier
from rehearsal.providers.base import Created, Properties

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
SHARE = "azure-native:storage:FileShare"
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
        return STEPS

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
    return {"scope": SUBNET_ID, "roleDefinitionId": NETWORK_CONTRIBUTOR, "principalType": "ServicePrincipal", **changes}


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


def window(**changes: Any) -> Properties:
    """A window every Sunday."""
    weekly = {"schedule": {"weekly": {"dayOfWeek": "Sunday", "intervalWeeks": 1}}, "startTime": "02:00"}
    return {
        "resourceGroupName": "gpu-dev",
        "resourceName": "gpu-dev",
        "configName": "aksManagedNodeOSUpgradeSchedule",
        "maintenanceWindow": {**weekly, "durationHours": 6},
        **changes,
    }


def federated(**changes: Any) -> Properties:
    """A credential for a service account of somebody else's cluster."""
    return {
        "resourceGroupName": "gpu-dev",
        "resourceName": "control-plane",
        "federatedIdentityCredentialResourceName": "trainer",
        "issuer": "https://eastus.oic.prod-aks.azure.com/another/cluster/",
        "subject": "system:serviceaccount:default:trainer",
        "audiences": ["api://AzureADTokenExchange"],
        **changes,
    }


def in_group(name: str, value: str, **more: Any) -> Properties:
    return {"resourceGroupName": "gpu-dev", name: value, **more}


def address(**changes: Any) -> Properties:
    standard = {"sku": {"name": "Standard"}, "publicIPAllocationMethod": "Static"}
    return in_group("publicIpAddressName", "out", **{**standard, **changes})


def nat(**changes: Any) -> Properties:
    addresses = [{"id": f"{GROUP_ID}/providers/Microsoft.Network/publicIPAddresses/out"}]
    base = {"sku": {"name": "Standard"}, "publicIpAddresses": addresses}
    return in_group("natGatewayName", "nat", **{**base, **changes})


_NETWORK_RESOURCES = f"{GROUP_ID}/providers/Microsoft.Network"
_LINKS: Properties = {
    "natGateway": {"id": f"{_NETWORK_RESOURCES}/natGateways/nat"},
    "networkSecurityGroup": {"id": f"{_NETWORK_RESOURCES}/networkSecurityGroups/nodes"},
    "routeTable": {"id": f"{_NETWORK_RESOURCES}/routeTables/nodes"},
}
_TAGS: Properties = {"tags": {"team": "vision"}}
_PERSON = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
# It lets the cluster's identity change the subnet's route table.
_GRANT: Properties = role(scope=GROUP_ID, principalId=identifier("principal", IDENTITY_ID), roleAssignmentName=_PERSON)
_SET_ID = f"{GROUP_ID}/providers/Microsoft.Compute/diskEncryptionSets/disks"
_ENCRYPTED: Properties = {"diskEncryptionSetID": _SET_ID}
_STORAGE: Properties = {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
_IN_STORAGE: Properties = {"resourceGroupName": "gpu-dev", "accountName": "gpudevdata"}
_LINK: Properties = {
    "subnet": {"id": SUBNET_ID},
    "privateLinkServiceConnections": [
        {
            "name": "files",
            "groupIds": ["file"],
            "privateLinkServiceId": f"{GROUP_ID}/providers/Microsoft.Storage/storageAccounts/gpudevdata",
        }
    ],
}
_OWN_IDENTITY: Properties = {"identity": {"type": "UserAssigned", "userAssignedIdentities": [IDENTITY_ID]}}

STEPS = (
    Step(
        GROUP,
        {"resourceGroupName": "gpu-dev"},
        {"resourceGroupName": "gpu-dev", **_TAGS},
        {"resourceGroupName": "gpu-dev", "location": "westeurope"},
    ),
    Step(
        SECURITY_GROUP,
        in_group("networkSecurityGroupName", "nodes"),
        in_group("networkSecurityGroupName", "nodes", **_TAGS),
        in_group("networkSecurityGroupName", "nodes", location="westeurope"),
    ),
    Step(
        ROUTE_TABLE,
        in_group("routeTableName", "nodes"),
        in_group("routeTableName", "nodes", **_TAGS),
        in_group("routeTableName", "other"),
    ),
    Step(ADDRESS, address(), address(**_TAGS), address(sku={"name": "Basic"})),
    Step(NAT, nat(), nat(idleTimeoutInMinutes=10), nat(natGatewayName="other")),
    Step(NETWORK, network(), network(**_TAGS), network(location="westeurope")),
    Step(
        SUBNET,
        subnet(**_LINKS),
        subnet(**_LINKS, privateEndpointNetworkPolicies="Enabled"),
        subnet(**_LINKS, subnetName="other"),
    ),
    Step(
        IDENTITY,
        in_group("resourceName", "control-plane"),
        in_group("resourceName", "control-plane", **_TAGS),
        in_group("resourceName", "other"),
    ),
    Step(
        FEDERATED,
        federated(),
        federated(subject="system:serviceaccount:default:other"),
        federated(resourceName="other"),
    ),
    Step(
        REGISTRY,
        in_group("registryName", "gpudevimages", sku={"name": "Basic"}),
        in_group("registryName", "gpudevimages", sku={"name": "Standard"}),
        in_group("registryName", "gpudevothers", sku={"name": "Basic"}),
    ),
    Step(
        STORAGE,
        in_group("accountName", "gpudevdata", **_STORAGE),
        in_group("accountName", "gpudevdata", **_STORAGE, **_TAGS),
        in_group("accountName", "gpudevdata", **_STORAGE, isHnsEnabled=True),
    ),
    Step(
        BLOBS,
        {**_IN_STORAGE, "blobServicesName": "default"},
        {**_IN_STORAGE, "blobServicesName": "default", "deleteRetentionPolicy": {"enabled": True, "days": 7}},
        {"resourceGroupName": "gpu-dev", "accountName": "gpudevother", "blobServicesName": "default"},
        "same",
    ),
    Step(
        CONTAINER,
        {**_IN_STORAGE, "containerName": "checkpoints"},
        {**_IN_STORAGE, "containerName": "checkpoints", "metadata": {"a": "b"}},
        {**_IN_STORAGE, "containerName": "others"},
    ),
    Step(
        SHARE,
        {**_IN_STORAGE, "shareName": "shared"},
        {**_IN_STORAGE, "shareName": "shared", "shareQuota": 200},
        {**_IN_STORAGE, "shareName": "others"},
    ),
    Step(
        ENDPOINT,
        in_group("privateEndpointName", "files", **_LINK),
        in_group("privateEndpointName", "files", **_LINK, **_TAGS),
        in_group("privateEndpointName", "other", **_LINK),
    ),
    Step(ROLE_ASSIGNMENT, _GRANT, {**_GRANT, "description": "d"}, {**_GRANT, "scope": SUBNET_ID}),
    Step(
        ENCRYPTION_SET,
        encryption_set(**_OWN_IDENTITY),
        encryption_set(**_OWN_IDENTITY, **_TAGS),
        encryption_set(**_OWN_IDENTITY, location="westeurope"),
    ),
    Step(CLUSTER, cluster(**_ENCRYPTED), cluster(**_ENCRYPTED, **_TAGS), cluster(**_ENCRYPTED, dnsPrefix="other")),
    Step(
        MAINTENANCE,
        window(),
        window(maintenanceWindow={**window()["maintenanceWindow"], "durationHours": 8}),
        window(configName="aksManagedAutoUpgradeSchedule"),
    ),
    Step(POOL, gpu_pool(), gpu_pool(maxCount=9), gpu_pool(vmSize="Standard_NC8as_T4_v3")),
)
