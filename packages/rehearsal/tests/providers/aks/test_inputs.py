"""Inputs that need no server to be refused: missing, unknown, mistyped, outside the limits."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.aks.account import (
    CLUSTER,
    ENCRYPTION_SET,
    IDENTITY_ID,
    NETWORK,
    POOL,
    ROLE_ASSIGNMENT,
    Microsoft,
    cluster,
    encryption_set,
    gpu_pool,
    network,
    role,
    system_pool,
)
from rehearsal.providers.base import Properties, ProviderError


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
