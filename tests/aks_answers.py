"""What Azure answers to a program under test: just enough for other resources to refer to."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

_KINDS: Final = "agentPool subnet virtualNetwork natGateway publicIpAddress diskEncryptionSet resource resourceGroup"
_GROUPS: Final = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups"
_NAMES: Final = tuple(f"{kind}Name" for kind in _KINDS.split())
"""The input that names a resource, where several are there the most specific first."""

KUBECONFIG: Final = {
    "clusters": [{"name": "c", "cluster": {"server": "https://203.0.113.9:443", "certificate-authority-data": "Q0E="}}],
    "users": [{"name": "u", "user": {"exec": {"command": "kubelogin", "args": ["--login", "devicecode"]}}}],
}


def credentials(kubeconfig: Mapping[str, Any] = KUBECONFIG) -> dict[str, Any]:
    """The answer with a kubeconfig, by default one of a cluster with Entra ID."""
    return {"kubeconfigs": [{"name": "u", "value": base64.b64encode(json.dumps(kubeconfig).encode()).decode()}]}


# As `az aks show` describes one of terraform-azurerm-aks, in the spelling of the provider's function; of
# cluster-defaults-2025-07.json of the recordings, but for names, Entra ID and the subnet.
SUBNET: Final = f"{_GROUPS}/network/providers/Microsoft.Network/virtualNetworks/company/subnets/nodes"
SYSTEM: Final[dict[str, Any]] = {
    "name": "nodepool1",
    "mode": "System",
    "type": "VirtualMachineScaleSets",
    "vmSize": "Standard_D4ds_v4",
    "osType": "Linux",
    "osSKU": "Ubuntu",
    "count": 3,
    "enableAutoScaling": False,
    "enableNodePublicIP": False,
    "enableEncryptionAtHost": False,
    "maxPods": 250,
    "orchestratorVersion": "1.34",
    "currentOrchestratorVersion": "1.34.4",
    "vnetSubnetID": SUBNET,
}
RESEARCH: Final[dict[str, Any]] = {
    "name": "research",
    "location": "eastus",
    "currentKubernetesVersion": "1.34.4",
    "kubernetesVersion": "1.34",
    "provisioningState": "Succeeded",
    "powerState": {"code": "Running"},
    "sku": {"name": "Base", "tier": "Standard"},
    "fqdn": "research-0a.hcp.eastus.azmk8s.io",
    "nodeResourceGroup": "MC_platform_research_eastus",
    "identity": {"type": "SystemAssigned"},
    "identityProfile": {"kubeletidentity": {"resourceId": "research-agentpool"}},
    "networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay", "networkDataplane": "azure"},
    "apiServerAccessProfile": {"authorizedIPRanges": ["198.51.100.0/24"]},
    "aadProfile": {"managed": True, "enableAzureRBAC": True},
    "disableLocalAccounts": True,
    "autoUpgradeProfile": {"upgradeChannel": "none", "nodeOSUpgradeChannel": "None"},
    "oidcIssuerProfile": {"enabled": True, "issuerURL": "https://eastus.oic.prod-aks.azure.com/t/i/"},
    "securityProfile": {"workloadIdentity": {"enabled": True}},
    "agentPoolProfiles": [SYSTEM],
}
CLUSTERS: Final[dict[str, dict[str, Any]]] = {"research": RESEARCH, "another": RESEARCH}
"""The clusters of others by name, in the resource group ``platform``; a test may have others."""


def _cluster(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster of others, or the stack's own in its first update: its pools come later. The provider's error for one
    that is not there: https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/client_azcore.go"""
    if asked["resourceGroupName"] != asked["resourceName"] and asked["resourceName"] not in CLUSTERS:
        raise LookupError('Status=404 Code="ResourceNotFound" Message="The Resource was not found."')
    return CLUSTERS.get(asked["resourceName"], {"name": "gpu", "agentPoolProfiles": []})


def _agent_pool(asked: Mapping[str, Any]) -> dict[str, Any]:
    pools = CLUSTERS[asked["resourceName"]]["agentPoolProfiles"]
    return next(dict(pool) for pool in pools if pool["name"] == asked["agentPoolName"])


