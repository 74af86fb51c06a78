"""Create, read, update and delete, through restarts, crashes and wrong references."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.providers.azure_native import AzureNativeProvider
from rehearsal.providers.azure_native.errors import already_exists
from rehearsal.providers.azure_native.versions import KUBERNETES
from rehearsal.providers.base import UNKNOWN, Created, Properties, ProviderError
from rehearsal.providers.store import Record, Store
from tests.rehearsal.microsoft import (
    ADDRESS,
    CLUSTER,
    CLUSTER_ID,
    ENCRYPTION_SET,
    GROUP,
    GROUP_ID,
    IDENTITY,
    IDENTITY_ID,
    IDENTITY_OPERATOR,
    KUBELET_ID,
    NAT,
    NETWORK,
    POOL,
    ROLE_ASSIGNMENT,
    ROUTE_TABLE,
    SECURITY_GROUP,
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
    system_pool,
)

CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
STANDARD: Properties = {"resourceGroupName": "gpu-dev", "sku": {"name": "Standard"}}
ADDRESS_INPUTS: Properties = {**STANDARD, "publicIpAddressName": "out", "publicIPAllocationMethod": "Static"}


@pytest.fixture
def azure(tmp_path: Path) -> Microsoft:
    return Microsoft(tmp_path)


def nat(address: Created) -> Properties:
    return {**STANDARD, "natGatewayName": "nat", "publicIpAddresses": [{"id": address.id}]}


def test_a_whole_stack_comes_and_goes(azure: Microsoft) -> None:
    group = azure.group()
    security_group = azure.create(SECURITY_GROUP, {"resourceGroupName": "gpu-dev", "networkSecurityGroupName": "nodes"})
    routes = azure.create(ROUTE_TABLE, {"resourceGroupName": "gpu-dev", "routeTableName": "nodes"})
    address = azure.create(ADDRESS, ADDRESS_INPUTS)
    gateway = azure.create(NAT, nat(address))
    net = azure.create(NETWORK, network())
    links = {
        "natGateway": {"id": gateway.id},
        "networkSecurityGroup": {"id": security_group.id},
        "routeTable": {"id": routes.id},
    }
    nodes = azure.create(SUBNET, subnet(**links))
    control_plane, kubelet = azure.identity(), azure.identity("kubelet")
    operator = role(
        scope=kubelet.id, principalId=control_plane.state["principalId"], roleDefinitionId=IDENTITY_OPERATOR
    )
    grant = azure.create(ROLE_ASSIGNMENT, operator)
    disks = azure.create(ENCRYPTION_SET, encryption_set())
    created = azure.create(
        CLUSTER,
        cluster(
            identityProfile={"kubeletidentity": {"resourceId": kubelet.id}},
            diskEncryptionSetID=disks.id,
            networkProfile={**cluster()["networkProfile"], "outboundType": "userAssignedNATGateway"},
        ),
    )
    gpus = azure.create(POOL, gpu_pool())

    assert nodes.id == SUBNET_ID
    assert control_plane.id == IDENTITY_ID
    assert kubelet.id == KUBELET_ID
    assert created.id == CLUSTER_ID
    assert gpus.id == f"{CLUSTER_ID}/agentPools/t4spot"
    assert set(azure.fleet.groups) == {"system", "t4spot"}
    assert created.state["identityProfile"]["kubeletidentity"]["objectId"] == kubelet.state["principalId"]

    # What is in use stays; what uses it goes first.
    for type_, resource in (
        (SUBNET, nodes),
        (NETWORK, net),
        (NAT, gateway),
        (ADDRESS, address),
        (SECURITY_GROUP, security_group),
        (ROUTE_TABLE, routes),
        (ENCRYPTION_SET, disks),
    ):
        with pytest.raises(ProviderError, match=r"Status=400 Code=.* is in use by "):
            azure.delete(type_, resource)
    for type_, resource in (
        (POOL, gpus),
        (CLUSTER, created),
        (ENCRYPTION_SET, disks),
        (ROLE_ASSIGNMENT, grant),
        (IDENTITY, kubelet),
        (IDENTITY, control_plane),
        (SUBNET, nodes),
        (NETWORK, net),
        (NAT, gateway),
        (ADDRESS, address),
        (ROUTE_TABLE, routes),
        (SECURITY_GROUP, security_group),
        (GROUP, group),
    ):
        azure.delete(type_, resource)
        azure.delete(type_, resource)  # gone already is fine
        assert azure.read(type_, resource.id).id == ""
    assert azure.fleet.groups == {}
    assert azure.fleet.clusters == {}


def test_a_resource_group_takes_everything_along(azure: Microsoft, tmp_path: Path) -> None:
    azure.cluster()
    azure.create(POOL, gpu_pool())
    azure.delete(GROUP, azure.read(GROUP, GROUP_ID))
    assert azure.fleet.groups == {}
    assert azure.fleet.clusters == {}
    assert Store(tmp_path, "azure-native", already_exists).everything() == []


def test_state_outlives_the_process(azure: Microsoft) -> None:
    created = azure.cluster()
    azure.restart()
    again = azure.read(CLUSTER, created.id, created.inputs)
    assert again.state == created.state
    assert again.inputs == created.inputs


def test_an_id_in_another_case_is_the_same_resource(azure: Microsoft) -> None:
    azure.cluster()
    assert azure.read(CLUSTER, CLUSTER_ID.replace("resourceGroups", "resourcegroups")).id == CLUSTER_ID
    assert azure.read(POOL, f"{CLUSTER_ID.upper()}/AGENTPOOLS/SYSTEM").state["mode"] == "System"
    assert azure.read(NETWORK, CLUSTER_ID).id == ""


def test_an_import_returns_every_input(azure: Microsoft) -> None:
    azure.network()
    assert azure.read(SUBNET, SUBNET_ID).inputs == subnet()


def test_a_refresh_sees_what_changed_behind_the_programs_back(azure: Microsoft, tmp_path: Path) -> None:
    created = azure.network()
    store = Store(tmp_path, "azure-native", already_exists)
    record = store.get(created.id)
    assert record is not None
    store.put(Record(record.id, record.type, {**record.inputs, "addressPrefix": "10.0.0.0/21"}, record.outputs))
    found = azure.read(SUBNET, created.id, created.inputs)
    assert found.inputs == subnet(addressPrefix="10.0.0.0/21")


def test_a_crash_between_making_and_answering(azure: Microsoft) -> None:
    azure.group()
    azure.restart()  # the engine never got the answer and asks again
    with pytest.raises(ProviderError, match=f"cannot create already existing resource '{GROUP_ID}'"):
        azure.group()


def test_a_pool_of_the_cluster_cannot_be_declared_once_more(azure: Microsoft) -> None:
    azure.cluster()
    system = {**system_pool(), "name": None, "agentPoolName": "system"}
    with pytest.raises(
        ProviderError, match=f"cannot create already existing resource '{CLUSTER_ID}/agentPools/system'"
    ):
        azure.create(POOL, {**system, "resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"})


@pytest.mark.parametrize("call", ["create_cluster", "apply_group"])
def test_a_cluster_that_fails_to_start_is_kept_and_resumed(azure: Microsoft, call: str) -> None:
    azure.network()
    azure.identity()
    azure.fleet.fail = call
    with pytest.raises(ProviderError, match="no machines left") as failed:
        azure.create(CLUSTER, cluster())
    assert failed.value.partial is not None
    half = failed.value.partial
    azure.fleet.fail = ""
    azure.update(CLUSTER, Created(half.id, half.state, azure.check(CLUSTER, cluster())), cluster())
    assert set(azure.fleet.clusters) == {"gpu-dev"}
    assert set(azure.fleet.groups) == {"system"}


def test_a_pool_whose_machines_fail_is_kept(azure: Microsoft) -> None:
    azure.cluster()
    azure.fleet.fail = "apply_group"
    with pytest.raises(ProviderError, match="no machines left") as failed:
        azure.create(POOL, gpu_pool())
    assert failed.value.partial is not None
    assert azure.read(POOL, failed.value.partial.id).id


def test_previews_need_no_machines_and_make_nothing(tmp_path: Path) -> None:
    azure = Microsoft(tmp_path)
    azure.provider = AzureNativeProvider(tmp_path, None)
    azure.provider.configure({"subscriptionId": SUBSCRIPTION})
    state = azure.preview(CLUSTER, cluster(resourceGroupName=UNKNOWN))
    assert state["location"] is UNKNOWN
    assert state["name"] is UNKNOWN
    assert state["nodeResourceGroup"] is UNKNOWN
    assert state["resourceName"] == "gpu-dev"
    assert Store(tmp_path, "azure-native", already_exists).everything() == []
    azure.create(GROUP, {"resourceGroupName": "gpu-dev", "location": "eastus"})
    azure.create(NETWORK, network())
    azure.create(SUBNET, subnet())
    azure.identity()
    with pytest.raises(ProviderError, match="without a control plane"):
        azure.create(CLUSTER, cluster())


def test_a_preview_already_refuses_what_azure_would_refuse(azure: Microsoft) -> None:
    with pytest.raises(ProviderError, match="at least one system pool"):
        azure.preview(CLUSTER, cluster(agentPoolProfiles=[system_pool(mode="User")]))
    with pytest.raises(ProviderError, match=r"agentPoolProfile\.count is invalid"):
        azure.preview(CLUSTER, cluster(agentPoolProfiles=[system_pool(count=0)]))
    with pytest.raises(ProviderError, match="spot node pool cannot be a system pool"):
        azure.preview(POOL, gpu_pool(mode="System", count=1, minCount=1))


def test_a_location_comes_from_the_provider_else_from_the_resource_group(tmp_path: Path) -> None:
    azure = Microsoft(tmp_path)
    assert azure.check(NETWORK, network())["location"] == "eastus"
    azure.config.pop("location")
    azure.restart()
    with pytest.raises(ProviderError, match="location: is required"):
        azure.create(GROUP, {"resourceGroupName": "gpu-dev"})
    azure.create(GROUP, {"resourceGroupName": "gpu-dev", "location": "westeurope"})
    assert azure.check(NETWORK, network())["location"] == "westeurope"
    assert azure.check(NETWORK, network(resourceGroupName="not-yet"))["location"] is UNKNOWN


def test_names_are_made_and_kept(azure: Microsoft) -> None:
    made = azure.check(IDENTITY, {"resourceGroupName": "gpu-dev"}, name="nodes")["resourceName"]
    assert made.startswith("nodes")
    assert len(made) == len("nodes") + 8
    again = azure.check(IDENTITY, {"resourceGroupName": "gpu-dev"}, {"resourceName": made}, name="nodes")
    assert again["resourceName"] == made
    assert azure.check(ROLE_ASSIGNMENT, role(principalId="p"))["roleAssignmentName"].count("-") == 4


@pytest.mark.parametrize(
    ("type", "inputs", "message"),
    [
        (POOL, gpu_pool(vmSise="x"), "vmSise: Azure knows no such property in AgentPool"),
        (POOL, gpu_pool(gpuProfile={"nvidia": {}}), "gpuProfile.nvidia: pulumi-azure-native .* API version 2025-09-01"),
        (POOL, gpu_pool(provisioningState="Succeeded"), "provisioningState: is set by Azure"),
        (POOL, gpu_pool(count="3"), "count: must be a whole number, not '3'"),
        (POOL, gpu_pool(count=1.5), "count: must be a whole number, not 1.5"),
        (POOL, gpu_pool(enableAutoScaling=1), "enableAutoScaling: must be true or false"),
        (POOL, gpu_pool(availabilityZones="1"), "availabilityZones: must be a list"),
        (POOL, gpu_pool(nodeLabels=["a"]), "nodeLabels: must be an object"),
        (POOL, gpu_pool(mode="Systems"), "mode: 'Systems' is not one of System, User, Gateway"),
        (POOL, gpu_pool(agentPoolName="t4-spot"), "agentPoolName: 't4-spot' does not match"),
        (POOL, gpu_pool(agentPoolName="a" * 13), "agentPoolName: .* does not match"),
        (POOL, gpu_pool(osDiskSizeGB=2049), "osDiskSizeGB: 2049 is outside 0 to 2048"),
        (POOL, gpu_pool(upgradeSettings={"drainTimeoutInMinutes": 0}), "outside 1 to 1440"),
        (POOL, gpu_pool(resourceName=None), "resourceName: is required"),
        (CLUSTER, cluster(agentPoolProfiles=[system_pool(name=None)]), r"agentPoolProfiles\[0\].name: is required"),
        (CLUSTER, cluster(agentPoolProfiles=[system_pool(osSKU="Debian")]), r"agentPoolProfiles\[0\].osSKU: 'Debian'"),
        (CLUSTER, cluster(resourceName="gpu_dev_"), "resourceName: 'gpu_dev_' does not match"),
        (CLUSTER, cluster(resourceGroupName="gpu-dev."), "resourceGroupName: 'gpu-dev.' does not match"),
        (
            CLUSTER,
            cluster(identity={"userAssignedIdentities": {IDENTITY_ID: {}}}),
            "userAssignedIdentities: must be a list",
        ),
        (
            CLUSTER,
            cluster(autoScalerProfile={"scan-interval": "10s"}),
            "autoScalerProfile.scan-interval: Azure knows no",
        ),
        (CLUSTER, cluster(autoScalerProfile={"expander": "cheapest"}), "expander: 'cheapest' is not one of"),
        (ROLE_ASSIGNMENT, role(principalId="p", principalType="Robot"), "principalType: 'Robot' is not one of"),
        (ENCRYPTION_SET, encryption_set(activeKey={"keyUrl": 1}), "activeKey.keyUrl: must be a string"),
        (ENCRYPTION_SET, encryption_set(activeKey={}), "activeKey.keyUrl: is required"),
        (NETWORK, network(addressSpace=None), "addressSpace: is required"),
    ],
)
def test_inputs_that_no_request_can_have(azure: Microsoft, type: str, inputs: Properties, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        azure.check(type, inputs)


def test_names_of_exactly_the_longest_kind_pass(azure: Microsoft) -> None:
    assert azure.check(POOL, gpu_pool(agentPoolName="a" * 12))
    assert azure.check(CLUSTER, cluster(resourceName="a" * 63))
    assert azure.check(POOL, gpu_pool(count=3.0))


def test_a_type_or_function_that_is_not_simulated_is_named(azure: Microsoft) -> None:
    with pytest.raises(ProviderError, match=r"azure-native:storage:StorageAccount is not simulated.*ManagedCluster"):
        azure.check("azure-native:storage:StorageAccount", {})
    with pytest.raises(ProviderError, match=r"function azure-native:storage:listKeys is not simulated"):
        azure.provider.invoke("azure-native:storage:listKeys", {})


def missing(azure: Microsoft, type: str, inputs: Properties, code: str) -> None:
    with pytest.raises(ProviderError, match=f'Code="{code}"'):
        azure.create(type, inputs)


def test_references_must_exist(azure: Microsoft) -> None:
    missing(azure, NETWORK, network(), "ResourceGroupNotFound")
    azure.group()
    missing(azure, SUBNET, subnet(), "ResourceNotFound")
    missing(azure, NAT, {**STANDARD, "natGatewayName": "n", "publicIpAddresses": [{"id": "x"}]}, "ResourceNotFound")
    missing(azure, CLUSTER, cluster(), "ResourceNotFound")
    azure.identity()
    missing(azure, CLUSTER, cluster(), "ResourceNotFound")
    azure.create(NETWORK, network())
    missing(azure, SUBNET, subnet(natGateway={"id": "x"}), "ResourceNotFound")
    azure.create(SUBNET, subnet())
    missing(azure, CLUSTER, cluster(diskEncryptionSetID="x"), "ResourceNotFound")
    missing(azure, POOL, gpu_pool(), "ResourceNotFound")
    azure.create(CLUSTER, cluster())
    missing(azure, POOL, gpu_pool(vnetSubnetID=f"{SUBNET_ID}x"), "ResourceNotFound")


@pytest.mark.parametrize(
    ("prefix", "code"),
    [
        ("10.0.8.0/21", "NetcfgSubnetRangesOverlap"),
        ("10.1.0.0/20", "NetcfgSubnetRangeOutsideVnet"),
        ("10.0.16.0/20", None),
    ],
)
def test_subnets_are_inside_their_network_and_apart(azure: Microsoft, prefix: str, code: str | None) -> None:
    azure.network()
    inputs = subnet(subnetName="other", addressPrefix=prefix)
    if code:
        missing(azure, SUBNET, inputs, code)
    else:
        assert azure.create(SUBNET, inputs).id


def test_a_network_cannot_shrink_below_its_subnets(azure: Microsoft) -> None:
    azure.network()
    existing = azure.read(NETWORK, SUBNET_ID.partition("/subnets/")[0])
    grown = network(addressSpace={"addressPrefixes": ["10.0.0.0/16", "10.1.0.0/16"]})
    azure.update(NETWORK, existing, grown)
    with pytest.raises(ProviderError, match="NetcfgSubnetRangeOutsideVnet"):
        azure.update(NETWORK, existing, network(addressSpace={"addressPrefixes": ["10.1.0.0/16"]}))


def test_subnets_inside_a_network_are_subnets(azure: Microsoft) -> None:
    azure.group()
    net = azure.create(NETWORK, network(subnets=[{"name": "nodes", "addressPrefix": "10.0.0.0/20"}]))
    assert azure.read(SUBNET, SUBNET_ID).state["addressPrefix"] == "10.0.0.0/20"
    azure.delete(NETWORK, net)
    assert azure.read(SUBNET, SUBNET_ID).id == ""


@pytest.mark.parametrize(
    ("key", "cidr", "other"),
    [
        ("podCidr", "10.0.128.0/17", "virtual network range 10.0.0.0/16"),
        ("serviceCidr", "10.0.0.0/24", "virtual network range 10.0.0.0/16"),
        ("podCidr", "172.30.0.0/16", "which Azure reserves"),
        ("podCidr", "10.1.0.0/16", None),
    ],
)
def test_pods_and_services_have_ranges_of_their_own(azure: Microsoft, key: str, cidr: str, other: str | None) -> None:
    azure.network()
    azure.identity()
    profile = {**cluster()["networkProfile"], key: cidr, "dnsServiceIP": None}
    if other is None:
        assert azure.create(CLUSTER, cluster(networkProfile=profile)).id
        return
    with pytest.raises(ProviderError, match=other):
        azure.create(CLUSTER, cluster(networkProfile=profile))


def test_an_own_nat_gateway_must_be_on_the_subnet(azure: Microsoft) -> None:
    azure.network()
    azure.identity()
    profile = {**cluster()["networkProfile"], "outboundType": "userAssignedNATGateway"}
    with pytest.raises(ProviderError, match="has no NAT gateway"):
        azure.create(CLUSTER, cluster(networkProfile=profile))
    gateway = azure.create(NAT, nat(azure.create(ADDRESS, ADDRESS_INPUTS)))
    azure.update(SUBNET, azure.read(SUBNET, SUBNET_ID), subnet(natGateway={"id": gateway.id}))
    assert azure.create(CLUSTER, cluster(networkProfile=profile)).id


def test_a_nat_gateway_takes_standard_addresses(azure: Microsoft) -> None:
    azure.group()
    basic = azure.create(ADDRESS, {**ADDRESS_INPUTS, "sku": {"name": "Basic"}})
    with pytest.raises(ProviderError, match="SKU Standard"):
        azure.create(NAT, nat(basic))


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


def test_role_assignments(azure: Microsoft) -> None:
    azure.network()
    missing(azure, ROLE_ASSIGNMENT, role(principalId=SUBSCRIPTION), "PrincipalNotFound")
    person = azure.create(ROLE_ASSIGNMENT, role(principalId=SUBSCRIPTION, principalType="User"))
    assert person.id.startswith(f"{SUBNET_ID}/providers/Microsoft.Authorization/roleAssignments/")
    granted = role(principalId=azure.identity().state["principalId"])
    azure.create(ROLE_ASSIGNMENT, granted, name="one")
    with pytest.raises(ProviderError, match='Status=409 Code="RoleAssignmentExists"'):
        azure.create(ROLE_ASSIGNMENT, granted, name="two")
    missing(azure, ROLE_ASSIGNMENT, role(scope=f"{SUBNET_ID}x", principalId=SUBSCRIPTION), "ResourceNotFound")
    vault = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/v"
    assert azure.create(ROLE_ASSIGNMENT, {**granted, "scope": vault}, name="three").id


def test_the_caller_can_be_granted_something(azure: Microsoft) -> None:
    azure.group()
    caller = azure.provider.invoke("azure-native:authorization:getClientConfig", {})
    assert caller["subscriptionId"] == SUBSCRIPTION
    assert azure.create(ROLE_ASSIGNMENT, role(scope=GROUP_ID, principalId=caller["objectId"])).id


def test_the_last_system_pool_stays(azure: Microsoft) -> None:
    azure.cluster()
    first = azure.read(POOL, f"{CLUSTER_ID}/agentPools/system")
    with pytest.raises(ProviderError, match="There has to be at least one system agent pool"):
        azure.delete(POOL, first)
    with pytest.raises(ProviderError, match="at least one system pool"):
        azure.update(POOL, first, {**(first.inputs or {}), "mode": "User"})
    second = {**(first.inputs or {}), "agentPoolName": "system2"}
    azure.create(POOL, second)
    azure.delete(POOL, first)
    assert set(azure.fleet.groups) == {"system2"}


def test_what_a_cluster_answers(azure: Microsoft) -> None:
    state = azure.cluster(apiServerAccessProfile={"enablePrivateCluster": True}).state
    assert state["nodeResourceGroup"] == "MC_gpu-dev_gpu-dev_eastus"
    assert state["fqdn"].startswith("gpu-dev-")
    assert ".privatelink.eastus.azmk8s.io" in state["privateFQDN"]
    assert state["oidcIssuerProfile"]["issuerURL"].startswith("https://eastus.oic.prod-aks.azure.com/")
    assert state["identity"]["userAssignedIdentities"][IDENTITY_ID]["principalId"]
    assert state["identityProfile"]["kubeletidentity"]["resourceId"].endswith("/gpu-dev-agentpool")
    assert (state["provisioningState"], state["currentKubernetesVersion"]) == ("Succeeded", KUBERNETES)
    assert "Q0E=" not in json.dumps(state)


def test_the_users_kubeconfig(azure: Microsoft) -> None:
    azure.cluster()
    place = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
    azure.restart()
    (found,) = azure.provider.invoke(CREDENTIALS, place)["kubeconfigs"]
    config: Any = yaml.safe_load(base64.b64decode(found["value"]))
    assert config["clusters"][0]["cluster"] == {
        "certificate-authority-data": "Q0E=",
        "server": "https://127.0.0.1:6443",
    }
    login = config["users"][0]["user"]
    assert set(login) == {"exec"}
    assert login["exec"]["command"] == "kubelogin"
    assert login["exec"]["args"][0] == "get-token"
    with pytest.raises(ProviderError, match="ResourceNotFound"):
        azure.provider.invoke(CREDENTIALS, {**place, "resourceName": "other"})
    with pytest.raises(ProviderError, match="missing required property 'resourceName'"):
        azure.provider.invoke(CREDENTIALS, {"resourceGroupName": "gpu-dev"})


def test_without_entra_there_is_no_kubeconfig_to_give(azure: Microsoft) -> None:
    azure.cluster(aadProfile=None, disableLocalAccounts=False)
    with pytest.raises(ProviderError, match="Entra ID"):
        azure.provider.invoke(CREDENTIALS, {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"})


def test_many_threads_make_many_pools(azure: Microsoft) -> None:
    azure.cluster()
    threads = [
        threading.Thread(target=azure.create, args=(POOL, gpu_pool(agentPoolName=f"t4n{index}"))) for index in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(azure.fleet.groups) == 9
    azure.restart()
    assert azure.read(POOL, f"{CLUSTER_ID}/agentPools/t4n7").id


def test_a_damaged_state_is_named(azure: Microsoft, tmp_path: Path) -> None:
    azure.group()
    (tmp_path / "azure-native.json").write_text("{")
    with pytest.raises(ValueError, match=r"azure-native\.json is not a state"):
        azure.read(GROUP, GROUP_ID)


def test_the_version_is_the_one_that_the_control_plane_runs() -> None:
    module = Path(__file__).parents[2] / "rehearsal" / "tools" / "kubernetes" / "go.mod"
    assert f"k8s.io/kubernetes v{KUBERNETES}" in module.read_text()


def test_importing_the_stand_in_reads_no_models() -> None:
    program = (
        "import sys; import rehearsal.providers.azure_native as a; print([m for m in sys.modules if 'azure.mgmt' in m])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_models_of_networks_come_without_their_client(azure: Microsoft) -> None:
    azure.check(NETWORK, network())
    assert "azure.mgmt.network.models" in sys.modules
    assert "azure.mgmt.network.operations" not in sys.modules
