"""Which changes the provider answers with a replacement, which Azure refuses, which are updates, and which are none."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.aks.account import (
    ADDRESS,
    CLUSTER,
    GROUP_ID,
    IDENTITY_OPERATOR,
    NAT,
    POOL,
    ROLE_ASSIGNMENT,
    SUBNET,
    SUBNET_ID,
    Microsoft,
    address,
    cluster,
    gpu_pool,
    nat,
    role,
    subnet,
    system_pool,
)
from rehearsal.providers.base import Properties, ProviderError

ELSEWHERE = SUBNET_ID.replace("nodes", "others")


def test_a_replacement_in_the_same_place_deletes_first(azure: Microsoft) -> None:
    assert azure.diff(POOL, gpu_pool(), gpu_pool(vmSize="Standard_NC8as_T4_v3")).delete_before_replace
    assert not azure.diff(POOL, gpu_pool(), gpu_pool(agentPoolName="other")).delete_before_replace
    assert not azure.diff(POOL, gpu_pool(), gpu_pool(maxCount=9)).delete_before_replace


def test_a_zero_is_not_the_same_as_nothing(azure: Microsoft) -> None:
    # Azure's default of a count is 1, so a provider that took 0 for nothing would keep a node.
    assert azure.diff(POOL, gpu_pool(count=None), gpu_pool(count=0)).changes == ("count",)
    assert azure.diff(CLUSTER, cluster(disableLocalAccounts=None), cluster(disableLocalAccounts=False)).changes


def test_ignored_changes(azure: Microsoft) -> None:
    assert azure.diff(POOL, gpu_pool(), gpu_pool(count=3), ("count",)).changes == ()
    assert azure.diff(POOL, gpu_pool(), gpu_pool(count=3, maxCount=9), ("count",)).changes == ("maxCount",)
    grown = cluster(agentPoolProfiles=[system_pool(count=2)])
    assert azure.diff(CLUSTER, cluster(), grown, ("agentPoolProfiles[0].count",)).changes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"availabilityZones": ["3"]},
        {
            "capacityReservationGroupID": f"{GROUP_ID}/providers/Microsoft.Compute/capacityReservationGroups/c",
            # Spot machines are in none.
            "scaleSetPriority": "Regular",
            "scaleSetEvictionPolicy": None,
            "spotMaxPrice": None,
        },
        {"enableEncryptionAtHost": True},
        {"gpuProfile": {"driver": "None"}},
        {"maxPods": 50},
        {"osDiskSizeGB": 200},
        {"osDiskType": "Ephemeral"},
        {"scaleSetPriority": "Regular", "scaleSetEvictionPolicy": None, "spotMaxPrice": None},
        {"vnetSubnetID": ELSEWHERE},
    ],
)
def test_azure_refuses_to_change_what_is_fixed_in_a_pool(azure: Microsoft, changes: Properties) -> None:
    azure.cluster()
    azure.create(SUBNET, subnet(subnetName="others", addressPrefix="10.0.16.0/20"))
    pool = azure.create(POOL, gpu_pool())
    path = next(iter(changes)) if "gpuProfile" not in changes else "gpuProfile.driver"
    assert azure.diff(POOL, gpu_pool(), gpu_pool(**changes)).replaces == ()
    for preview in (True, False):
        with pytest.raises(ProviderError, match="PropertyChangeNotAllowed") as refused:
            azure.update(POOL, pool, gpu_pool(**changes), preview=preview)
        # Of several, one is named.
        assert "scaleSet" in str(refused.value) or f"properties.{path}" in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"availabilityZones": ["2", "1"]},
        {"scaleSetEvictionPolicy": None},
        {"enableEncryptionAtHost": False},
        {"osType": "Linux"},
        {"vnetSubnetID": SUBNET_ID.replace("resourceGroups", "resourcegroups")},
        {"gpuProfile": None},
    ],
)
def test_writing_a_default_out_changes_nothing_that_is_fixed(azure: Microsoft, changes: Properties) -> None:
    azure.cluster()
    pool = azure.create(POOL, gpu_pool())
    azure.update(POOL, pool, gpu_pool(**changes))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"vmSize": "Standard_D4s_v5"}, "vmSize"),
        ({"osDiskSizeGB": 200}, "osDiskSizeGB"),
        ({"availabilityZones": ["1"]}, "availabilityZones"),
    ],
)
def test_a_clusters_own_pool_is_fixed_too(azure: Microsoft, changes: Properties, path: str) -> None:
    created = azure.cluster()
    with pytest.raises(ProviderError, match=f"Changing property 'properties.{path}' is not allowed"):
        azure.update(CLUSTER, created, cluster(agentPoolProfiles=[system_pool(**changes)]))


def test_a_private_cluster_stays_private(azure: Microsoft) -> None:
    created = azure.cluster(apiServerAccessProfile={"enablePrivateCluster": True})
    with pytest.raises(ProviderError, match="enablePrivateCluster"):
        azure.update(CLUSTER, created, cluster())


def test_a_role_assignment_keeps_its_role_and_a_public_address_its_zones(azure: Microsoft) -> None:
    azure.network()
    principal = azure.identity(joins=False).state["principalId"]
    granted = role(principalId=principal)
    made = azure.create(ROLE_ASSIGNMENT, granted)
    with pytest.raises(ProviderError, match="roleDefinitionId"):
        azure.update(ROLE_ASSIGNMENT, made, {**granted, "roleDefinitionId": IDENTITY_OPERATOR})
    for type_, inputs in ((ADDRESS, address()), (NAT, nat())):
        created = azure.create(type_, inputs)
        with pytest.raises(ProviderError, match="zones"):
            azure.update(type_, created, {**inputs, "zones": ["1"]})
