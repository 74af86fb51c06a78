"""What an idle stack costs, old versions of Kubernetes included, and what a stack can cost at most."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from components.outputs import cost
from components.settings import Settings, SettingsError, load
from facts import catalog
from tests import one_stack
from tests.components.settings.test_clouds import account, load_stack, own_keys, t4

VOLUME = {"workloads": {"sharedVolume": {}}}
REGISTRY = {"workloads": {"registry": {}}}


def notes_of(settings: Settings) -> list[str]:
    return [note for note in cost(settings)["notes"] if note.endswith("used or not")]


def idle(cloud: str, **changes: Any) -> float:
    usd = load_stack(cloud, **changes).cost_idle_hourly
    assert usd is not None
    return usd


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_fee_is_in_the_idle_price_and_in_the_notes(cloud: str) -> None:
    fee = catalog.of(cloud).prices.fees.get("workloads.registry")
    assert idle(cloud, **REGISTRY) - idle(cloud) == pytest.approx(fee.usd if fee else 0.0)
    assert notes_of(load_stack(cloud)) == []
    assert ["workloads.registry" in note for note in notes_of(load_stack(cloud, **REGISTRY))] == ([True] if fee else [])


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_volume_that_is_paid_for_by_its_size_is_part_of_what_an_idle_stack_costs(cloud: str) -> None:
    known = catalog.of(cloud)
    if known.prices.volume is None or known.choices.volume_gib is None:
        assert idle(cloud, **VOLUME) == idle(cloud)
        assert [note for note in cost(load_stack(cloud, **VOLUME))["notes"] if "billed by its content" in note]
        return
    least = known.choices.volume_gib[0]
    twice = {"workloads": {"sharedVolume": {"sizeGib": 2 * least}}}
    larger = idle(cloud, **twice) - idle(cloud, **VOLUME)
    assert larger >= 0.999 * least * known.prices.volume.usd
    fee = known.prices.fees.get("workloads.sharedVolume")
    assert idle(cloud, **VOLUME) - idle(cloud) == pytest.approx(larger + (fee.usd if fee else 0.0))
    (note,) = notes_of(load_stack(cloud, **VOLUME))
    assert "workloads.sharedVolume" in note


# 0.000274 an hour for a GiB in Oregon: https://cloud.google.com/filestore/pricing
def test_the_smallest_volume_of_google_costs_more_than_all_else_of_an_idle_cluster() -> None:
    fees = {"region": "us-central1", "zones": ["us-central1-a"]}
    assert idle("gke", **fees, **VOLUME) - idle("gke", **fees) == pytest.approx(1024 * 0.000274)


# A day of the Basic tier is 0.167 by https://learn.microsoft.com/azure/container-registry/container-registry-skus.
def test_a_registry_of_azure_has_a_price_for_every_day() -> None:
    assert 24 * (idle("aks", **REGISTRY) - idle("aks")) == pytest.approx(0.167)


def test_a_private_cluster_of_azure_in_a_network_that_is_there_costs_its_endpoint_and_at_most_a_way_out() -> None:
    fees = catalog.of("aks").prices.fees
    public = {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]}
    account = "00000000-0000-0000-0000-000000000000"
    network = f"/subscriptions/{account}/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n"
    private = {"existing": {"network": network, "subnets": ["nodes"]}, "privateEndpoint": True}
    gateway = catalog.of("aks").prices.nat(1, 2).usd  # in zones
    expected = fees["network.privateEndpoint"].usd + fees["network.existing"].usd - gateway
    assert idle("aks", network=private) - idle("aks", network=public) == pytest.approx(expected)
    (note,) = notes_of(load_stack("aks", network=private))
    assert "network.privateEndpoint, network.existing" in note


EKS_VERSIONS = sorted(catalog.of("eks").choices.supported)


def eks_on(day: date, version: str | None) -> Settings:
    kubernetes = {} if version is None else {"kubernetes": {"version": version}}
    return load(own_keys("eks", **kubernetes), stack="one", project=account("eks"), day=day)


def test_a_patch_version_is_supported_as_long_as_its_minor_version() -> None:
    known = catalog.of("gke")
    for minor, support in known.choices.supported.items():
        assert known.choices.support(f"{minor}.1-gke.100") is support


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_extended_support_of_a_written_version_costs_from_its_first_day(version: str) -> None:
    support = catalog.of("eks").choices.supported[version]
    before = support.extended - timedelta(days=1)
    free = eks_on(before, None)
    for field in ("cost_idle_hourly", "cost_max_hourly"):
        usual = getattr(free, field)
        assert getattr(eks_on(before, version), field) == pytest.approx(usual)
        assert getattr(eks_on(support.extended, version), field) == pytest.approx(usual + 0.5)
        assert getattr(eks_on(support.extended, None), field) == pytest.approx(usual)


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_the_costs_say_when_extended_support_begins(version: str) -> None:
    day = catalog.of("eks").choices.supported[version].extended
    named = [str(day) in note and "0.60" in note for note in cost(eks_on(day, version))["notes"]]
    assert sum(named) == 1
    assert str(day) not in str(cost(eks_on(day, None))["notes"])


def test_long_term_support_of_aks_costs_from_the_first_day() -> None:
    usual, extended = (
        load(own_keys("aks", kubernetes={"channel": channel}), stack="one", project=account("aks"))
        for channel in ("regular", "extended")
    )
    assert usual.cost_idle_hourly is not None
    assert extended.cost_idle_hourly == pytest.approx(usual.cost_idle_hourly + 0.5)
    assert [note for note in cost(extended)["notes"] if "0.50" in note and "kubernetes.channel" in note]


def test_extended_support_of_gke_costs_half_a_dollar_more() -> None:
    day, keys = date(2026, 11, 25), {"version": "1.33", "channel": "extended"}
    standard, extended = (
        load(own_keys("gke", kubernetes=kubernetes), stack="one", project=account("gke"), day=day)
        for kubernetes in ({"channel": "extended"}, keys)
    )
    assert standard.cost_idle_hourly is not None
    assert extended.cost_idle_hourly == pytest.approx(standard.cost_idle_hourly + 0.5)


def test_extended_support_counts_in_the_budget() -> None:
    extended = catalog.of("eks").choices.supported["1.35"].extended
    before = extended - timedelta(days=1)
    most = eks_on(before, "1.35").cost_max_hourly
    assert most is not None
    keys = own_keys("eks", kubernetes={"version": "1.35"}, budget={"maxHourlyUsd": round(most + 0.1, 2)})
    assert load(keys, stack="one", project=account("eks"), day=before)
    with pytest.raises(SettingsError, match=r"budget\.maxHourlyUsd"):
        load(keys, stack="one", project=account("eks"), day=extended)


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_a_version_is_refused_from_the_day_after_its_support(version: str) -> None:
    until = catalog.of("eks").choices.supported[version].until
    assert eks_on(until, version).kubernetes.version == version
    with pytest.raises(SettingsError, match=f"ended support for Kubernetes {version} on {until}"):
        eks_on(until + timedelta(days=1), version)
    assert eks_on(until + timedelta(days=1), None)


def test_a_ceiling_counts_the_dearest_machine_that_a_pool_may_consist_of() -> None:
    def most(*types: str) -> float:
        pools = t4(capacity="spot", machineType=[*types])
        loaded = load_stack("eks", zones=["us-west-2a"], gpuPools=pools, cpuPools=[])
        assert loaded.cost_max_hourly is not None
        assert loaded.cost_idle_hourly is not None
        return loaded.cost_max_hourly - loaded.cost_idle_hourly

    assert most("g4dn.xlarge") < most("g4dn.xlarge", "g4dn.2xlarge") == most("g4dn.2xlarge")
