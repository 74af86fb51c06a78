"""Private endpoints: where they are, by what Azure makes with them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.aks.account import ENDPOINT, GROUP_ID, STORAGE, SUBNET_ID, Microsoft
from rehearsal.providers.base import ProviderError

LOOK_UP = "azure-native:network:getNetworkInterface"
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
    (configuration,) = azure.provider.invoke(LOOK_UP, request)["ipConfigurations"]
    address = configuration["privateIPAddress"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.0.0.0/20")
    assert [names["ipAddresses"] for names in endpoint.state["customDnsConfigs"]] == [[address]]
    with pytest.raises(ProviderError, match="ResourceNotFound"):
        azure.provider.invoke(LOOK_UP, {**request, "networkInterfaceName": "other"})
