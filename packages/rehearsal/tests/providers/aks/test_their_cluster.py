"""What a preview of a stack on a cluster of others finds."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.fixtures import create_fixtures
from tests.stacks import POOLS_ALONE_ON_AKS

PLACE = {"resourceGroupName": "platform", "resourceName": "research"}


@pytest.mark.parametrize("with_cluster", [True, False])
def test_a_preview_finds_the_cluster_that_a_stack_names_where_nobody_answers(
    tmp_path: Path, with_cluster: bool
) -> None:
    provider = AzureNativeProvider(tmp_path, None)
    create_fixtures(POOLS_ALONE_ON_AKS, provider, with_cluster=with_cluster)
    if not with_cluster:
        assert provider.inventory() == []
        return
    there = provider.instance()
    there.configure({"subscriptionId": "00000000-0000-0000-0000-000000000000"})
    answer = there.invoke("azure-native:containerservice:getManagedCluster", PLACE)
    assert [pool["mode"] for pool in answer["agentPoolProfiles"]] == ["System"]
    given = there.invoke("azure-native:containerservice:listManagedClusterUserCredentials", PLACE)
    assert "https://127.0.0.1:9" in base64.b64decode(given["kubeconfigs"][0]["value"]).decode()
