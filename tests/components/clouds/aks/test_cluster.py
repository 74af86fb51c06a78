"""The AKS cluster: who reaches it, who may do what, what encrypts it, and how one logs in."""

from __future__ import annotations

import base64
import json
import uuid
from datetime import datetime, timezone
from typing import Any

import pulumi
import pytest

from components.clouds.aks import roles
from components.clouds.aks.cluster import endpoint, kubeconfig
from components.cluster import Cluster, ClusterArgs
from components.settings import Settings
from components.settings.sections.cluster import ExistingNetwork
from facts.catalog.aks.resource_ids import parse_key
from facts.concepts.pool import Pool
from tests import aks_answers, recorder
from tests.components import specs

CLUSTER = "azure-native:containerservice:ManagedCluster"
ROLE = "azure-native:authorization:RoleAssignment"
SUBSCRIPTION = "12345678-9abc-def0-1234-56789abcdef0"
VAULT = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.KeyVault/vaults/v"
VERSION = "0123456789abcdef" * 2
KEY = f"{VAULT}/keys/k/versions/{VERSION}"


def admin_spec(**changes: Any) -> Pool:
    usual: dict[str, Any] = {"machine_types": ("Standard_D2s_v5",), "image": "ubuntu", "zones": ("eastus-1",)}
    return specs.admin_pool(**{**usual, **changes})


def settings(**changes: Any) -> Settings:
    place = {"cloud": "aks", "project": SUBSCRIPTION, "region": "eastus", "zones": ("eastus-1",)}
    usual: dict[str, Any] = {**place, "admin_pool": admin_spec()}
    return specs.cluster_settings(**{**usual, **changes})


@recorder.remembered
def run_cluster(**changes: Any) -> recorder.Recording:
    return recorder.run(specs.declare(settings(**changes)))


def inputs_of(**changes: Any) -> dict[str, Any]:
    return run_cluster(**changes).only(CLUSTER).inputs


def grants(recording: recorder.Recording) -> dict[tuple[str, str], str]:
    """Role and scope → principal."""
    return {
        (grant.inputs["roleDefinitionId"].rpartition("/")[2], grant.inputs["scope"]): grant.inputs["principalId"]
        for grant in recording.of_type(ROLE)
    }


def test_a_new_private_control_plane_that_nobody_could_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    none: dict[str, Any] = {}
    monkeypatch.setitem(aks_answers.CALLS, "azure-native:containerservice:getManagedCluster", none)
    with pytest.raises(pulumi.RunError, match=r"network\.privateEndpoint: .*authorizedNetworks"):
        recorder.run(specs.declare(settings(private_endpoint=True)))


def test_identities_are_managed_and_no_secret_exists() -> None:
    recording = run_cluster()
    inputs = recording.only(CLUSTER).inputs
    assert "servicePrincipalProfile" not in inputs
    expected = {"type": "UserAssigned", "userAssignedIdentities": ["cluster-control-plane-identity-id"]}
    assert inputs["identity"] == expected
    ids = {"resourceId": "id", "clientId": "client", "objectId": "principal"}
    expected = {key: f"cluster-nodes-identity-{value}" for key, value in ids.items()}
    assert inputs["identityProfile"]["kubeletidentity"] == expected
    assert inputs["oidcIssuerProfile"] == {"enabled": True}
    assert inputs["securityProfile"]["workloadIdentity"] == {"enabled": True}
    assert all(not resource.secret_inputs for resource in recording.resources if resource.type.startswith("azure"))


def test_rights_are_the_fewest_and_on_the_smallest_scopes() -> None:
    recording = run_cluster()
    assert grants(recording) == {
        (roles.NETWORK_CONTRIBUTOR, "cluster-subnet-id"): "cluster-control-plane-identity-principal",
        (roles.MANAGED_IDENTITY_OPERATOR, "cluster-nodes-identity-id"): "cluster-control-plane-identity-principal",
        (roles.AKS_RBAC_CLUSTER_ADMIN, "cluster-group-id"): "the-deployer",
    }
    assert {grant.urn for grant in recording.of_type(ROLE)} <= set(recording.only(CLUSTER).depends_on)


