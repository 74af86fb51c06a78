"""The simulated Azure Native provider: its rows, its functions (who the caller is, and how to reach a cluster), and
Azure's messages."""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from typing_extensions import override

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.aks import agent_pool, cluster, data, identity, network, nodes
from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.aks.agent_pool import Operations, live, pools_of
from rehearsal.providers.aks.cluster import endpoint_path
from rehearsal.providers.aks.data import get_network_interface
from rehearsal.providers.aks.identity import get_key, get_user_assigned_identity, get_vault
from rehearsal.providers.aks.network import NETWORK, ROUTE_TABLE, subnets_of
from rehearsal.providers.base import CallContext, Created, Previous, Properties, ProviderError, at, has_unknown
from rehearsal.providers.check import InputMessages
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.rules import tag_rules
from rehearsal.providers.simulated_provider import SimulatedProvider
from rehearsal.providers.vendor import Action
from rehearsal.simulation import Fleet, Night, UserInfo

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog


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


# Keys have no case. What Azure says of a tag that it refuses:
# https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
TAGS: Final = tag_rules(
    "tags",
    source="https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations",
    key=r"(?!(?i:microsoft|azure|windows))[^<>%&\\?/]{1,512}",
    value=r".{0,256}",
    most=50,
    distinct=True,
    refusal="InvalidTagNameCharacters: The tag name '{key}' is not valid, is there twice, or is one too many.",
)


