"""What a request refers to must exist and be apart from others; the cluster's identity must be allowed to use it."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.account_limits import AccountLimits
from rehearsal.providers.base import Properties, ProviderError

PRIVATE: Properties = {"enablePrivateCluster": True, "privateDNSZone": "system"}
ZONE = "/subscriptions/hub/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.eastus.azmk8s.io"
ZONE_ROLE = f"{aks.ROLES}/b12aa53e-6015-4669-85d0-8515ebb3ae7f"
SCOPES = {
    "subnet": aks.SUBNET_ID,
    "subnet-x": f"{aks.SUBNET_ID}x",
    "network": aks.SUBNET_ID.partition("/subnets/")[0],
    "zone": ZONE,
}
"""Names in the tables → IDs."""


def test_the_subnet_of_a_clusters_nodes_must_exist(azure: aks.Microsoft) -> None:
    """What other inputs name: ``test_contract.py``."""
    azure.refuses(aks.NETWORK, aks.network(), "ResourceGroupNotFound")
    azure.group()
    azure.identity(joins=False)
    azure.refuses(aks.CLUSTER, aks.cluster(), "ResourceNotFound")


@cases
def test_subnets_are_inside_their_network_and_apart(azure: aks.Microsoft, prefix: str, code: str | None) -> None:
    azure.network()
    azure.takes(aks.SUBNET, aks.subnet(subnetName="other", addressPrefix=prefix), code)


def test_a_network_cannot_shrink_below_its_subnets(azure: aks.Microsoft) -> None:
    azure.network()
    existing = azure.read(aks.NETWORK, aks.SUBNET_ID.partition("/subnets/")[0])
    grown = aks.network(addressSpace={"addressPrefixes": ["10.0.0.0/16", "10.1.0.0/16"]})
    azure.update(aks.NETWORK, existing, grown)
    with pytest.raises(ProviderError, match="NetcfgSubnetRangeOutsideVnet"):
        azure.update(aks.NETWORK, existing, aks.network(addressSpace={"addressPrefixes": ["10.1.0.0/16"]}))


def test_subnets_inside_a_network_are_subnets(azure: aks.Microsoft) -> None:
    azure.group()
    net = azure.create(aks.NETWORK, aks.network(subnets=[{"name": "nodes", "addressPrefix": "10.0.0.0/20"}]))
    assert azure.read(aks.SUBNET, aks.SUBNET_ID).state["addressPrefix"] == "10.0.0.0/20"
    azure.delete(aks.NETWORK, net)
    assert azure.read(aks.SUBNET, aks.SUBNET_ID).id == ""


@cases
def test_pods_and_services_have_own_ranges(azure: aks.Microsoft, key: str, cidr: str, other: str | None) -> None:
    azure.network()
    azure.identity()
    profile = {**aks.cluster()["networkProfile"], key: cidr, "dnsServiceIP": None}
    azure.takes(aks.CLUSTER, aks.cluster(networkProfile=profile), other)


def test_an_own_nat_gateway_must_be_on_the_subnet(azure: aks.Microsoft) -> None:
    azure.network()
    azure.identity()
    profile = {**aks.cluster()["networkProfile"], "outboundType": "userAssignedNATGateway"}
    azure.refuses(aks.CLUSTER, aks.cluster(networkProfile=profile), "has no NAT gateway")
    public = azure.create(aks.ADDRESS, aks.address())
    without = azure.create(aks.NAT, aks.nat(natGatewayName="without", publicIpAddresses=[]))
    azure.update(aks.SUBNET, azure.read(aks.SUBNET, aks.SUBNET_ID), aks.subnet(natGateway={"id": without.id}))
    azure.refuses(aks.CLUSTER, aks.cluster(networkProfile=profile), "VMExtensionError_OutboundConnFail")
    gateway = azure.create(aks.NAT, aks.nat())
    azure.update(aks.SUBNET, azure.read(aks.SUBNET, aks.SUBNET_ID), aks.subnet(natGateway={"id": gateway.id}))
    # The nodes' own address has to be among the ranges, where there are any.
    own = public.state["ipAddress"]
    for ranges in (["198.51.100.0/24"], ["198.51.100.0/24", "192.0.2.1/32"]):
        inputs = aks.cluster(networkProfile=profile, apiServerAccessProfile={"authorizedIPRanges": ranges})
        azure.refuses(aks.CLUSTER, inputs, "K8SAPIServerConnFailVMExtensionError")
    allowed = {"authorizedIPRanges": ["198.51.100.0/24", f"{own}/32"]}
    assert azure.create(aks.CLUSTER, aks.cluster(networkProfile=profile, apiServerAccessProfile=allowed)).id


@cases
def test_a_route_table_has_a_default_route(azure: aks.Microsoft, hops: dict[str, str] | None, code: str | None) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=aks.GROUP_ID, principalId=principal))
    if hops is not None:
        routes = [{"name": "r", "addressPrefix": prefix, "nextHopType": hop} for prefix, hop in hops.items()]
        way = {"resourceGroupName": "gpu-dev", "routeTableName": "way", "routes": routes}
        table = azure.create(aks.ROUTE_TABLE, way)
        azure.update(aks.SUBNET, azure.read(aks.SUBNET, aks.SUBNET_ID), aks.subnet(routeTable={"id": table.id}))
    inputs = aks.cluster(networkProfile={**aks.cluster()["networkProfile"], "outboundType": "userDefinedRouting"})
    azure.takes(aks.CLUSTER, inputs, code)


@cases
def test_a_nat_gateway_takes_addresses_of_its_kind(changes: dict[str, Any], words: str, azure: aks.Microsoft) -> None:
    azure.group()
    azure.create(aks.ADDRESS, aks.address(**changes))
    azure.refuses(aks.NAT, aks.nat(), words)


@pytest.mark.parametrize("elsewhere", [None, aks.SUBNET_ID.replace("virtualNetworks/net", "virtualNetworks/other")])
def test_all_pools_are_in_one_network(elsewhere: str | None, azure: aks.Microsoft) -> None:
    azure.cluster()
    azure.create(aks.NETWORK, aks.network(virtualNetworkName="other"))
    azure.create(aks.SUBNET, aks.subnet(virtualNetworkName="other"))
    azure.refuses(aks.POOL, aks.gpu_pool(vnetSubnetID=elsewhere), "All or none of the agent pools")


@cases
def test_a_private_name_is_linked_to_a_network_with_its_own_dns_servers_by_right(
    azure: aks.Microsoft, servers: list[str], zone: str | None, scope: str, refused: bool
) -> None:
    azure.group()
    azure.create(aks.NETWORK, aks.network(dhcpOptions={"dnsServers": servers}))
    azure.create(aks.SUBNET, aks.subnet())
    principal = azure.identity(joins=False).state["principalId"]
    azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=SCOPES[scope], principalId=principal))
    access = {**PRIVATE, "privateDNSZone": zone} if zone else {}
    inputs = aks.cluster(apiServerAccessProfile=access)
    azure.takes(aks.CLUSTER, inputs, "LinkedAuthorizationFailed" if refused else None)


@cases
def test_a_landing_zone_has_the_private_zone_in_its_hub(
    azure: aks.Microsoft, zone: str, denied: bool, scopes: list[str], refused: str | None
) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    for number, scope in enumerate(scopes):
        kind = {"roleDefinitionId": ZONE_ROLE} if scope == "zone" else {}
        grant = aks.role(scope=SCOPES[scope], principalId=principal, **kind)
        azure.create(aks.ROLE_ASSIGNMENT, grant, name=str(number))
    if denied:
        azure.provider.limit(AccountLimits(policies=("private-dns-zones",)))
    inputs = aks.cluster(apiServerAccessProfile={**PRIVATE, "privateDNSZone": zone})
    azure.takes(aks.CLUSTER, inputs, refused)


@pytest.mark.parametrize(("access", "refused"), [(None, True), ("Enabled", True), ("Disabled", False)])
def test_a_landing_zone_denies_storage_with_a_public_endpoint(
    azure: aks.Microsoft, access: str | None, refused: bool
) -> None:
    azure.group()
    azure.provider.limit(AccountLimits(policies=("public-data",)))
    account = {"resourceGroupName": "gpu-dev", "accountName": "gpudevdata", "kind": "StorageV2"}
    account |= {"sku": {"name": "Standard_LRS"}, **({} if access is None else {"publicNetworkAccess": access})}
    azure.takes(aks.STORAGE, account, "RequestDisallowedByPolicy" if refused else None)
    azure.provider.limit(AccountLimits())
    azure.takes(aks.STORAGE, {**account, "accountName": "gpudevother"}, None)


def test_azure_answers_with_the_role_of_the_scopes_subscription(azure: aks.Microsoft) -> None:
    azure.group()
    principal = azure.identity(joins=False).state["principalId"]
    granted = aks.role(scope=ZONE, principalId=principal, roleDefinitionId=ZONE_ROLE)
    made = azure.create(aks.ROLE_ASSIGNMENT, granted)
    answer = azure.read(aks.ROLE_ASSIGNMENT, made.id, granted).inputs
    assert answer is not None
    assert answer["roleDefinitionId"] == ZONE_ROLE.replace(aks.SUBSCRIPTION, "hub")


def test_role_assignments(azure: aks.Microsoft) -> None:
    azure.network()
    azure.refuses(aks.ROLE_ASSIGNMENT, aks.role(principalId=aks.SUBSCRIPTION), "PrincipalNotFound")
    person = azure.create(aks.ROLE_ASSIGNMENT, aks.role(principalId=aks.SUBSCRIPTION, principalType="User"))
    assert person.id.startswith(f"{aks.SUBNET_ID}/providers/Microsoft.Authorization/roleAssignments/")
    granted = aks.role(principalId=azure.identity(joins=False).state["principalId"])
    azure.create(aks.ROLE_ASSIGNMENT, granted, name="one")
    with pytest.raises(ProviderError, match='Status=409 Code="RoleAssignmentExists"'):
        azure.create(aks.ROLE_ASSIGNMENT, granted, name="two")
    absent = aks.role(scope=f"{aks.SUBNET_ID}x", principalId=aks.SUBSCRIPTION)
    azure.refuses(aks.ROLE_ASSIGNMENT, absent, "ResourceNotFound")
    vault = f"/subscriptions/{aks.SUBSCRIPTION}/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/v"
    azure.refuses(aks.ROLE_ASSIGNMENT, {**granted, "scope": vault, "principalType": "Group"}, "UnmatchedPrincipalType")
    again = {**granted, "scope": vault, "roleAssignmentName": str(person.id).rpartition("/")[2]}
    azure.refuses(aks.ROLE_ASSIGNMENT, again, "RoleAssignmentUpdateNotPermitted")
    assert azure.create(aks.ROLE_ASSIGNMENT, {**granted, "scope": vault}, name="three").id


def test_the_caller_can_be_granted_something(azure: aks.Microsoft) -> None:
    azure.group()
    caller = azure.provider.invoke("azure-native:authorization:getClientConfig", {})
    assert caller["subscriptionId"] == aks.SUBSCRIPTION
    assert azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=aks.GROUP_ID, principalId=caller["objectId"])).id


@cases
def test_who_makes_a_cluster_is_its_admin_by_the_role_for_it(
    azure: aks.Microsoft, granted: str | None, azures_roles: bool, admin: bool
) -> None:
    azure.network()
    azure.identity()
    caller = azure.provider.invoke("azure-native:authorization:getClientConfig", {})["objectId"]
    if granted is not None:
        definition = f"{aks.ROLES}/{granted}"
        azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=aks.GROUP_ID, principalId=caller, roleDefinitionId=definition))
    azure.create(aks.CLUSTER, aks.cluster(aadProfile={"managed": True, "enableAzureRBAC": azures_roles}))
    objects = azure.fleet.clusters["gpu-dev"]["system_objects"]
    (binding,) = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
    assert bool(binding["subjects"]) is admin


def test_the_last_system_pool_stays(azure: aks.Microsoft) -> None:
    azure.cluster()
    first = azure.read(aks.POOL, f"{aks.CLUSTER_ID}/agentPools/system")
    with pytest.raises(ProviderError, match="There has to be at least one system agent pool"):
        azure.delete(aks.POOL, first)
    with pytest.raises(ProviderError, match="at least one system pool"):
        azure.update(aks.POOL, first, {**(first.inputs or {}), "mode": "User"})
    second = {**(first.inputs or {}), "agentPoolName": "system2"}
    azure.create(aks.POOL, second)
    azure.delete(aks.POOL, first)
    assert set(azure.fleet.groups) == {"system2"}


CONTRIBUTOR = f"{aks.ROLES}/b24988ac-6180-42a0-ab88-20f7382dd24c"


@cases
def test_nodes_join_their_subnet(azure: aks.Microsoft, scope: str | None, granted: str | None, allowed: bool) -> None:
    azure.network()
    azure.create(aks.SUBNET, aks.subnet(subnetName="nodesx", addressPrefix="10.0.16.0/20"))
    principal = azure.identity(joins=False).state["principalId"]
    if scope is not None:
        grant = aks.role(scope=SCOPES[scope], principalId=principal, roleDefinitionId=f"{aks.ROLES}/{granted}")
        azure.create(aks.ROLE_ASSIGNMENT, grant)
    azure.takes(aks.CLUSTER, aks.cluster(), None if allowed else r"AuthorizationFailed.*subnets/join/action")


def test_a_pool_joins_its_own_subnet_by_right(azure: aks.Microsoft) -> None:
    azure.cluster()
    other = azure.create(aks.SUBNET, aks.subnet(subnetName="more", addressPrefix="10.0.16.0/20"))
    azure.refuses(aks.POOL, aks.gpu_pool(vnetSubnetID=other.id), "AuthorizationFailed")


@pytest.mark.parametrize(
    "scope", [None, aks.SUBNET_ID, f"{aks.GROUP_ID}/providers/Microsoft.Network/routeTables/firewall"]
)
def test_the_route_table_of_the_subnet_is_changed_by_right(azure: aks.Microsoft, scope: str | None) -> None:
    azure.group()
    inputs = {"resourceGroupName": "gpu-dev", "routeTableName": "firewall", "location": "eastus"}
    table = azure.create(aks.ROUTE_TABLE, inputs).id
    azure.create(aks.NETWORK, aks.network())
    azure.create(aks.SUBNET, aks.subnet(routeTable={"id": table}))
    principal = azure.identity().state["principalId"]
    if scope == table:
        azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=scope, principalId=principal))
    azure.takes(aks.CLUSTER, aks.cluster(), None if scope == table else "AuthorizationFailed")


@cases
def test_the_control_plane_reads_its_encryption_set(azure: aks.Microsoft, granted: str | None, allowed: bool) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    disks = azure.create(aks.ENCRYPTION_SET, aks.encryption_set()).id
    if granted is not None:
        definition = f"{aks.ROLES}/{granted}"
        azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=disks, principalId=principal, roleDefinitionId=definition))
    refusal = None if allowed else r"AuthorizationFailed.*diskEncryptionSets/read"
    azure.takes(aks.CLUSTER, aks.cluster(diskEncryptionSetID=disks), refusal)


@pytest.mark.parametrize("whole", [True, False])
def test_a_pool_is_in_a_reservation_where_the_control_plane_is_contributor(azure: aks.Microsoft, whole: bool) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    azure.create(aks.CLUSTER, aks.cluster())
    spot = ("scaleSetPriority", "scaleSetEvictionPolicy", "spotMaxPrice", "nodeTaints")
    regular = {key: value for key, value in aks.gpu_pool().items() if key not in spot}
    group = f"/subscriptions/{aks.SUBSCRIPTION}/resourceGroups/gpus"
    reservation = f"{group}/providers/Microsoft.Compute/capacityReservationGroups/june"
    azure.refuses(aks.POOL, {**regular, "capacityReservationGroupID": reservation}, "AuthorizationFailed")
    assert azure.create(aks.POOL, regular).id
    azure.create("azure-native:resources:ResourceGroup", {"resourceGroupName": "gpus", "location": "eastus"})
    scope = group if whole else f"/subscriptions/{aks.SUBSCRIPTION}"
    granted = aks.role(scope=scope, principalId=principal, roleDefinitionId=CONTRIBUTOR)
    azure.create(aks.ROLE_ASSIGNMENT, granted, name="contributor")
    reserved = {**regular, "agentPoolName": "reserved", "capacityReservationGroupID": reservation}
    assert azure.create(aks.POOL, reserved).id


@pytest.mark.parametrize("scope", [aks.KUBELET_ID, aks.GROUP_ID, f"/subscriptions/{aks.SUBSCRIPTION}"])
def test_the_control_plane_may_give_nodes_their_identity_where_it_is_operator(azure: aks.Microsoft, scope: str) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    azure.identity("kubelet")
    inputs = aks.cluster(identityProfile={"kubeletidentity": {"resourceId": aks.KUBELET_ID}})
    azure.refuses(aks.CLUSTER, inputs, "CustomKubeletIdentityMissingPermissionError")
    azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=scope, principalId=principal))  # Network Contributor is not enough
    azure.refuses(aks.CLUSTER, inputs, "CustomKubeletIdentityMissingPermissionError")
    operator = aks.role(scope=scope, principalId=principal, roleDefinitionId=aks.IDENTITY_OPERATOR)
    azure.create(aks.ROLE_ASSIGNMENT, operator, name="operator")
    assert azure.create(aks.CLUSTER, inputs).id


@pytest.mark.parametrize("location", ["atlantis", ""])
def test_every_resource_with_a_location_is_where_azure_offers_it(azure: aks.Microsoft, location: str) -> None:
    for token, inputs in (
        (aks.IDENTITY, {"resourceGroupName": "gpu-dev", "resourceName": "control-plane"}),
        ("azure-native:resources:ResourceGroup", {"resourceGroupName": "other"}),
        ("azure-native:network:NatGateway", {"resourceGroupName": "gpu-dev", "sku": {"name": "Standard"}}),
    ):
        with pytest.raises(Exception, match=f"'{location}' is not available"):
            azure.create(token, {**inputs, "location": location})
