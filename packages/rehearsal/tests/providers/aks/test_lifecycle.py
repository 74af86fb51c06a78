"""Create, read, update and delete, through restarts, crashes, wrong references and wrong inputs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.providers.aks.account import CLUSTER, EXAMPLES, POOL, Microsoft, cluster, gpu_pool
from rehearsal.providers.aks import rules
from rehearsal.providers.aks.rules import KUBERNETES
from rehearsal.providers.base import ProviderError
from rehearsal.providers.cloud import Record, Store
from rehearsal.simulation import SimulatedNodeGroup

CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
ADMIN_CREDENTIALS = "azure-native:containerservice:listManagedClusterAdminCredentials"


def test_a_resource_group_takes_everything_along(azure: aks.Microsoft, tmp_path: Path) -> None:
    azure.cluster()
    azure.create(aks.POOL, aks.gpu_pool())
    azure.delete(aks.GROUP, azure.read(aks.GROUP, aks.GROUP_ID))
    assert azure.fleet.groups == {}
    assert azure.fleet.clusters == {}
    assert Store(tmp_path, "azure-native").everything() == []


def test_an_id_in_another_case_is_the_same_resource(azure: aks.Microsoft) -> None:
    azure.cluster()
    assert azure.read(aks.CLUSTER, aks.CLUSTER_ID.replace("resourceGroups", "resourcegroups")).id == aks.CLUSTER_ID
    assert azure.read(aks.POOL, f"{aks.CLUSTER_ID.upper()}/AGENTPOOLS/SYSTEM").state["mode"] == "System"
    assert azure.read(aks.NETWORK, aks.CLUSTER_ID).id == ""


def test_a_refresh_sees_what_changed_behind_the_programs_back(azure: aks.Microsoft, tmp_path: Path) -> None:
    created = azure.network()
    store = Store(tmp_path, "azure-native")
    record = store.get(aks.SUBNET, created.id)
    assert record is not None
    store.put(Record(record.id, record.type, {**record.inputs, "addressPrefix": "10.0.0.0/21"}, record.outputs))
    refreshed = azure.read(aks.SUBNET, created.id, created.inputs)
    assert refreshed.inputs == aks.subnet(addressPrefix="10.0.0.0/21")


def test_a_pool_of_the_cluster_cannot_be_declared_once_more(azure: aks.Microsoft) -> None:
    azure.cluster()
    system = {**aks.system_pool(), "name": None, "agentPoolName": "system"}
    again = {**system, "resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    azure.refuses(aks.POOL, again, f"cannot create already existing resource '{aks.CLUSTER_ID}/agentPools/system'")


def test_a_location_comes_from_the_provider_else_from_the_resource_group(tmp_path: Path) -> None:
    azure = aks.Microsoft(tmp_path)
    assert azure.check(aks.NETWORK, aks.network())["location"] == "eastus"
    azure.config.pop("location")
    azure.restart()
    azure.refuses(aks.GROUP, {"resourceGroupName": "gpu-dev"}, "location: is required")
    azure.create(aks.GROUP, {"resourceGroupName": "gpu-dev", "location": "westeurope"})
    assert azure.check(aks.NETWORK, aks.network())["location"] == "westeurope"
    assert azure.check(aks.NETWORK, aks.network(resourceGroupName="not-yet"))["location"] is UNKNOWN


def test_names_are_generated_and_do_not_change(azure: aks.Microsoft) -> None:
    made = azure.check(aks.IDENTITY, {"resourceGroupName": "gpu-dev"}, name="nodes")["resourceName"]
    assert made.startswith("nodes")
    assert len(made) == len("nodes") + 8
    again = azure.check(aks.IDENTITY, {"resourceGroupName": "gpu-dev"}, {"resourceName": made}, name="nodes")
    assert again["resourceName"] == made
    assert azure.check(aks.ROLE_ASSIGNMENT, aks.role(principalId="p"))["roleAssignmentName"].count("-") == 4


def test_what_a_cluster_answers(azure: aks.Microsoft) -> None:
    state = azure.cluster(apiServerAccessProfile={"enablePrivateCluster": True}).state
    assert state["nodeResourceGroup"] == "MC_gpu-dev_gpu-dev_eastus"
    assert state["fqdn"].startswith("gpu-dev-")
    assert ".privatelink.eastus.azmk8s.io" in state["privateFQDN"]
    assert state["oidcIssuerProfile"]["issuerURL"].startswith("https://eastus.oic.prod-aks.azure.com/")
    assert state["identity"]["userAssignedIdentities"][aks.IDENTITY_ID]["principalId"]
    assert state["identityProfile"]["kubeletidentity"]["resourceId"].endswith("/gpu-dev-agentpool")
    assert (state["provisioningState"], state["currentKubernetesVersion"]) == ("Succeeded", KUBERNETES)
    assert "Q0E=" not in json.dumps(state)


def test_nodes_have_the_identity_that_the_cluster_names(azure: aks.Microsoft) -> None:
    azure.network()
    principal, kubelet = azure.identity().state["principalId"], azure.identity("kubelet")
    assert kubelet.id == aks.KUBELET_ID
    operator = aks.role(scope=kubelet.id, principalId=principal, roleDefinitionId=aks.IDENTITY_OPERATOR)
    azure.create(aks.ROLE_ASSIGNMENT, operator)
    created = azure.create(aks.CLUSTER, aks.cluster(identityProfile={"kubeletidentity": {"resourceId": kubelet.id}}))
    assert created.state["identityProfile"]["kubeletidentity"]["objectId"] == kubelet.state["principalId"]


def test_the_users_kubeconfig(azure: aks.Microsoft) -> None:
    azure.cluster()
    place = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    azure.restart()
    (credential,) = azure.provider.invoke(CREDENTIALS, place)["kubeconfigs"]
    config: Any = yaml.safe_load(base64.b64decode(credential["value"]))
    expected = {"certificate-authority-data": "Q0E=", "server": "https://127.0.0.1:6443"}
    assert config["clusters"][0]["cluster"] == expected
    login = config["users"][0]["user"]
    assert set(login) == {"exec"}
    assert login["exec"]["command"] == "kubelogin"
    assert login["exec"]["args"][0] == "get-token"
    with pytest.raises(ProviderError, match="ResourceNotFound"):
        azure.provider.invoke(CREDENTIALS, {**place, "resourceName": "other"})
    with pytest.raises(ProviderError, match="missing required property 'resourceName'"):
        azure.provider.invoke(CREDENTIALS, {"resourceGroupName": "gpu-dev"})


@pytest.mark.parametrize(("inside", "server"), [(True, "https://127.0.0.1:6443"), (False, "https://127.0.0.1:1")])
def test_a_private_control_plane_answers_inside_only(azure: aks.Microsoft, inside: bool, server: str) -> None:
    azure.fleet.inside = inside
    azure.cluster(apiServerAccessProfile={"enablePrivateCluster": True})
    place = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    (credential,) = azure.provider.invoke(CREDENTIALS, place)["kubeconfigs"]
    assert yaml.safe_load(base64.b64decode(credential["value"]))["clusters"][0]["cluster"]["server"] == server


def _users(azure: aks.Microsoft, token: str) -> list[Any]:
    place = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    (credential,) = azure.provider.invoke(token, place)["kubeconfigs"]
    users: list[Any] = yaml.safe_load(base64.b64decode(credential["value"]))["users"]
    return users


@pytest.mark.parametrize(("token", "role"), [(CREDENTIALS, "clusterUser"), (ADMIN_CREDENTIALS, "clusterAdmin")])
def test_without_entra_everybody_who_asks_gets_the_certificate_of_a_local_account(
    azure: aks.Microsoft, token: str, role: str
) -> None:
    azure.cluster(aadProfile=None, disableLocalAccounts=False)
    certificate = {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}
    assert _users(azure, token) == [{"name": f"{role}_gpu-dev_gpu-dev", "user": certificate}]


def test_there_is_no_certificate_where_local_accounts_are_disabled(azure: aks.Microsoft) -> None:
    azure.cluster(disableLocalAccounts=True)
    with pytest.raises(ProviderError, match="Getting static credential is not allowed"):
        _users(azure, ADMIN_CREDENTIALS)
    assert "exec" in _users(azure, CREDENTIALS)[0]["user"]


def test_the_simulated_provider_needs_none_of_the_vendors_packages(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from rehearsal.providers.aks import AzureNativeProvider as P;"
        f"P(Path({str(tmp_path)!r}), None).schema;"
        "print([m for m in sys.modules if m.startswith(('azure', 'pulumi_'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("second", ["create", "update", "delete"])
def test_a_cluster_does_one_operation_at_a_time(azure: aks.Microsoft, second: str) -> None:
    azure.cluster()
    other = azure.create(aks.POOL, aks.gpu_pool(agentPoolName="other"))
    operations: dict[str, Callable[[], object]] = {
        "create": lambda: azure.create(aks.POOL, aks.gpu_pool(agentPoolName="third")),
        "update": lambda: azure.update(aks.POOL, other, aks.gpu_pool(agentPoolName="other", maxCount=9)),
        "delete": lambda: azure.delete(aks.POOL, other),
    }
    refused: list[str] = []

    def meanwhile(group: SimulatedNodeGroup) -> None:
        azure.fleet.groups[group.name] = group
        with pytest.raises(ProviderError, match=r"OperationNotAllowed.*\(t4spot - Creating\) is in progress"):
            operations[second]()
        refused.append(second)
        # A preview asks nothing of the cluster.
        azure.preview(aks.POOL, aks.gpu_pool(agentPoolName="third"))

    azure.fleet.apply_group = meanwhile
    azure.create(aks.POOL, aks.gpu_pool())
    assert refused == [second]
    del azure.fleet.apply_group
    # Refused is not half done, and may be done afterwards.
    assert set(azure.fleet.groups) == {"system", "other", "t4spot"}
    operations[second]()


def test_an_update_of_a_cluster_brings_no_pool(azure: aks.Microsoft) -> None:
    created = azure.cluster()
    with pytest.raises(ProviderError, match="A new agent pool was introduced"):
        azure.update(
            aks.CLUSTER, created, aks.cluster(agentPoolProfiles=[aks.system_pool(), aks.system_pool(name="more")])
        )
    assert set(azure.fleet.groups) == {"system"}


def test_a_clusters_request_speaks_of_the_versions_of_all_its_pools_or_of_none(azure: aks.Microsoft) -> None:
    created = azure.cluster()
    named = aks.cluster(agentPoolProfiles=[aks.system_pool(orchestratorVersion=KUBERNETES)])
    azure.update(aks.CLUSTER, created, named)
    azure.create(aks.POOL, aks.gpu_pool(orchestratorVersion=KUBERNETES))
    with pytest.raises(ProviderError, match="NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged"):
        azure.update(aks.CLUSTER, created, named)
    azure.update(aks.CLUSTER, created, aks.cluster())


@pytest.mark.parametrize(("pin", "refused"), [(KUBERNETES, True), ("1.34", False), (None, False)])
def test_azure_takes_a_cluster_past_its_pin_and_not_back(azure: aks.Microsoft, pin: str | None, refused: bool) -> None:
    created = azure.cluster(kubernetesVersion=pin)
    store = azure.store()
    record = store.get(aks.CLUSTER, aks.CLUSTER_ID)
    assert record is not None
    # What a channel other than "none" does some day.
    store.put(Record(record.id, record.type, record.inputs, {**record.outputs, "currentKubernetesVersion": "1.34.99"}))
    azure.restart()
    changed = aks.cluster(kubernetesVersion=pin, tags={"team": "vision"})
    if refused:
        words = f"Downgrading Kubernetes version 1.34.99 to {KUBERNETES} is not allowed"
        with pytest.raises(ProviderError, match=words):
            azure.update(aks.CLUSTER, created, changed)
    else:
        azure.update(aks.CLUSTER, created, changed)


@pytest.mark.parametrize(("day", "refused"), [("2026-11-30", True), ("2026-12-01", False)])
def test_a_version_out_of_community_support_may_be_left_by_two_minors(
    azure: aks.Microsoft, monkeypatch: pytest.MonkeyPatch, day: str, refused: bool
) -> None:
    """1.34's ends with November; the control plane's own is offered all the same."""
    monkeypatch.setattr(rules, "datetime", SimpleNamespace(now=lambda _: datetime.fromisoformat(day)))
    created = azure.cluster()
    azure.update(aks.CLUSTER, created, aks.cluster(tags={"team": "vision"}))
    newer = aks.cluster(kubernetesVersion="1.36")
    if refused:
        with pytest.raises(ProviderError, match="Upgrading Kubernetes version"):
            azure.update(aks.CLUSTER, created, newer)
    else:
        assert azure.update(aks.CLUSTER, created, newer)["currentKubernetesVersion"] == "1.36.0"


def test_a_region_without_zones_has_pools_without_zones(azure: aks.Microsoft) -> None:
    restarted = aks.Microsoft(azure.directory, location="northcentralus")
    with pytest.raises(ProviderError, match="AvailabilityZoneNotSupported"):
        restarted.cluster(agentPoolProfiles=[aks.system_pool(availabilityZones=["1"])])
    restarted.create(aks.CLUSTER, aks.cluster())
    restarted.refuses(aks.POOL, aks.gpu_pool(), "AvailabilityZoneNotSupported")
    restarted.create(aks.POOL, aks.gpu_pool(availabilityZones=None))
    assert restarted.fleet.groups["t4spot"].nodes.zones == ("0",)


def test_another_version_of_a_pool_replaces_its_nodes_and_none_is_newer_than_the_cluster(azure: aks.Microsoft) -> None:
    created = azure.cluster(kubernetesVersion="1.34")
    pool = azure.create(aks.POOL, aks.gpu_pool(orchestratorVersion="1.34"))
    newer = aks.gpu_pool(orchestratorVersion="1.35")
    with pytest.raises(ProviderError, match="NodePoolMcVersionIncompatible"):
        azure.update(aks.POOL, pool, newer)
    raised = azure.update(aks.CLUSTER, created, aks.cluster(kubernetesVersion="1.35"))
    assert raised["currentKubernetesVersion"] == "1.35.0"
    azure.update(aks.POOL, pool, aks.gpu_pool(orchestratorVersion=KUBERNETES, tags={"team": "vision"}))
    assert azure.fleet.recreated == []
    assert azure.update(aks.POOL, pool, newer)["currentOrchestratorVersion"] == "1.35.0"
    assert azure.fleet.recreated == ["t4spot"]


@pytest.mark.parametrize(
    ("change", "reimaged"),
    [
        ({"osSKU": "Ubuntu2404"}, True),
        ({"securityProfile": {"enableSecureBoot": False, "enableVTPM": True}}, True),
        ({"securityProfile": {"enableSecureBoot": False, "enableVTPM": False}}, False),
        ({"enableFIPS": True}, True),
        ({"localDNSProfile": {"mode": "Required"}}, True),
        ({"maxCount": 9}, False),
    ],
)
def test_what_azure_reimages_the_nodes_of_a_pool_for(
    azure: aks.Microsoft, change: dict[str, Any], reimaged: bool
) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool())
    azure.update(aks.POOL, pool, aks.gpu_pool(**change))
    assert azure.fleet.recreated == ["t4spot"] * reimaged


@pytest.mark.parametrize(
    ("change", "reimaged"),
    [
        ({"httpProxyConfig": {"httpProxy": "http://proxy:3128"}}, True),
        ({"securityProfile": {"customCATrustCertificates": ["LS0t"]}}, True),
        ({"autoUpgradeProfile": {"nodeOSUpgradeChannel": "Unmanaged"}}, True),
        ({"tags": {"team": "vision"}}, False),
    ],
)
def test_what_azure_reimages_the_nodes_of_all_pools_for(
    azure: aks.Microsoft, change: dict[str, Any], reimaged: bool
) -> None:
    created = azure.cluster()
    azure.create(aks.POOL, aks.gpu_pool())
    azure.update(aks.CLUSTER, created, aks.cluster(**change))
    assert sorted(azure.fleet.recreated) == ["system", "t4spot"] * reimaged


@pytest.mark.parametrize(("settings", "minutes"), [({}, 60), ({"drainTimeoutInMinutes": 30}, 30), (None, None)])
def test_the_drain_timeout_of_before_stays_where_an_update_omits_it(
    azure: aks.Microsoft, settings: dict[str, Any] | None, minutes: int | None
) -> None:
    """Of an omitted block nothing is known."""
    azure.cluster()
    soak = {"nodeSoakDurationInMinutes": 5}
    azure.create(aks.POOL, aks.gpu_pool(upgradeSettings={**soak, "drainTimeoutInMinutes": 60}))
    pool = azure.made[-1][1]
    inputs = aks.gpu_pool(**({} if settings is None else {"upgradeSettings": {**soak, **settings}}))
    state = azure.update(aks.POOL, pool, inputs)
    assert (state.get("upgradeSettings") or {}).get("drainTimeoutInMinutes") == minutes
    assert "upgradeSettings" not in inputs or inputs["upgradeSettings"] == {**soak, **(settings or {})}


def test_a_cluster_is_described_with_the_nodes_that_its_pools_have(azure: aks.Microsoft) -> None:
    azure.cluster()
    azure.create(aks.POOL, aks.gpu_pool())
    azure.fleet.objects["/api/v1/nodes"] = [{"metadata": {"labels": {"agentpool": "t4spot"}}}] * 2
    place = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    described = azure.provider.invoke("azure-native:containerservice:getManagedCluster", place)
    pools = {one["name"]: (one["count"], one["currentOrchestratorVersion"]) for one in described["agentPoolProfiles"]}
    assert pools == {"system": (1, KUBERNETES), "t4spot": (2, KUBERNETES)}


ROWS = yaml.safe_load(Path(__file__).with_name("inputs.yaml").read_text())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["message"])
def test_inputs_that_no_request_can_have(azure: Microsoft, row: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=row["message"]):
        azure.check(row["type"], EXAMPLES.inputs(row["of"])(**row["changes"]))


def test_names_of_exactly_the_longest_kind_pass(azure: Microsoft) -> None:
    assert azure.check(POOL, gpu_pool(agentPoolName="a" * 12))
    assert azure.check(CLUSTER, cluster(resourceName="a" * 63))
    assert azure.check(POOL, gpu_pool(count=3.0))
