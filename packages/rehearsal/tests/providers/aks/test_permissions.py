"""What a cluster's identity must be allowed: on subnets, route tables, disks, reservations and the nodes' identity."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.aks.account import (
    CLUSTER,
    ENCRYPTION_SET,
    GROUP_ID,
    IDENTITY_OPERATOR,
    KUBELET_ID,
    NETWORK,
    POOL,
    ROLE_ASSIGNMENT,
    ROLES,
    ROUTE_TABLE,
    SUBNET,
    SUBNET_ID,
    SUBSCRIPTION,
    Microsoft,
    cluster,
    encryption_set,
    gpu_pool,
    network,
    role,
    subnet,
)
from packages.rehearsal.tests.providers.aks.test_references import missing
from rehearsal.providers.base import ProviderError

CONTRIBUTOR = f"{ROLES}/b24988ac-6180-42a0-ab88-20f7382dd24c"


@pytest.mark.parametrize(
    ("scope", "granted", "allowed"),
    [
        (None, None, False),
        (SUBNET_ID, "f1a07417-d97a-45cb-824c-7a7467783830", False),  # Managed Identity Operator
        (SUBNET_ID, "4d97b98b-1d4f-4787-a291-c67834d212e7", True),
        (SUBNET_ID.partition("/subnets/")[0], "4d97b98b-1d4f-4787-a291-c67834d212e7", True),
        (f"{SUBNET_ID}x", "4d97b98b-1d4f-4787-a291-c67834d212e7", False),
    ],
)
def test_nodes_join_the_subnet_by_right(
    azure: Microsoft, scope: str | None, granted: str | None, allowed: bool
) -> None:
    azure.network()
    azure.create(SUBNET, subnet(subnetName="nodesx", addressPrefix="10.0.16.0/20"))
    principal = azure.identity(joins=False).state["principalId"]
    if scope is not None:
        azure.create(ROLE_ASSIGNMENT, role(scope=scope, principalId=principal, roleDefinitionId=f"{ROLES}/{granted}"))
    if allowed:
        assert azure.create(CLUSTER, cluster()).id
    else:
        with pytest.raises(ProviderError, match=r"AuthorizationFailed.*subnets/join/action"):
            azure.create(CLUSTER, cluster())


def test_a_pool_joins_its_own_subnet_by_right(azure: Microsoft) -> None:
    azure.cluster()
    other = azure.create(SUBNET, subnet(subnetName="more", addressPrefix="10.0.16.0/20"))
    missing(azure, POOL, gpu_pool(vnetSubnetID=other.id), "AuthorizationFailed")


@pytest.mark.parametrize("scope", [None, SUBNET_ID, f"{GROUP_ID}/providers/Microsoft.Network/routeTables/firewall"])
def test_the_route_table_of_the_subnet_is_changed_by_right(azure: Microsoft, scope: str | None) -> None:
    azure.group()
    table = azure.create(
        ROUTE_TABLE, {"resourceGroupName": "gpu-dev", "routeTableName": "firewall", "location": "eastus"}
    ).id
    azure.create(NETWORK, network())
    azure.create(SUBNET, subnet(routeTable={"id": table}))
    principal = azure.identity().state["principalId"]
    if scope == table:
        azure.create(ROLE_ASSIGNMENT, role(scope=scope, principalId=principal))
    if scope == table:
        assert azure.create(CLUSTER, cluster()).id
    else:
        missing(azure, CLUSTER, cluster(), "AuthorizationFailed")


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
    azure: Microsoft, granted: str | None, allowed: bool
) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    disks = azure.create(ENCRYPTION_SET, encryption_set()).id
    if granted is not None:
        azure.create(ROLE_ASSIGNMENT, role(scope=disks, principalId=principal, roleDefinitionId=f"{ROLES}/{granted}"))
    if allowed:
        assert azure.create(CLUSTER, cluster(diskEncryptionSetID=disks)).id
    else:
        with pytest.raises(ProviderError, match=r"AuthorizationFailed.*diskEncryptionSets/read"):
            azure.create(CLUSTER, cluster(diskEncryptionSetID=disks))


@pytest.mark.parametrize("whole", [True, False])
def test_a_pool_is_in_a_reservation_where_the_control_plane_is_contributor(azure: Microsoft, whole: bool) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    azure.create(CLUSTER, cluster())
    spot = ("scaleSetPriority", "scaleSetEvictionPolicy", "spotMaxPrice", "nodeTaints")
    regular = {key: value for key, value in gpu_pool().items() if key not in spot}
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/gpus"
    reservation = f"{group}/providers/Microsoft.Compute/capacityReservationGroups/june"
    missing(azure, POOL, {**regular, "capacityReservationGroupID": reservation}, "AuthorizationFailed")
    assert azure.create(POOL, regular).id
    azure.create("azure-native:resources:ResourceGroup", {"resourceGroupName": "gpus", "location": "eastus"})
    scope = group if whole else f"/subscriptions/{SUBSCRIPTION}"
    granted = role(scope=scope, principalId=principal, roleDefinitionId=CONTRIBUTOR)
    azure.create(ROLE_ASSIGNMENT, granted, name="contributor")
    reserved = {**regular, "agentPoolName": "reserved", "capacityReservationGroupID": reservation}
    assert azure.create(POOL, reserved).id


@pytest.mark.parametrize("scope", [KUBELET_ID, GROUP_ID, f"/subscriptions/{SUBSCRIPTION}"])
def test_the_control_plane_may_give_nodes_their_identity_where_it_is_operator(azure: Microsoft, scope: str) -> None:
    azure.network()
    principal = azure.identity().state["principalId"]
    azure.identity("kubelet")
    inputs = cluster(identityProfile={"kubeletidentity": {"resourceId": KUBELET_ID}})
    missing(azure, CLUSTER, inputs, "CustomKubeletIdentityMissingPermissionError")
    azure.create(ROLE_ASSIGNMENT, role(scope=scope, principalId=principal))  # Network Contributor is not enough
    missing(azure, CLUSTER, inputs, "CustomKubeletIdentityMissingPermissionError")
    operator = role(scope=scope, principalId=principal, roleDefinitionId=IDENTITY_OPERATOR)
    azure.create(ROLE_ASSIGNMENT, operator, name="operator")
    assert azure.create(CLUSTER, inputs).id
