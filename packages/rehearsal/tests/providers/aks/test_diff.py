"""Which changes the provider answers with a replacement, which Azure refuses, which are updates, and which are none."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import Properties, ProviderError


@cases
def test_azure_refuses_to_change_what_is_fixed_in_a_pool(azure: aks.Microsoft, changes: Properties) -> None:
    azure.cluster()
    azure.create(aks.SUBNET, aks.subnet(subnetName="others", addressPrefix="10.0.16.0/20"))
    pool = azure.create(aks.POOL, aks.gpu_pool())
    path = next(iter(changes)) if "gpuProfile" not in changes else "gpuProfile.driver"
    assert azure.diff(aks.POOL, aks.gpu_pool(), aks.gpu_pool(**changes)).replaces == ()
    for preview in (True, False):
        with pytest.raises(ProviderError, match="PropertyChangeNotAllowed") as refused:
            azure.update(aks.POOL, pool, aks.gpu_pool(**changes), preview=preview)
        # Of several, one is named.
        assert "scaleSet" in str(refused.value) or f"properties.{path}" in str(refused.value)


@cases
def test_writing_a_default_out_changes_nothing_that_is_fixed(azure: aks.Microsoft, changes: Properties) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool())
    azure.update(aks.POOL, pool, aks.gpu_pool(**changes))


@cases
def test_a_clusters_own_pool_is_fixed_too(azure: aks.Microsoft, changes: Properties, path: str) -> None:
    created = azure.cluster()
    with pytest.raises(ProviderError, match=f"Changing property 'properties.{path}' is not allowed"):
        azure.update(aks.CLUSTER, created, aks.cluster(agentPoolProfiles=[aks.system_pool(**changes)]))


def test_a_private_cluster_stays_private(azure: aks.Microsoft) -> None:
    created = azure.cluster(apiServerAccessProfile={"enablePrivateCluster": True})
    with pytest.raises(ProviderError, match="enablePrivateCluster"):
        azure.update(aks.CLUSTER, created, aks.cluster())


def test_a_role_assignment_keeps_its_role_and_a_public_address_its_zones(azure: aks.Microsoft) -> None:
    azure.network()
    principal = azure.identity(joins=False).state["principalId"]
    granted = aks.role(principalId=principal)
    made = azure.create(aks.ROLE_ASSIGNMENT, granted)
    with pytest.raises(ProviderError, match="roleDefinitionId"):
        azure.update(aks.ROLE_ASSIGNMENT, made, {**granted, "roleDefinitionId": aks.IDENTITY_OPERATOR})
    for type_, inputs in ((aks.ADDRESS, aks.address()), (aks.NAT, aks.nat())):
        created = azure.create(type_, inputs)
        with pytest.raises(ProviderError, match="zones"):
            azure.update(type_, created, {**inputs, "zones": ["1"]})


def test_azure_refuses_to_move_what_the_provider_does_not_replace(azure: aks.Microsoft) -> None:
    azure.network()
    azure.create(aks.ADDRESS, aks.address())
    made = azure.create(aks.NAT, aks.nat())
    elsewhere = "westeurope" if made.state["location"] != "westeurope" else "eastus"
    for preview in (True, False):
        with pytest.raises(ProviderError, match=f"InvalidResourceLocation.* in location '{elsewhere}'"):
            azure.update(aks.NAT, made, aks.nat(location=elsewhere), preview=preview)
