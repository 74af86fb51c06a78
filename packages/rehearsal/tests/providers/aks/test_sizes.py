"""The size of a pool that is autoscaled: what Azure says it is, and what an update may say."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks import account as aks
from rehearsal.providers.base import ProviderError

PLACE = {"resourceGroupName": "gpu-dev", "resourceName": "gpu-dev"}
GET_CLUSTER = "azure-native:containerservice:getManagedCluster"
GET_POOL = "azure-native:containerservice:getAgentPool"
FIXED: dict[str, Any] = {"enableAutoScaling": False, "minCount": None, "maxCount": None}


def growing(**changes: Any) -> dict[str, Any]:
    return aks.system_pool(**{"enableAutoScaling": True, "minCount": 1, "maxCount": 5, **changes})


def has(azure: aks.Microsoft, **nodes: int) -> None:
    """What the autoscaler made of pools, by name."""
    azure.fleet.objects["/api/v1/nodes"] = [
        {"metadata": {"labels": {"agentpool": pool}}} for pool, count in nodes.items() for _ in range(count)
    ]


@pytest.mark.parametrize("nodes", [0, 2])
@pytest.mark.parametrize("sent", [None, 0, 1, 2, 3])
def test_an_update_may_only_send_the_size_that_an_autoscaled_pool_has(
    azure: aks.Microsoft, nodes: int, sent: int | None
) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool())
    has(azure, t4spot=nodes, other=7)
    if sent in (None, nodes):
        azure.update(aks.POOL, pool, aks.gpu_pool(maxCount=9, count=sent))
        assert azure.fleet.groups["t4spot"].max_nodes == 9
    else:
        with pytest.raises(ProviderError, match=r'Status=400 Code="InvalidParameter" Message="Cannot manually scale'):
            azure.update(aks.POOL, pool, aks.gpu_pool(maxCount=9, count=sent))
        assert azure.fleet.groups["t4spot"].max_nodes == 4


@pytest.mark.parametrize(("sent", "refused"), [(1, True), (3, False)])
def test_so_for_a_pool_inside_a_cluster(azure: aks.Microsoft, sent: int, refused: bool) -> None:
    created = azure.cluster(agentPoolProfiles=[growing()])
    has(azure, system=3)
    changed = aks.cluster(agentPoolProfiles=[growing(count=sent)], tags={"day": "two"})
    if refused:
        with pytest.raises(ProviderError, match="Cannot manually scale AgentPool 'system'"):
            azure.update(aks.CLUSTER, created, changed)
    else:
        azure.update(aks.CLUSTER, created, changed)
    assert azure.read(aks.CLUSTER, aks.CLUSTER_ID).state.get("tags") == (None if refused else {"day": "two"})


def test_a_pool_without_autoscaling_has_the_declared_size(azure: aks.Microsoft) -> None:
    azure.cluster()
    pool = azure.create(aks.POOL, aks.gpu_pool(**FIXED, count=1))
    has(azure, t4spot=1)
    azure.update(aks.POOL, pool, aks.gpu_pool(**FIXED, count=3))
    assert azure.read(aks.POOL, pool.id).state["count"] == 3


def test_a_look_up_tells_the_pools_and_their_sizes(azure: aks.Microsoft) -> None:
    for token in (GET_CLUSTER, GET_POOL):
        with pytest.raises(ProviderError, match="Status=404 "):
            azure.provider.invoke(token, {**PLACE, "agentPoolName": "t4spot"})
    azure.cluster(agentPoolProfiles=[growing()])
    with pytest.raises(ProviderError, match="Status=404 "):
        azure.provider.invoke(GET_POOL, {**PLACE, "agentPoolName": "t4spot"})
    azure.create(aks.POOL, aks.gpu_pool())
    has(azure, t4spot=2)
    profiles = azure.provider.invoke(GET_CLUSTER, PLACE)["agentPoolProfiles"]
    # Nobody took the system pool below its minimum.
    assert {profile["name"]: profile["count"] for profile in profiles} == {"system": 1, "t4spot": 2}
    assert azure.provider.invoke(GET_POOL, {**PLACE, "agentPoolName": "t4spot"})["count"] == 2
