"""The order in which AKS's autoscaler tries pools, as the ConfigMap says and an expander reads it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from facts.catalog import of
from packages.rehearsal.tests.providers.aks.account import CLUSTER, CLUSTER_ID, POOL, Microsoft, cluster, gpu_pool
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.node_pool import Ranking
from rehearsal.providers.aks.nodes import scale_set
from rehearsal.providers.cloud import Store
from rehearsal.providers.pool_order import NAME, priorities, rank

PRIORITY = {"expander": "priority"}
CONFIG_MAPS = "/api/v1/configmaps"


def config_map(priorities: str, name: str = NAME, namespace: str = "kube-system") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "data": {"priorities": priorities}}


def ranking(azure: Microsoft) -> Ranking:
    store = Store(azure.directory, "azure-native")
    return Ranking(Subscription(store, azure.fleet, lambda: of("aks"), azure.config))


def ranks(azure: Microsoft) -> dict[str, float | None]:
    return {name: group.rank for name, group in azure.fleet.groups.items()}


def test_scale_sets_are_called_as_aks_calls_them() -> None:
    name = scale_set(CLUSTER_ID, "t4spot")
    assert name.startswith("aks-t4spot-")
    assert name.endswith("-vmss")
    assert len(name.split("-")[2]) == 8
    assert name.split("-")[2].isdigit()
    assert name == scale_set(CLUSTER_ID.lower(), "t4spot")
    assert name != scale_set(f"{CLUSTER_ID}2", "t4spot")


def test_the_highest_priority_that_matches_counts(azure: Microsoft) -> None:
    azure.fleet.objects[CONFIG_MAPS] = [
        config_map("50: [.*]", name="other"),
        config_map("50: [.*]", namespace="default"),
        config_map("10: [.*]\n30: ['^aks-t4spot-[0-9]+-vmss$']\n20: ['^aks-t4-[0-9]+-vmss$', t4spot]\n"),
    ]
    azure.cluster(autoScalerProfile=PRIORITY)
    azure.create(POOL, gpu_pool())
    azure.create(POOL, gpu_pool(agentPoolName="t4"))
    # Smaller comes first.
    assert ranks(azure) == {"system": -10, "t4": -20, "t4spot": -30}
    azure.provider.close()


@pytest.mark.parametrize("profile", [None, {"expander": "least-waste"}])
def test_other_expanders_read_no_config_map(azure: Microsoft, profile: dict[str, str] | None) -> None:
    azure.fleet.objects[CONFIG_MAPS] = [config_map("10: [.*]")]
    azure.cluster(autoScalerProfile=profile)
    assert ranks(azure) == {"system": None}


def test_a_changed_config_map_reorders_the_pools(azure: Microsoft) -> None:
    azure.cluster(autoScalerProfile=PRIORITY)
    azure.create(POOL, gpu_pool())
    azure.provider.close()
    look = ranking(azure).look
    look()
    assert ranks(azure)["t4spot"] is None
    azure.fleet.objects[CONFIG_MAPS] = [config_map("10: [t4spot]")]
    look()
    assert ranks(azure) == {"system": None, "t4spot": -10}
    del azure.fleet.objects[CONFIG_MAPS]
    look()
    assert ranks(azure)["t4spot"] is None


def test_pools_receive_only_changes(azure: Microsoft) -> None:
    azure.fleet.objects[CONFIG_MAPS] = [config_map("10: [.*]")]
    azure.cluster(autoScalerProfile=PRIORITY)
    azure.provider.close()
    look = ranking(azure).look
    look()
    azure.fleet.fail = "apply_group"
    look()


def test_a_pool_that_goes_meanwhile_gets_no_machines(azure: Microsoft) -> None:
    azure.cluster(autoScalerProfile=PRIORITY)
    pool = azure.create(POOL, gpu_pool())
    azure.provider.close()

    class Leaving(list[Any]):
        """Objects that are read while the pool is deleted."""

        def __iter__(self) -> Any:
            azure.delete(POOL, pool)
            return super().__iter__()

    azure.fleet.objects[CONFIG_MAPS] = Leaving([config_map("10: [.*]")])
    ranking(azure).look()
    assert ranks(azure) == {"system": -10}


def test_a_changed_expander_reorders_the_pools(azure: Microsoft) -> None:
    azure.fleet.objects[CONFIG_MAPS] = [config_map("10: [.*]")]
    created = azure.cluster()
    assert ranks(azure) == {"system": None}
    azure.update(CLUSTER, created, cluster(autoScalerProfile=PRIORITY))
    assert ranks(azure) == {"system": -10}
    azure.update(CLUSTER, created, cluster())
    assert ranks(azure) == {"system": None}
    azure.provider.close()


def test_only_a_cluster_with_priorities_is_watched(azure: Microsoft) -> None:
    def watching() -> bool:
        return any(isinstance(thread, Ranking) for thread in threading.enumerate())

    created = azure.cluster()
    assert not watching()
    azure.update(CLUSTER, created, cluster(autoScalerProfile=PRIORITY))
    assert watching()
    azure.restart()  # a new process goes on
    assert watching()
    azure.provider.close()
    assert not watching()


def test_the_watch_outlives_an_error(azure: Microsoft) -> None:
    looks: list[int] = []
    twice = threading.Event()

    class Failing(Ranking):
        def look(self) -> None:
            looks.append(1)
            if len(looks) == 2:
                twice.set()
            raise RuntimeError("the API server is busy")

    watch = Failing(ranking(azure)._cloud)  # pyright: ignore[reportPrivateUsage]
    watch._seconds = 0.01  # pyright: ignore[reportPrivateUsage]
    watch.start()
    assert twice.wait(PATIENCE)
    watch.close()
    assert not watch.is_alive()


def test_the_highest_number_that_matches_ranks_first_and_what_none_matches_has_no_rank() -> None:
    numbers = priorities([config_map("10: ['^eks-.*-']\n50: ['spot']\n30: ['^eks-gpu-1-']")], "kube-system")
    assert not isinstance(numbers, str)
    ranks = [rank(name, numbers) for name in ("eks-gpu-1-spot-x", "eks-gpu-1-x", "eks-gpu-8-x", "other")]
    assert ranks == [-50, -30, -10, None]


@pytest.mark.parametrize("text", ["", "10: ['*']", "ten: [.*]", "10: 5", "- 10", "{", "10: [.*]\n20: ['(']"])
def test_one_invalid_part_spoils_all(text: str) -> None:
    assert "not a map" in str(priorities([config_map(text)], "kube-system"))
    assert "not a map" in str(priorities([{"metadata": config_map("")["metadata"]}], "kube-system"))


def test_it_is_in_the_autoscalers_namespace() -> None:
    assert "does not exist" in str(priorities([config_map("10: [.*]", namespace="default")], "kube-system"))
    assert "does not exist" in str(priorities([], "kube-system"))
