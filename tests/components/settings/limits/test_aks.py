"""What AKS cannot do is refused before anything is made: which key, why, and what to write instead."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from components.settings import Settings, SettingsError, load
from components.settings.limits import refusals
from facts.catalog.aks.naming import POOL_NAME_LIMIT, dns_prefix, pool_name, scale_set_pattern, zone_numbers
from facts.concepts.kubernetes import Taint
from tests.components.specs import changed, given

SUBSCRIPTION = "12345678-9abc-def0-1234-56789abcdef0"


def config(pool: dict[str, Any] | None = None, rest: dict[str, Any] | None = None) -> dict[str, Any]:
    further = rest or {}
    network = {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}], **further.get("network", {})}
    place = {"cloud": "aks", "region": "eastus", "zones": ["eastus-1"]}
    t4 = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, **(pool or {})}
    return {**place, "gpuPools": [t4], **further, "network": network}


def settings(pool: dict[str, Any] | None = None, rest: dict[str, Any] | None = None) -> Settings:
    return load(config(pool, rest), stack="dev", project=SUBSCRIPTION)


def refused(rest: dict[str, Any], pool: dict[str, Any] | None = None, account: str = SUBSCRIPTION) -> list[str]:
    """The path of each problem."""
    try:
        load(config(pool, rest), stack="dev", project=account)
    except SettingsError as error:
        return [problem.path for problem in error.problems]
    return []


def test_a_problem_of_both_fallback_pools_is_reported_once() -> None:
    shared = {"capacity": "spot-with-fallback", "timeSharing": {"clientsPerGpu": 2}}
    assert refused({}, shared) == ["gpuPools[0].timeSharing"]


def test_accounts_that_azure_does_not_take() -> None:
    assert refused({}, account="my-subscription") == ["azure-native:subscriptionId"]


@pytest.mark.parametrize(
    ("name", "taken"), [("gpu", True), ("a", True), ("a-1", True), ("gpu_1", False), ("-gpu", False), ("gpu-", False)]
)
def test_cluster_names_that_azure_takes(name: str, taken: bool) -> None:
    assert refused({"clusterName": name}) == ([] if taken else ["clusterName"])


@pytest.mark.parametrize("machine", ["Standard_B2s", "Standard_D2s_v5"])
def test_the_smallest_machines_of_a_system_pool(machine: str) -> None:
    fine = settings()
    assert refusals(given(fine, admin_pool=changed(fine.admin_pool, machine_types=(machine,)))) == []


def test_only_the_taint_that_azure_sets_itself_may_bear_its_name() -> None:
    fine = settings({"capacity": "spot"})
    (pool,) = fine.gpu_pools
    spot = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")
    assert spot in pool.nodes.taints
    other = changed(pool, taints=(*pool.nodes.taints, replace(spot, value="regular")))
    (problem,) = refusals(given(fine, gpu_pools=(other,)))
    assert "scalesetpriority=regular" in problem.message


def test_two_pools_that_azure_could_not_tell_apart_are_refused() -> None:
    fine = settings()
    (pool,) = fine.gpu_pools
    # A name that is by chance exactly what the other one is shortened to.
    same = changed(pool, name=pool_name(pool.name), declared_at="gpuPools[1]")
    (problem,) = refusals(given(fine, gpu_pools=(pool, same)))
    assert problem.path == "gpuPools[1].name"
    assert pool.name in problem.message


@pytest.mark.parametrize("name", ["admin", "t4", "a" * POOL_NAME_LIMIT])
def test_names_that_azure_takes_stay_as_they_are(name: str) -> None:
    assert pool_name(name) == name


@pytest.mark.parametrize("name", ["t4-1", "a" * (POOL_NAME_LIMIT + 1), "a100-80gb-8-ondemand", "4t", "1-2", "A"])
def test_shortened_names_are_ones_that_azure_takes_and_never_change(name: str) -> None:
    made = pool_name(name)
    assert len(made) <= POOL_NAME_LIMIT
    assert made.isalnum()
    assert made[0].isalpha()
    assert made == made.lower() == pool_name(name)


def test_names_that_differ_in_hyphens_or_in_their_ends_differ_in_azure() -> None:
    names = ["a-1", "a1", "a--1", "spot-a100-80gb-1", "spot-a100-80gb-2", "spot-a100-80gb-1-x"]
    assert len({pool_name(name) for name in names}) == len(names)


def test_shortening_is_stable_across_versions() -> None:
    # A change here would replace every pool of every stack.
    assert pool_name("t4-1-spot") == "t41spod6zq6"
    assert scale_set_pattern("admin") == "^aks-admin-[0-9]+-vmss$"


@pytest.mark.parametrize("name", ["gpu-dev", "gpu_dev", "a" * 63, "a" * 53 + "-b", "1"])
def test_host_names_begin_with_what_dns_takes(name: str) -> None:
    made = dns_prefix(name)
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9-]{0,52}[A-Za-z0-9])?", made)


def test_zones_become_numbers() -> None:
    assert zone_numbers(("eastus-1", "eastus-3")) == ["1", "3"]


NO_ZONES = {"region": "northcentralus", "zones": "none"}


@pytest.mark.parametrize("stack", [{"zones": "none"}, NO_ZONES, {"region": "northcentralus", "zones": []}])
@pytest.mark.parametrize("availability", ["zonal", "regional"])
def test_a_stack_outside_zones_has_the_same_nodes_and_asks_for_none(stack: dict[str, Any], availability: str) -> None:
    loaded = settings({"zones": "none"}, {**stack, "availability": availability})
    assert loaded.zones == (f"{loaded.region}-0",)
    for pool in (loaded.admin_pool, *loaded.gpu_pools):
        assert zone_numbers(pool.nodes.zones) == []
    assert loaded.admin_pool.scaling.min_nodes == 1
    assert refusals(loaded) == []


def test_a_pool_may_be_outside_of_the_stacks_zones() -> None:
    loaded = settings({"zones": "none"})
    assert zone_numbers(loaded.zones) == ["1"]
    (pool,) = loaded.gpu_pools
    assert zone_numbers(pool.nodes.zones) == []