class AzureNativeProvider(SimulatedProvider[azure.Subscription]):
    """One simulated Azure subscription."""

    name = "azure-native"
    cloud_name = "aks"
    rows = azure.TABLE.rows(network, identity, data, cluster, agent_pool)
    rules_for_all_types = (*TAGS, network.PLACE_OFFERED)
    functions = FUNCTIONS
    settings = ("subscriptionId", "tenantId", "location")
    words = InputMessages(
        unknown="Azure knows no such property in {object}; check the spelling",
        lacking="pulumi-azure-native {version} calls API version {api}, which does not have it",
        server="is set by Azure and cannot be given",
    )
    cloud_errors = azure.ERRORS
    common_output_names = ("name", "type", "azureApiVersion", "provisioningState")
    # ``Update`` in https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/provider.go, which
    # keeps the location as well, an input here.
    stable = ("name",)
    make_cloud = azure.Subscription
    pool_order = agent_pool.Ranking

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        super().__init__(directory, fleet, catalog)
        self._operations = Operations()

    @override
    def principals(self) -> dict[str, UserInfo]:
        return cluster.find_principals(self._cloud)

    @override
    def maintain(self) -> Night | None:
        return nodes.night(self._cloud)

    @override
    def problems(self) -> Iterable[str] | None:
        evaluated = [nodes.problems(self._cloud, each) for each in self._cloud.store.all(azure.CLUSTER)]
        evaluated.append(cluster.problems(self._cloud))
        lists = [problems for problems in evaluated if problems is not None]
        return [problem for problems in lists for problem in problems] if lists else None

    @override
    def current(self, row: SimulatedResource[azure.Subscription], record: Record) -> Record:
        return identity.as_answered(record) if row.token == identity.ROLE_ASSIGNMENT else record

    @override
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        id = "" if request.preview else self.new_resource(self.row(request.type), inputs).id
        with self.operation(request, id, "Creating"):
            return super().create(request, inputs, timeout)

    @override
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        with self.operation(request, id, "Updating"):
            return super().update(request, id, before, news, timeout)

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        with self.operation(request, id, "Deleting"):
            super().delete(request, id, inputs, state, timeout)

    @override
    def operation(self, request: CallContext, id: str, action: str) -> AbstractContextManager[None]:
        """Lock the cluster for an operation on it or on one of its pools."""
        if request.preview or request.type not in (azure.CLUSTER, azure.POOL):
            return nullcontext()
        changed = agent_pool.cluster_of(id) if request.type == azure.POOL else id
        return self._operations.only(changed, f"{last_part(id)} - {action}")

    @override
    def auto_name(self, row: SimulatedResource[azure.Subscription], request: CallContext, inputs: Properties) -> str:
        digits = random.Random(request.random_seed or None)
        if row.token == identity.ROLE_ASSIGNMENT:
            return str(uuid.UUID(int=digits.getrandbits(128), version=4))
        return f"{request.name}{digits.getrandbits(32):08x}"

    @override
    def with_provider_defaults(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Properties:
        """``inputs`` with a location: the declared one, else the provider's, else the resource group's."""
        if not self._located(row) or inputs.get("location") is not None:
            return inputs
        location: Any = self._cloud.config.get("location")
        name = inputs.get("resourceGroupName")
        if location is None and name is not None and row.token != azure.GROUP:
            group = (
                None
                if name is UNKNOWN
                else self._cloud.find(azure.id_of(self._cloud, azure.GROUP, inputs), azure.GROUP)
            )
            # A group that is created by the same update decides later.
            location = group.inputs["location"] if group else UNKNOWN
        return {**inputs, "location": location}

    @override
    def deletes_first(
        self, row: SimulatedResource[azure.Subscription], request: CallContext, old: Properties, new: Properties
    ) -> bool:
        # The provider deletes first unless the address itself changed, auto-named or not.
        return all(old.get(key) == new.get(key) for key in self.address(row))

    @override
    def replacing(self, row: SimulatedResource[azure.Subscription]) -> tuple[str, ...]:
        # https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/gen/replacement.go
        return ("location",) if self._located(row) else ()

    def _located(self, row: SimulatedResource[azure.Subscription]) -> bool:
        return "location" in self.schema.inputs(row.token).properties

    @override
    def place(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Mapping[str, Any]:
        scope = inputs.get("scope")
        within = {"scope": scope.strip("/")} if isinstance(scope, str) else {}
        return {**inputs, **within, "subscription": self._cloud.subscription}

    @override
    def target(self, path: str, references: Reference, value: str, inputs: Properties) -> str:
        row = self.rows[references.token]
        return row.id.format_map(self.place(row, inputs)) if path in row.address else value.rstrip("/")

    @override
    def common_outputs(self, row: SimulatedResource[azure.Subscription], inputs: Properties) -> Properties:
        # The type is the path's part behind the provider's namespace, without the names.
        namespace, *steps = row.id.rpartition("/providers/")[2].split("/")
        if row.token == azure.GROUP:
            namespace, steps = "Microsoft.Resources", ["resourceGroups"]
        return {
            "azureApiVersion": self.schema.resources[row.token].api,
            "name": inputs[row.name],
            "provisioningState": "Succeeded",
            "type": "/".join([namespace, *(step for step in steps if not step.startswith("{"))]),
        }

    @override
    def require_unchanged(
        self, row: SimulatedResource[azure.Subscription], old: Properties, new: Properties, *, nested: bool
    ) -> None:
        """The provider does not know which inputs are immutable, so it sends an update that fails."""
        # What the provider would replace a resource of its own for, nobody replaces inside another.
        immutable = {**row.immutable, **(dict.fromkeys(row.replaces) if nested else {})}
        for path, default in immutable.items():
            before, after = at(old, path), at(new, path)
            known = not has_unknown(before) and not has_unknown(after)
            if known and _comparable(before, default) != _comparable(after, default):
                raise azure.change_refused(path)

    @override
    def permission(self, row: SimulatedResource[azure.Subscription], action: Action) -> str:
        """The resource's type, which is in its id, and what is done to it.

        https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations
        """
        _, own, typed = row.id.rpartition("/providers/")
        namespace, _, path = (typed if own else f"Microsoft.Resources{row.id}").partition("/")
        return "/".join((namespace, *path.split("/")[::2], "delete" if action == "delete" else "write"))


def _comparable(value: Any, default: Any) -> Any:
    if value is None:
        return default
    if isinstance(value, list):
        return sorted(map(str, value))
    return value.lower() if isinstance(value, str) and value.startswith("/") else value
