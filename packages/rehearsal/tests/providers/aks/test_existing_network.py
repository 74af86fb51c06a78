"""What a stack names exists before it runs, and is read with its subnets; where a private endpoint is."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
import yaml

from packages.rehearsal.tests.providers.aks.account import ENDPOINT, GROUP_ID, STORAGE, SUBNET_ID, Microsoft
from rehearsal.engine.stack import ROOT
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.aks.data import ACCOUNT, CONTAINER, REGISTRY
from rehearsal.providers.base import ProviderError
from rehearsal.providers.fixtures import create_fixtures
from tests import one_stack

LOOK_UP = "azure-native:network:getVirtualNetwork"
PLACE = {"resourceGroupName": "company", "virtualNetworkName": "company"}


def test_what_a_stack_names_exists_before_it_runs(tmp_path: Path) -> None:
    azure = AzureNativeProvider(tmp_path, None)
    create_fixtures(ROOT / "examples" / "aks-company.yaml", azure)
    azure.configure({"subscriptionId": "00000000-0000-0000-0000-000000000000"})
    network = azure.invoke(LOOK_UP, PLACE)
    assert (network["location"], network["addressSpace"]) == ("eastus", {"addressPrefixes": ["10.20.0.0/16"]})
    (subnet,) = network["subnets"]
    assert (subnet["name"], subnet["addressPrefix"]) == ("gpu-nodes", "10.20.0.0/22")
    assert subnet["id"] == f"{network['id']}/subnets/gpu-nodes"
    assert subnet["routeTable"]["id"].endswith("/routeTables/company-routes")
    with pytest.raises(ProviderError, match="NotFound"):
        azure.invoke(LOOK_UP, {**PLACE, "virtualNetworkName": "other"})


@pytest.mark.parametrize("autoscaler", ["managed", "node-auto-provisioning"])
def test_a_cluster_that_a_stack_names_scales_as_the_stack_file_says(tmp_path: Path, autoscaler: str) -> None:
    azure = AzureNativeProvider(tmp_path / "cloud", None)
    written = yaml.safe_load((ROOT / "examples" / "aks-existing-cluster.yaml").read_text())
    written["config"]["gpucluster:autoscaling"] = {"autoscaler": autoscaler}
    stack = tmp_path / "Pulumi.lab.yaml"
    stack.write_text(yaml.safe_dump(written))
    create_fixtures(stack, azure)
    azure.configure({"subscriptionId": "00000000-0000-0000-0000-000000000000"})
    cluster = azure.invoke(
        "azure-native:containerservice:getManagedCluster",
        {"resourceGroupName": "platform", "resourceName": "research"},
    )
    provisioned = (cluster.get("nodeProvisioningProfile") or {}).get("mode") == "Auto"
    assert provisioned == (autoscaler == "node-auto-provisioning")


def test_data_of_its_own_subscription_exists_and_other_subscriptions_are_not_read(tmp_path: Path) -> None:
    own = "00000000-0000-0000-0000-000000000000"
    data = "/resourceGroups/data/providers/Microsoft.Storage/storageAccounts/lab/blobServices/default/containers"
    others = f"/subscriptions/11111111-2222-3333-4444-555555555555{data}/theirs"
    mine = [f"/subscriptions/{own}{data}/{name}" for name in ("models", "runs")]
    identity = {"serviceAccount": "default/trainer", "read": [mine[0], others], "write": [mine[1]]}
    images = "/resourceGroups/Data/providers/Microsoft.ContainerRegistry/registries"
    registry = f"/subscriptions/{own}{images}/labbase"
    pulled = {"pullFrom": [registry, f"/subscriptions/11111111-2222-3333-4444-555555555555{images}/theirs"]}
    stack = tmp_path / "Pulumi.lab.yaml"
    stack.write_text(yaml.safe_dump({"config": one_stack.config("aks", identities=[identity], workloads=pulled)}))
    azure = Microsoft(tmp_path / "azure")
    create_fixtures(stack, azure.provider)
    account = mine[0].partition("/blobServices")[0]
    assert azure.read(ACCOUNT, account).id == account
    assert {azure.read(CONTAINER, each).id for each in mine} == {*mine}
    assert azure.read(REGISTRY, registry).id == registry
    assert not [each for each in azure.provider.inventory() if "theirs" in each]
    azure.provider.close()


INTERFACE = "azure-native:network:getNetworkInterface"
ACCOUNT_ID = f"{GROUP_ID}/providers/Microsoft.Storage/storageAccounts/gpudevdata"
IN_GROUP = {"resourceGroupName": "gpu-dev"}
FILES = [{"name": "files", "groupIds": ["file"], "privateLinkServiceId": ACCOUNT_ID}]


def test_an_endpoint_has_an_address_of_its_subnet_on_an_interface_of_its_own(tmp_path: Path) -> None:
    azure = Microsoft(tmp_path)
    azure.network()
    azure.create(
        STORAGE, {**IN_GROUP, "accountName": "gpudevdata", "kind": "FileStorage", "sku": {"name": "Premium_LRS"}}
    )
    link = {"subnet": {"id": SUBNET_ID}, "privateLinkServiceConnections": FILES}
    endpoint = azure.create(ENDPOINT, {**IN_GROUP, "privateEndpointName": "files", **link})
    (interface,) = endpoint.state["networkInterfaces"]
    assert interface["id"].startswith(f"{GROUP_ID}/providers/Microsoft.Network/networkInterfaces/")
    request = {"resourceGroupName": "gpu-dev", "networkInterfaceName": interface["id"].rpartition("/")[2]}
    (configuration,) = azure.provider.invoke(INTERFACE, request)["ipConfigurations"]
    address = configuration["privateIPAddress"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.0.0.0/20")
    assert [names["ipAddresses"] for names in endpoint.state["customDnsConfigs"]] == [[address]]
    with pytest.raises(ProviderError, match="ResourceNotFound"):
        azure.provider.invoke(INTERFACE, {**request, "networkInterfaceName": "other"})