VIRTUAL_NETWORK: Final[dict[str, Any]] = {
    "location": "eastus",
    "addressSpace": {"addressPrefixes": ["10.20.0.0/16"]},
    "subnets": [
        {
            "name": "gpu-nodes",
            "id": "company/subnets/gpu-nodes",
            "addressPrefix": "10.20.0.0/22",
            "routeTable": {
                "id": "/subscriptions/s/resourceGroups/hub/providers/Microsoft.Network/routeTables/firewall"
            },
        }
    ],
}

ROUTE_TABLE: Final[dict[str, Any]] = {"routes": [{"addressPrefix": "0.0.0.0/0", "nextHopType": "VirtualAppliance"}]}

VAULT: Final[dict[str, Any]] = {
    "location": "eastus",
    "properties": {"enablePurgeProtection": True, "enableRbacAuthorization": True, "publicNetworkAccess": "Enabled"},
}

KEY: Final[dict[str, Any]] = {"kty": "RSA", "keySize": 3072}

CALLS: Final[dict[str, dict[str, Any] | Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "azure-native:authorization:getClientConfig": {"objectId": "the-deployer", "tenantId": "the-tenant"},
    "azure-native:network:getVirtualNetwork": lambda args: {
        **VIRTUAL_NETWORK,
        "subnets": [
            {**subnet, "id": f"{args['virtualNetworkName']}/subnets/{subnet['name']}"}
            for subnet in VIRTUAL_NETWORK["subnets"]
        ],
    },
    "azure-native:keyvault:getVault": lambda args: VAULT,
    "azure-native:keyvault:getKey": lambda args: KEY,
    "azure-native:managedidentity:getUserAssignedIdentity": lambda args: {
        "principalId": f"{args['resourceName']}-principal",
        "clientId": f"{args['resourceName']}-client",
    },
    "azure-native:network:getRouteTable": lambda args: ROUTE_TABLE,
    "azure-native:network:getNetworkInterface": {"ipConfigurations": [{"privateIPAddress": "10.0.0.77"}]},
    "azure-native:containerservice:getAgentPool": _agent_pool,
    "azure-native:containerservice:getManagedCluster": _cluster,
    "azure-native:containerservice:listManagedClusterUserCredentials": credentials(),
}


def outputs(type: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs besides the inputs; none for other clouds' types."""
    if not type.startswith("azure-native:"):
        return {}
    state: dict[str, Any] = {"name": next((inputs[key] for key in _NAMES if key in inputs), name)}
    if type.endswith(":UserAssignedIdentity"):
        state |= {"principalId": f"{name}-principal", "clientId": f"{name}-client"}
    if type.endswith(":ManagedCluster"):
        # Azure's ids of identities that the stack makes, in the place of those of mocks.
        own = f"{_GROUPS}/{inputs['resourceGroupName']}/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
        identity, kubelet = inputs["identity"], (inputs.get("identityProfile") or {}).get("kubeletidentity") or {}
        control_planes = [
            f"{own}/{inputs['resourceName']}-control-plane" if each.endswith("-identity-id") else each
            for each in identity["userAssignedIdentities"]
        ]
        state["identity"] = {**identity, "userAssignedIdentities": {each: {} for each in control_planes}}
        if str(kubelet.get("resourceId")).endswith("-identity-id"):
            nodes = {**kubelet, "resourceId": f"{own}/{inputs['resourceName']}-nodes"}
            state["identityProfile"] = {"kubeletidentity": nodes}
        state["oidcIssuerProfile"] = {**inputs["oidcIssuerProfile"], "issuerURL": "https://issuer.example/"}
    if type.endswith(":RoleAssignment"):
        state["createdOn"] = "2026-11-01T00:00:00.1234567Z"
    if type.endswith("containerregistry:Registry"):
        state["loginServer"] = f"{inputs['registryName']}.azurecr.io"
    if type.endswith(":StorageAccount"):
        state["primaryEndpoints"] = {"blob": f"https://{inputs['accountName']}.blob.core.windows.net/"}
    if type.endswith(":PrivateEndpoint"):
        # As where a policy of the company's gives each endpoint a group of DNS zones.
        state["customDnsConfigs"] = []
        state["networkInterfaces"] = [{"id": "/subscriptions/s/resourceGroups/g/providers/n/networkInterfaces/nic"}]
    if type.endswith(":PublicIPAddress"):
        state["ipAddress"] = "198.51.100.77"
    return state
