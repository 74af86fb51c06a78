"""The provider's functions: who the caller is, and how to reach a cluster."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from rehearsal.providers.aks.agent_pool import CLUSTER, POOL, live, pools_of
from rehearsal.providers.aks.cloud import Subscription, id_of, identifier, require
from rehearsal.providers.aks.cluster import endpoint_path
from rehearsal.providers.aks.data import get_network_interface
from rehearsal.providers.aks.identity import get_key, get_vault
from rehearsal.providers.aks.network import NETWORK, ROUTE_TABLE, subnets_of
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import last_part
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

# AKS's Entra server application, the same for everyone: https://azure.github.io/kubelogin/concepts/aks.html
SERVER_APPLICATION: Final = "6dae42f8-4368-4678-94ff-3960e28e3630"
CLIENT_APPLICATION: Final = "80faf920-1908-4b52-b5ef-a8e7bedfc67a"


def get_client_config(cloud: Subscription, args: Properties) -> Properties:
    """``authorization.getClientConfig``: the configured subscription and a caller of its own."""
    return {
        "clientId": identifier("client", cloud.subscription),
        "objectId": identifier("caller", cloud.subscription),
        "subscriptionId": cloud.subscription,
        "tenantId": cloud.tenant,
    }


def get_virtual_network(cloud: Subscription, args: Properties) -> Properties:
    """``network.getVirtualNetwork``: a network with its subnets, however they were declared."""
    network = require(cloud, id_of(cloud, NETWORK, args), NETWORK)
    subnets = [
        {**each.state, "id": each.id, "name": each.inputs["subnetName"]} for each in subnets_of(cloud, network.id)
    ]
    return {**network.state, "id": network.id, "name": args["virtualNetworkName"], "subnets": subnets}


def get_route_table(cloud: Subscription, args: Properties) -> Properties:
    """``network.getRouteTable``: a route table with its routes."""
    table = require(cloud, id_of(cloud, ROUTE_TABLE, args), ROUTE_TABLE)
    return {**table.state, "id": table.id, "name": args["routeTableName"]}


def get_managed_cluster(cloud: Subscription, args: Properties) -> Properties:
    """``containerservice.getManagedCluster``: a cluster with all of its pools, and how many nodes each has now.

    Azure's error if it does not exist.
    """
    cluster = _cluster(cloud, args)
    pools = [live(cloud, pool) for pool in pools_of(cloud, cluster.id)]
    profiles = [{**pool.state, "name": last_part(pool.id)} for pool in pools]
    return {**cluster.state, "id": cluster.id, "agentPoolProfiles": profiles}


def user_credentials(cloud: Subscription, args: Properties) -> Properties:
    """``containerservice.listManagedClusterUserCredentials``: a kubeconfig in base64, as AKS gives it with Entra ID.

    A cluster without Entra ID would get a client certificate: the rehearsal has no such credential to give.
    """
    cluster = _cluster(cloud, args)
    if not at(cluster.inputs, "aadProfile.managed"):
        raise ProviderError(
            f"cluster {cluster.inputs['resourceName']}: the rehearsal gives user credentials of clusters with Entra ID "
            "(aadProfile.managed) only, whose kubeconfig holds no secret"
        )
    endpoint = cloud.store.get("endpoint", endpoint_path(cluster))
    if endpoint is None:
        raise ProviderError(f"cluster {cluster.inputs['resourceName']} has no control plane yet")
    content = yaml.safe_dump(_kubeconfig(cloud, cluster.inputs, endpoint.outputs), sort_keys=False)
    return {"kubeconfigs": [{"name": "clusterUser", "value": base64.b64encode(content.encode()).decode()}]}


def get_agent_pool(cloud: Subscription, args: Properties) -> Properties:
    """``containerservice.getAgentPool``: a pool with its current size; 404 if it does not exist."""
    pool = require(cloud, f"{_cluster(cloud, args).id}/agentPools/{args['agentPoolName']}", POOL)
    return {**live(cloud, pool).state, "id": pool.id}


def _cluster(cloud: Subscription, args: Properties) -> Record:
    for key in ("resourceGroupName", "resourceName"):
        if not args.get(key):
            raise ProviderError(f"missing required property '{key}'")
    return require(cloud, id_of(cloud, CLUSTER, args), CLUSTER)


def _kubeconfig(cloud: Subscription, inputs: Properties, endpoint: Properties) -> dict[str, Any]:
    name = inputs["resourceName"]
    user = f"clusterUser_{inputs['resourceGroupName']}_{name}"
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "args": [
            "get-token",
            *("--environment", "AzurePublicCloud"),
            *("--server-id", SERVER_APPLICATION),
            *("--client-id", CLIENT_APPLICATION),
            *("--tenant-id", cloud.tenant),
            *("--login", "devicecode"),
        ],
        "command": "kubelogin",
        "env": None,
        "provideClusterInfo": False,
    }
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
        "users": [{"name": user, "user": {"exec": login}}],
    }


FUNCTIONS: Final[Mapping[str, Callable[[Subscription, Properties], Properties]]] = {
    "azure-native:authorization:getClientConfig": get_client_config,
    "azure-native:containerservice:getAgentPool": get_agent_pool,
    "azure-native:containerservice:getManagedCluster": get_managed_cluster,
    "azure-native:keyvault:getKey": get_key,
    "azure-native:keyvault:getVault": get_vault,
    "azure-native:network:getNetworkInterface": get_network_interface,
    "azure-native:network:getRouteTable": get_route_table,
    "azure-native:network:getVirtualNetwork": get_virtual_network,
    "azure-native:containerservice:listManagedClusterUserCredentials": user_credentials,
}
