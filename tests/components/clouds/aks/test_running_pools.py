"""Agent pools that exist already: a pinned version that is raised waits for a GPU pool to be empty."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from facts.catalog.aks.naming import pool_name
from facts.concepts.pool import Pool
from tests import aks_answers
from tests.components.clouds.aks.test_pools import cpu_spec, gpu_spec, run

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


@pytest.mark.parametrize(
    ("count", "runs", "pin", "expected"),
    [
        (0, "1.33.2", "1.34", "1.34"),
        (1, "1.33.2", "1.34", "1.33.2"),
        (9, "1.33.2", "1.34.1", "1.33.2"),
        (1, "1.34.1", "1.34", "1.34"),
        (1, "1.34.1", "1.34.1", "1.34.1"),
    ],
)
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
