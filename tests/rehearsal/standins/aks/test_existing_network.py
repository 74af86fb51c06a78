"""What a stack names is there beforehand, and is found with its subnets."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.stack import ROOT
from rehearsal.standins.aks import AzureNativeProvider
from rehearsal.standins.base import ProviderError
from rehearsal.standins.beforehand import made_beforehand

LOOK_UP = "azure-native:network:getVirtualNetwork"
PLACE = {"resourceGroupName": "company", "virtualNetworkName": "company"}


def test_what_a_stack_names_is_there_beforehand(tmp_path: Path) -> None:
    azure = AzureNativeProvider(tmp_path, None)
    made_beforehand(ROOT / "examples" / "aks-company.yaml", azure)
    azure.configure({"subscriptionId": "00000000-0000-0000-0000-000000000000"})
    found = azure.invoke(LOOK_UP, PLACE)
    assert (found["location"], found["addressSpace"]) == ("eastus", {"addressPrefixes": ["10.20.0.0/16"]})
    (subnet,) = found["subnets"]
    assert (subnet["name"], subnet["addressPrefix"]) == ("gpu-nodes", "10.20.0.0/22")
    assert subnet["id"] == f"{found['id']}/subnets/gpu-nodes"
    assert subnet["routeTable"]["id"].endswith("/routeTables/company-routes")
    with pytest.raises(ProviderError, match="NotFound"):
        azure.invoke(LOOK_UP, {**PLACE, "virtualNetworkName": "other"})
