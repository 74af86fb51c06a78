"""A ladder of capacities becomes a pool for each capacity_type, on every cloud that has it, in the order written."""

from __future__ import annotations

from typing import Any

import pytest

from components.settings import Settings, SettingsError
from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import CapacityType
from facts.concepts.pool import SHARES_KEY, Pool
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, t4

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/gpus/providers/Microsoft.Compute"
RESERVATIONS = {
    "gke": ("june", "july"),
    "eks": ("cr-0123456789abcdef0", "cr-0123456789abcdef1"),
    "aks": (f"{GROUP}/capacityReservationGroups/june", f"{GROUP}/capacityReservationGroups/july"),
}
LADDER = ("reserved", "spot", "on-demand")


def zones(cloud: str) -> list[str]:
    names: list[str] = one_stack.WORDS[cloud]["zones"]
    return names


def reservation(cloud: str, number: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": RESERVATIONS[cloud][number], "zone": zones(cloud)[number], **more}


def pools(settings: Settings) -> list[Pool]:
    return [pool for pool in settings.gpu_pools if pool.name.startswith("t4")]


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_capacity_types_become_pools_in_the_order_written(cloud: str) -> None:
    declared = pools(load_stack(cloud, gpuPools=t4(capacity=[*LADDER], reservation=reservation(cloud))))
    assert list(dict.fromkeys(pool.scaling.capacity_type for pool in declared)) == list(LADDER)
    assert [pool.scaling.preference for pool in declared] == sorted(
        LADDER.index(pool.scaling.capacity_type) for pool in declared
    )
    assert len({pool.name for pool in declared}) == len(declared)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_only_the_reserved_pool_has_the_reservation_its_zone_and_its_size(cloud: str) -> None:
    written = t4(capacity=[*LADDER], reservation=reservation(cloud, nodes=1), maxNodes=3)
    for pool in pools(load_stack(cloud, gpuPools=written)):
        reserved = pool.scaling.capacity_type == "reserved"
        assert pool.scaling.reservation == (RESERVATIONS[cloud][0] if reserved else None)
        assert pool.scaling.max_nodes == (1 if reserved else 3)
        assert not reserved or pool.nodes.zones == (zones(cloud)[0],)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_each_reservation_is_a_pool_and_all_of_them_come_first(cloud: str) -> None:
    both = [reservation(cloud, number) for number in (0, 1)]
    first, second, *rest = pools(load_stack(cloud, gpuPools=t4(capacity=["reserved", "spot"], reservation=both)))
    assert (first.scaling.reservation, second.scaling.reservation) == RESERVATIONS[cloud]
    assert (first.nodes.zones, second.nodes.zones) == tuple((zone,) for zone in zones(cloud)[:2])
    assert {pool.scaling.capacity_type for pool in rest} == {"spot"}
    assert {first.scaling.preference, second.scaling.preference} == {0}


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
@pytest.mark.parametrize(
    ("one", "other"),
    [("spot-with-fallback", ["spot", "on-demand"]), ("spot", ["spot"]), ("on-demand", ["on-demand"])],
)
def test_a_word_and_its_list_are_the_same_pools(cloud: str, one: str, other: list[str]) -> None:
    word, listed = (load_stack(cloud, gpuPools=t4(capacity=each)) for each in (one, other))
    assert word.gpu_pools == listed.gpu_pools


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_reserved_is_what_on_demand_with_a_reservation_was(cloud: str) -> None:
    before, after = (
        load_stack(cloud, gpuPools=t4(capacity=word, reservation=reservation(cloud)))
        for word in ("on-demand", "reserved")
    )
    assert before.gpu_pools == after.gpu_pools
    assert [pool.scaling.capacity_type for pool in pools(before)] == ["reserved"]


@pytest.mark.parametrize(
    ("cloud", "capacity_type"),
    [
        (cloud, capacity_type)
        for cloud in one_stack.CLOUDS
        for capacity_type in catalog.of(cloud).choices.unsupported_capacity
    ],
)
def test_what_a_cloud_lacks_is_refused_with_its_reason(cloud: str, capacity_type: CapacityType) -> None:
    unsupported_capacity = catalog.of(cloud).choices.unsupported_capacity
    with pytest.raises(SettingsError) as refused:
        load_stack(cloud, gpuPools=t4(capacity=capacity_type))
    (problem,) = refused.value.problems
    assert problem.path == "gpuPools[0].capacity"
    assert unsupported_capacity[capacity_type] in problem.message


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_budget_counts_every_capacity_type(cloud: str) -> None:
    one, two = (
        load_stack(cloud, gpuPools=t4(capacity=capacity)).cost_max_hourly
        for capacity in (["on-demand"], ["spot", "on-demand"])
    )
    assert one is not None
    assert two is not None
    assert two > one


SHARED = {"eks": {"timeSharing": {"clientsPerGpu": 4}}, "gke": {"timeSharing": {"clientsPerGpu": 4}}}
PARTS = {"gpu": "nvidia-a100-80gb", "mig": "1g"}


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
@pytest.mark.parametrize("beside", [True, False])
def test_pods_that_want_a_whole_gpu_stay_off_parts_of_one(cloud: str, beside: bool) -> None:
    parts = {"name": "parts", "gpu": "nvidia-t4", "maxNodes": 1, **SHARED.get(cloud, PARTS)}
    autoscaling = {"autoscaler": "cluster-autoscaler"} if cloud == "eks" else {}
    whole = t4() if beside else t4(gpusPerNode=4)
    settings = load_stack(cloud, autoscaling=autoscaling, gpuPools=[parts, *whole])
    by_shares = {pool.name: [t for t in pool.nodes.taints if t.key == SHARES_KEY] for pool in settings.gpu_pools}
    for pool in settings.gpu_pools:
        expected = [Taint(SHARES_KEY, str(pool.gpus.shares), "NoSchedule")]
        assert by_shares[pool.name] == (expected if beside and pool.gpus.shares > 1 else [])
