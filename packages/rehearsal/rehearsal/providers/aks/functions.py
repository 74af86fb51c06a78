"""The provider's functions: who the caller is, existing clusters and networks, and how to reach a cluster."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.aks.cluster import endpoint_path
from rehearsal.providers.aks.data import get_network_interface
from rehearsal.providers.aks.iam import get_key, get_user_assigned_identity, get_vault
from rehearsal.providers.aks.network import NETWORK, ROUTE_TABLE, subnets_of
from rehearsal.providers.aks.node_pool import live, pools_of
from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.cloud import Record, last_part

# AKS's Entra server application, the same for everyone: https://azure.github.io/kubelogin/concepts/aks.html
SERVER_APPLICATION: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
CLIENT_APPLICATION: Final = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"


# Of a preview, which has no machines: the port "discard".
_NOWHERE: Final = {
    "ca_pem_base64": base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode(),
    "host": "127.0.0.1:9",
    "nowhere": "127.0.0.1:9",
    "inside": False,
    "client": {},
}


def get_client_config(cloud: azure.Subscription, args: Properties) -> Properties:
    """``authorization.getClientConfig``: the configured subscription and a caller of its own."""
    return {
        "clientId": azure.identifier("client", cloud.subscription),
        "objectId": azure.identifier("caller", cloud.subscription),
        "subscriptionId": cloud.subscription,
        "tenantId": cloud.tenant,
    }


def get_virtual_network(cloud: azure.Subscription, args: Properties) -> Properties:
    """``network.getVirtualNetwork``: a network with its subnets, however they were declared."""
    network = azure.require(cloud, azure.id_of(cloud, NETWORK, args), NETWORK)
    subnets = [
        {**each.state, "id": each.id, "name": each.inputs["subnetName"]} for each in subnets_of(cloud, network.id)
    ]
    return {**network.state, "id": network.id, "name": args["virtualNetworkName"], "subnets": subnets}


def get_route_table(cloud: azure.Subscription, args: Properties) -> Properties:
    """``network.getRouteTable``: a route table with its routes."""
    table = azure.require(cloud, azure.id_of(cloud, ROUTE_TABLE, args), ROUTE_TABLE)
    return {**table.state, "id": table.id, "name": args["routeTableName"]}


def get_managed_cluster(cloud: azure.Subscription, args: Properties) -> Properties:
    """``containerservice.getManagedCluster``: a cluster with all of its pools, and how many nodes each has now.

    Azure's error if it does not exist.
    """
    cluster = _cluster(cloud, args)
    pools = [live(cloud, pool) for pool in pools_of(cloud, cluster.id)]
    profiles = [{**pool.state, "name": last_part(pool.id)} for pool in pools]
    return {**cluster.state, "id": cluster.id, "agentPoolProfiles": profiles}


def user_credentials(cloud: azure.Subscription, args: Properties) -> Properties:
    """``containerservice.listManagedClusterUserCredentials``: a kubeconfig in base64, with Entra ID one to log in.

    Without it, it is that of administrators: https://learn.microsoft.com/azure/aks/control-kubeconfig-access
    """
    cluster = _cluster(cloud, args)
    if not at(cluster.inputs, "aadProfile.managed"):
        return _credentials(cloud, cluster, "clusterUser", _static)
    return _credentials(cloud, cluster, "clusterUser", _login)


def admin_credentials(cloud: azure.Subscription, args: Properties) -> Properties:
    """``containerservice.listManagedClusterAdminCredentials``: a kubeconfig in base64, with the certificate of a local
    account. 400 where these are disabled: https://learn.microsoft.com/azure/aks/manage-local-accounts-managed-azure-ad
    """
    cluster = _cluster(cloud, args)
    if cluster.inputs.get("disableLocalAccounts"):
        raise azure.bad_request(
            "Getting static credential is not allowed because this cluster is set to disable local accounts."
        )
    return _credentials(cloud, cluster, "clusterAdmin", _static)


def _credentials(
    cloud: azure.Subscription, cluster: Record, role: str, user: Callable[[str, Properties], Properties]
) -> Properties:
    endpoint = cloud.store.get("endpoint", endpoint_path(cluster))
    if endpoint is None and cloud.fleet is None:
        endpoint = Record(endpoint_path(cluster), "endpoint", {}, _NOWHERE)
    if endpoint is None:
        raise ProviderError(f"cluster {cluster.inputs['resourceName']} has no control plane yet")
    entry = user(cloud.tenant, endpoint.outputs)
    content = yaml.safe_dump(_kubeconfig(cluster.inputs, endpoint.outputs, role, entry), sort_keys=False)
    return {"kubeconfigs": [{"name": role, "value": base64.b64encode(content.encode()).decode()}]}


def get_agent_pool(cloud: azure.Subscription, args: Properties) -> Properties:
    """``containerservice.getAgentPool``: a pool with its current size; 404 if it does not exist."""
    pool = azure.require(cloud, f"{_cluster(cloud, args).id}/agentPools/{args['agentPoolName']}", azure.POOL)
    return {**live(cloud, pool).state, "id": pool.id}


def _cluster(cloud: azure.Subscription, args: Properties) -> Record:
    for key in ("resourceGroupName", "resourceName"):
        if not args.get(key):
            raise ProviderError(f"missing required property '{key}'")
    return azure.require(cloud, azure.id_of(cloud, azure.CLUSTER, args), azure.CLUSTER)


def _static(_: str, endpoint: Properties) -> Properties:
    return dict(endpoint["client"])


def _login(tenant: str, _: Properties) -> Properties:
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "args": [
            "get-token",
            *("--environment", "AzurePublicCloud"),
            *("--server-id", SERVER_APPLICATION),
            *("--client-id", CLIENT_APPLICATION),
            *("--tenant-id", tenant),
            *("--login", "devicecode"),
        ],
        "command": "kubelogin",
        "env": None,
        "provideClusterInfo": False,
    }
    return {"exec": login}


def _kubeconfig(inputs: Properties, endpoint: Properties, role: str, entry: Properties) -> dict[str, Any]:
    name = inputs["resourceName"]
    user = f"{role}_{inputs['resourceGroupName']}_{name}"
    # Only the networks that a private cluster's zone is linked to know its name:
    # https://learn.microsoft.com/azure/aks/private-clusters
    away = at(inputs, "apiServerAccessProfile.enablePrivateCluster") and not endpoint["inside"]
    host = endpoint["nowhere" if away else "host"]
    server = {"certificate-authority-data": endpoint["ca_pem_base64"], "server": f"https://{host}"}
    return {
        "apiVersion": "v1",
        "clusters": [{"cluster": server, "name": name}],
        "contexts": [{"context": {"cluster": name, "user": user}, "name": name}],
        "current-context": name,
        "kind": "Config",
        "preferences": {},
        "users": [{"name": user, "user": entry}],
    }


FUNCTIONS: Final[Mapping[str, Callable[[azure.Subscription, Properties], Properties]]] = {
    "azure-native:authorization:getClientConfig": get_client_config,
    "azure-native:containerservice:getAgentPool": get_agent_pool,
    "azure-native:containerservice:getManagedCluster": get_managed_cluster,
    "azure-native:keyvault:getKey": get_key,
    "azure-native:keyvault:getVault": get_vault,
    "azure-native:managedidentity:getUserAssignedIdentity": get_user_assigned_identity,
    "azure-native:network:getNetworkInterface": get_network_interface,
    "azure-native:network:getRouteTable": get_route_table,
    "azure-native:network:getVirtualNetwork": get_virtual_network,
    "azure-native:containerservice:listManagedClusterAdminCredentials": admin_credentials,
    "azure-native:containerservice:listManagedClusterUserCredentials": user_credentials,
}
