"""The generated schemas hold what the rows of the stand-ins speak of."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.standins.aks import AzureNativeProvider
from rehearsal.standins.eks import provider as eks
from rehearsal.standins.gke import GcpProvider
from rehearsal.standins.resource import Resource
from schemas import schema
from schemas.used import USED

ROWS: list[tuple[str, Resource[Any]]] = [
    (provider.cloud_name, row) for provider in (GcpProvider, AzureNativeProvider) for row in provider.rows.values()
]
TYPES = [row.token for _, row in ROWS]
# Given by the provider's configuration, or made up.
CONFIGURED = {"project", "region", "zone", "location"}
every_row = pytest.mark.parametrize(("cloud", "row"), ROWS, ids=TYPES)


def test_every_type_in_use_has_a_row_and_every_row_a_schema() -> None:
    assert sorted([*TYPES, *eks.KINDS]) == sorted(token for tokens in USED.values() for token in tokens)
    assert {cloud: set(schema(cloud).resources) for cloud in USED} == {cloud: set(each) for cloud, each in USED.items()}


@every_row
def test_the_inputs_that_a_row_names_exist(cloud: str, row: Resource[Any]) -> None:
    """A misspelt path would quietly turn a replacement or a refusal into an update."""
    paths = (*row.replaces, *row.fixed, *row.unordered, *row.links, *row.required, *row.defaults, *row.replaces_if)
    for path in (*paths, *row.refers, *([row.name] if row.name else [])):
        assert schema(cloud).find(row.token, path.removesuffix("[]")), path


@every_row
def test_the_outputs_of_a_row_exist(cloud: str, row: Resource[Any]) -> None:
    known = set(schema(cloud).resources[row.token].outputs)
    assert set(row.outputs) <= known
    assert set(row.unknown) <= set(row.outputs)
    assert set(row.early) <= set(row.outputs)


@every_row
def test_an_id_is_made_of_inputs_that_must_be_there(cloud: str, row: Resource[Any]) -> None:
    properties = schema(cloud).inputs(row.token).properties
    for name in row.address:
        if name != "subscription":
            assert properties[name].required or name in CONFIGURED | {row.name} | set(row.required), name


@every_row
def test_what_refers_refers_to_a_row(cloud: str, row: Resource[Any]) -> None:
    assert {refers.token for refers in row.refers.values()} <= set(TYPES)


@pytest.mark.parametrize(
    ("cloud", "token", "path", "fact"),
    [
        ("gke", "gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators.count", {"format": "int64"}),
        ("gke", "gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators.count", {"required": True}),
        ("gke", "gcp:container/nodePool:NodePool", "nodeConfig.taints.effect", {"type": "string"}),
        ("gke", "gcp:container/nodePool:NodePool", "maxPodsPerNode", {"type": "integer"}),
        ("gke", "gcp:container/nodePool:NodePool", "deletionPolicy", {"enum": ("DELETE", "PREVENT", "ABANDON")}),
        ("gke", "gcp:compute/network:Network", "name", {"type": "string"}),
        (
            "gke",
            "gcp:container/cluster:Cluster",
            "maintenancePolicy.maintenanceExclusions.startTime",
            {"format": "google-datetime"},
        ),
        ("gke", "gcp:container/cluster:Cluster", "addonsConfig.rayOperatorConfigs", {"most": 1}),
        (
            "gke",
            "gcp:container/cluster:Cluster",
            "nodePoolDefaults.nodeConfigDefaults.insecureKubeletReadonlyPortEnabled",
            {"enum": ("TRUE", "FALSE")},
        ),
        ("gke", "gcp:projects/iAMMember:IAMMember", "member", {"type": "string", "required": True}),
        ("aks", "azure-native:containerservice:AgentPool", "agentPoolName", {"pattern": "[a-z][a-z0-9]{0,11}"}),
        ("aks", "azure-native:containerservice:AgentPool", "mode", {"enum": ("System", "User", "Gateway")}),
        ("aks", "azure-native:containerservice:AgentPool", "osDiskSizeGB", {"minimum": 0, "maximum": 2048}),
        ("aks", "azure-native:containerservice:ManagedCluster", "identity.userAssignedIdentities", {"type": "list"}),
        ("aks", "azure-native:containerservice:ManagedCluster", "location", {"required": True}),
        ("aks", "azure-native:compute:DiskEncryptionSet", "activeKey.keyUrl", {"required": True}),
        ("aks", "azure-native:network:VirtualNetwork", "subnets.addressPrefix", {"type": "string"}),
    ],
)
def test_facts_of_the_sdk_and_of_the_vendor_are_one(cloud: str, token: str, path: str, fact: dict[str, Any]) -> None:
    found = schema(cloud).find(token, path)
    assert found is not None
    assert {key: getattr(found, key) for key in fact} == fact


def test_names_that_the_vendor_knows_and_the_provider_does_not() -> None:
    pool = schema("aks").inputs("azure-native:containerservice:AgentPool")
    assert "artifactStreamingProfile" in pool.lacking
    assert "provisioningState" in pool.server
    assert schema("aks").resources["azure-native:containerservice:AgentPool"].api == "2025-09-01"
    google = schema("gke").inputs("gcp:container/nodePool:NodePool")
    assert {"status", "podIpv4CidrSize"} <= set(google.server)
    # Called otherwise or put elsewhere by the provider is not lacking (config, maxPodsConstraint).
    assert google.lacking == ("autopilotConfig", "conditions", "etag")