IDENTITIES = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/identities/providers/Microsoft.ManagedIdentity"
NODES, CLUSTERS = (f"{IDENTITIES}/userAssignedIdentities/{name}" for name in ("nodes", "cluster"))
HUB = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/z"
SET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/disks"
IN_A_COMPANY: dict[str, Any] = {
    "existing": ExistingNetwork.model_construct(
        network=f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/company",
        subnets=("gpu-nodes",),
        private_dns_zone=HUB,
    ),
    "private_endpoint": True,
    "kms_key": KEY,
    "disk_key": SET,
}


@pytest.mark.parametrize(
    ("changes", "granted"),
    [
        pytest.param(
            {"control_plane_identity": CLUSTERS, "node_identity": NODES, **IN_A_COMPANY}, set(), id="all is the user's"
        ),
        pytest.param(
            {"control_plane_identity": CLUSTERS, **IN_A_COMPANY},
            {(roles.MANAGED_IDENTITY_OPERATOR, "cluster-nodes-identity-id", "cluster-principal")},
            id="the stack's nodes",
        ),
        pytest.param(
            {"control_plane_identity": CLUSTERS, "kms_key": KEY},
            {
                (roles.NETWORK_CONTRIBUTOR, "cluster-subnet-id", "cluster-principal"),
                (roles.MANAGED_IDENTITY_OPERATOR, "cluster-nodes-identity-id", "cluster-principal"),
                (roles.READER, "cluster-disks-id", "cluster-principal"),
            },
            id="the stack's network and disks",
        ),
        pytest.param(
            {"node_identity": NODES},
            {
                (roles.NETWORK_CONTRIBUTOR, "cluster-subnet-id", "cluster-control-plane-identity-principal"),
                (roles.MANAGED_IDENTITY_OPERATOR, NODES, "cluster-control-plane-identity-principal"),
            },
            id="the user's nodes",
        ),
    ],
)
def test_an_identity_of_the_users_own_gets_roles_only_on_what_the_stack_creates(
    changes: dict[str, Any], granted: set[tuple[str, str, str]]
) -> None:
    recording = run_cluster(**changes)
    others = {"the-deployer", "cluster-disks-identity-principal"}
    found = {(*key, who) for key, who in grants(recording).items() if who not in others}
    assert found == granted
    inputs = recording.only(CLUSTER).inputs
    if "control_plane_identity" in changes:
        assert inputs["identity"]["userAssignedIdentities"] == [CLUSTERS]
    if "node_identity" in changes:
        kubelet = {"resourceId": NODES, "clientId": "nodes-client", "objectId": "nodes-principal"}
        assert inputs["identityProfile"]["kubeletidentity"] == kubelet


def test_the_cluster_waits_for_new_rights_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        # The SDK itself yields by sleeping for no time.
        waited.extend([seconds] if seconds else [])

    monkeypatch.setattr(roles.asyncio, "sleep", sleep)
    # Names of their own, as programs are recorded once.
    old = run_cluster(kms_key=KEY, cluster_name="with-old-rights")
    assert waited == []
    grants = {f"cluster-{name}" for name in ("control-plane-subnet", "control-plane-nodes", "secrets-key", "disks-set")}
    needs = {old.named(name).urn for name in grants}
    assert needs <= set(old.only(CLUSTER).property_dependencies["identity"])

    monkeypatch.setattr(roles, "remaining", lambda created_on, now: 90.0)
    new = run_cluster(kms_key=KEY, cluster_name="with-new-rights")
    # For the cluster, and for the disks' key.
    assert waited == [90.0, 90.0]
    assert new.only(CLUSTER).inputs["identity"]["userAssignedIdentities"] == ["cluster-control-plane-identity-id"]


@pytest.mark.parametrize(
    ("created_on", "seconds"),
    [
        ("2026-11-22T12:00:00.1234567Z", 120),
        ("2026-11-22T11:59:00Z", 60),
        ("2026-11-22T11:58:00Z", 0),
        ("2026-01-01T00:00:00Z", 0),
        # The clock here is behind Azure's.
        ("2026-11-22T13:00:00Z", 120),
        (None, 0),
    ],
)
def test_only_new_rights_are_waited_for(created_on: str | None, seconds: float) -> None:
    assert roles.remaining(created_on, datetime(2026, 11, 22, 12, tzinfo=timezone.utc)) == seconds


