"""What a cluster's identity must be allowed: on subnets, route tables, disks, reservations and the nodes' identity."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.aks import account as aks

CONTRIBUTOR = f"{aks.ROLES}/b24988ac-6180-42a0-ab88-20f7382dd24c"


@pytest.mark.parametrize(
    ("scope", "granted", "allowed"),
    [
        (None, None, False),
        (aks.SUBNET_ID, "f1a07417-d97a-45cb-824c-7a7467783830", False),  # Managed Identity Operator
        (aks.SUBNET_ID, "4d97b98b-1d4f-4787-a291-c67834d212e7", True),
        (aks.SUBNET_ID.partition("/subnets/")[0], "4d97b98b-1d4f-4787-a291-c67834d212e7", True),
        (f"{aks.SUBNET_ID}x", "4d97b98b-1d4f-4787-a291-c67834d212e7", False),
    ],
)
def test_nodes_join_the_subnet_by_right(
    azure: aks.Microsoft, scope: str | None, granted: str | None, allowed: bool
) -> None:
    azure.network()
    azure.create(aks.SUBNET, aks.subnet(subnetName="nodesx", addressPrefix="10.0.16.0/20"))
    principal = azure.identity(joins=False).state["principalId"]
    if scope is not None:
        azure.create(
            aks.ROLE_ASSIGNMENT, aks.role(scope=scope, principalId=principal, roleDefinitionId=f"{aks.ROLES}/{granted}")
        )
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
    table = azure.create(
        aks.ROUTE_TABLE, {"resourceGroupName": "gpu-dev", "routeTableName": "firewall", "location": "eastus"}
    ).id
    azure.create(aks.NETWORK, aks.network())
    azure.create(aks.SUBNET, aks.subnet(routeTable={"id": table}))
    principal = azure.identity().state["principalId"]
    if scope == table:
        azure.create(aks.ROLE_ASSIGNMENT, aks.role(scope=scope, principalId=principal))
    azure.takes(aks.CLUSTER, aks.cluster(), None if scope == table else "AuthorizationFailed")


@pytest.mark.parametrize(
    ("granted", "allowed"),
    [
        (None, False),
        ("4d97b98b-1d4f-4787-a291-c67834d212e7", False),  # Network Contributor
        ("acdd72a7-3385-48ef-bd42-f606fba81ae7", True),  # Reader
        ("b24988ac-6180-42a0-ab88-20f7382dd24c", True),
    ],
)
def test_the_control_plane_uses_a_disk_encryption_set_that_it_may_read(
    azure: aks.Microsoft, granted: str | None, allowed: bool
) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    disks = azure.create(aks.ENCRYPTION_SET, aks.encryption_set()).id
    if granted is not None:
        azure.create(
            aks.ROLE_ASSIGNMENT, aks.role(scope=disks, principalId=principal, roleDefinitionId=f"{aks.ROLES}/{granted}")
        )
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
