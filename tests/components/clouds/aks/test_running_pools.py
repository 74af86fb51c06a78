"""Agent pools that exist already keep the size that the autoscaler gave them, and with nodes their version."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from facts.catalog.aks.naming import pool_name
from facts.concepts.pool import Pool
from tests import aks_answers, recorder
from tests.components.clouds.aks.test_cluster import CLUSTER, admin_spec
from tests.components.clouds.aks.test_pools import cpu_spec, gpu_spec, run
from tests.tables import cases

GPU, CPU = gpu_spec("t4-1"), cpu_spec()
fresh = inspect.unwrap(run)  # each test has other answers


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The pools that Azure says the cluster has; a test adds them."""
    pools: list[dict[str, Any]] = [{"name": "admin", "count": 1, "currentOrchestratorVersion": "1.33.2"}]
    answer = {"agentPoolProfiles": pools}
    monkeypatch.setitem(aks_answers.CALLS, "azure-native:containerservice:getManagedCluster", answer)
    monkeypatch.setitem(
        aks_answers.CALLS,
        "azure-native:containerservice:getAgentPool",
        lambda asked: next(pool for pool in pools if pool["name"] == asked["agentPoolName"]),
    )
    return pools


def sent(pool: Pool, version: str | None) -> Any:
    return fresh(pool, version=version).named(f"{pool.name}-pool").inputs.get("orchestratorVersion")


@cases
def test_a_gpu_pool_keeps_its_version_while_it_has_nodes(
    cluster: list[dict[str, Any]], count: int, runs: str, pin: str, expected: str
) -> None:
    cluster.append({"name": pool_name("t4-1"), "count": count, "currentOrchestratorVersion": runs})
    assert sent(GPU, pin) == expected


def test_a_pool_that_does_not_exist_yet_and_one_without_gpus_take_the_version_at_once(
    cluster: list[dict[str, Any]],
) -> None:
    assert sent(GPU, "1.34") == "1.34"
    cluster.append({"name": pool_name(CPU.name), "count": 3, "currentOrchestratorVersion": "1.33.2"})
    assert sent(CPU, "1.34") == "1.34"


def test_nothing_is_asked_about_versions_where_none_is_pinned(cluster: list[dict[str, Any]]) -> None:
    recording = fresh(GPU)
    # Once, for the sizes.
    assert recording.calls.count("azure-native:containerservice:getManagedCluster") == 1
    assert "orchestratorVersion" not in recording.named("t4-1-pool").inputs


GET_CLUSTER = "azure-native:containerservice:getManagedCluster"
GET_POOL = "azure-native:containerservice:getAgentPool"


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A subscription whose cluster has the pools that a test puts in: Azure's name → nodes."""
    pools: dict[str, int] = {}

    def cluster(asked: Mapping[str, Any]) -> dict[str, Any]:
        assert asked == {"resourceGroupName": "gpu-test", "resourceName": "gpu-test"}
        return {"agentPoolProfiles": [{"name": name} for name in pools]}

    def pool(asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"count": pools[asked["agentPoolName"]]}

    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, cluster)
    monkeypatch.setitem(aks_answers.CALLS, GET_POOL, pool)
    return pools


def declared(*pools: Pool, **changes: Any) -> recorder.Recording:
    # Other answers than those that ``run`` remembers.
    anew: Callable[..., recorder.Recording] = vars(run)["__wrapped__"]
    return anew(*pools, **changes)


@pytest.mark.parametrize(("running", "minimum"), [(0, 0), (2, 0), (2, 1), (2, 3), (9, 0)])
def test_the_size_that_is_sent_is_the_one_that_the_pool_has(nodes: dict[str, int], running: int, minimum: int) -> None:
    nodes["cpu"] = running
    resource = declared(cpu_spec(min_nodes=minimum, max_nodes=4)).named("cpu-pool")
    assert [resource.inputs[key] for key in ("minCount", "count", "maxCount")] == [minimum, running, 4]
    # Ignored, the size that some earlier update recorded would be sent.
    assert resource.ignore_changes == ()


def test_gpu_pools_that_are_new_start_empty_beside_one_that_runs(nodes: dict[str, int]) -> None:
    old, new = gpu_spec("t4-1"), gpu_spec("t4-4", size=4)
    (name,) = [
        pool.inputs["agentPoolName"] for pool in declared(old).of_type("azure-native:containerservice:AgentPool")
    ]
    nodes[name] = 2
    recording = declared(old, new)
    assert recording.named("t4-1-pool").inputs["count"] == 2
    assert recording.named("t4-4-pool").inputs["count"] == 0


def test_a_preview_with_a_new_pool_knows_the_sizes_of_the_others(nodes: dict[str, int]) -> None:
    # A pool waits for the one before it, and the answer about it with the pool.
    nodes["cpu"] = 2
    preview = declared(gpu_spec(), cpu_spec(), new=["azure-native:containerservice:AgentPool"])
    assert preview.named("cpu-pool").inputs["count"] == 2


def test_an_autoscaled_admin_pool_keeps_its_size_and_a_fixed_one_has_its_own(nodes: dict[str, int]) -> None:
    nodes["admin"] = 5
    for admin, count in ((admin_spec(nodes=2, max_nodes=9), 5), (admin_spec(nodes=2), 2)):
        (profile,) = declared(admin=admin).only(CLUSTER).inputs["agentPoolProfiles"]
        assert profile["count"] == count


def test_of_a_cluster_that_does_not_exist_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(asked: Mapping[str, Any]) -> dict[str, Any]:
        raise LookupError('Status=404 Code="ResourceGroupNotFound" Message="Resource group could not be found."')

    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, missing)
    recording = declared(gpu_spec())
    assert GET_CLUSTER in recording.calls
    assert GET_POOL not in recording.calls
    assert recording.named("t4-1-pool").inputs["count"] == 0


def test_what_azure_does_not_say_is_not_taken_for_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(asked: Mapping[str, Any]) -> dict[str, Any]:
        raise LookupError('Status=403 Code="AuthorizationFailed" Message="… does not have authorization …"')

    monkeypatch.setitem(aks_answers.CALLS, GET_CLUSTER, refuse)
    with pytest.raises(Exception, match="AuthorizationFailed"):
        declared(gpu_spec())