def test_another_deployer_takes_no_rights_away() -> None:
    deployer = run_cluster().named("cluster-deployer")
    assert deployer.ignore_changes == ("principalId",)
    assert "principalType" not in deployer.inputs


def test_what_is_granted_beside_the_cluster_knows_its_nodes_and_its_issuer() -> None:
    network: dict[str, Any] = {}

    def program() -> None:
        cluster = Cluster("cluster", ClusterArgs(settings=settings()))
        pulumi.Output.all(**cluster.handle.network).apply(network.update)

    recorder.run(program)
    assert network["nodeIdentity"] == "cluster-nodes-identity-id"
    assert network["oidcIssuerUrl"] == "https://issuer.example/"


def test_names_of_assignments_are_stable_and_differ() -> None:
    def names(**changes: Any) -> list[str]:
        recording = run_cluster(kms_key=KEY, **changes)
        return sorted(grant.inputs["roleAssignmentName"] for grant in recording.of_type(ROLE))

    assert names() == names()
    assert len({uuid.UUID(name) for name in names()}) == len(names()) == 6
    assert not set(names()) & set(names(cluster_name="other"))


def test_a_key_encrypts_secrets_and_disks_once_both_may_use_it() -> None:
    recording = run_cluster(kms_key=KEY)
    cluster = recording.only(CLUSTER)
    url = f"https://v.vault.azure.net/keys/k/{VERSION}"
    expected = {"enabled": True, "keyId": url, "keyVaultNetworkAccess": "Public"}
    assert cluster.inputs["securityProfile"]["azureKeyVaultKms"] == expected
    assert cluster.inputs["diskEncryptionSetID"] == "cluster-disks-id"
    encryption_set = recording.only("azure-native:compute:DiskEncryptionSet")
    assert encryption_set.inputs["activeKey"] == {"keyUrl": url, "sourceVault": {"id": VAULT}}
    granted = grants(recording)
    assert granted[roles.KEY_VAULT_CRYPTO_USER, f"{VAULT}/keys/k"] == "cluster-control-plane-identity-principal"
    usable = (roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, f"{VAULT}/keys/k")
    assert granted[usable] == "cluster-disks-identity-principal"
    assert granted[roles.READER, "cluster-disks-id"] == "cluster-control-plane-identity-principal"
    assert recording.named("cluster-disks-key").urn in encryption_set.depends_on
    assert {recording.named(f"cluster-{name}").urn for name in ("secrets-key", "disks-set")} <= set(cluster.depends_on)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (KEY, True),
        (KEY.lower(), True),
        (f"{VAULT}/keys/k", False),
        (f"https://v.vault.azure.net/keys/k/{VERSION}", False),
        (KEY + "0", False),
        ("", False),
    ],
)
def test_a_key_is_known_by_its_resource_id(text: str, known: bool) -> None:
    assert (parse_key(text) is not None) == known


def test_credentials_that_azure_sends_along_are_dropped() -> None:
    sent = {
        "clusters": [{"cluster": {"server": "https://x:443", "certificate-authority-data": "Q0E="}}],
        "users": [{"user": {"token": "a-token", "client-key-data": "a-key"}}],
    }
    value = base64.b64encode(json.dumps(sent).encode()).decode()
    made = kubeconfig("here", *endpoint([{"name": "clusterUser", "value": value}]))
    assert "a-token" not in made
    assert "a-key" not in made


def test_no_credentials_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="no kubeconfig"):
        endpoint([])


def test_an_update_skips_no_minor_version_of_the_running_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases: ``test_fixed.py``."""
    deployed = recorder.run(specs.declare(settings()))
    state = deployed.states[deployed.only(CLUSTER).urn]
    state |= {"identity": None, "identityProfile": None}  # in another subscription than the mocks'
    running = {"name": "gpu", "agentPoolProfiles": [], "currentKubernetesVersion": "1.34.4"}
    monkeypatch.setitem(aks_answers.CALLS, "azure-native:containerservice:getManagedCluster", running)
    with pytest.raises(pulumi.RunError, match=r"kubernetes\.version: .* AKS upgrades by one .*Write '1\.35'"):
        recorder.run(specs.declare(settings(version="1.36")), deployed=deployed)
    assert recorder.run(specs.declare(settings(version="1.35")), deployed=deployed).only(CLUSTER)
