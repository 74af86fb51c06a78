"""Until when a written version of Kubernetes is supported, and at what price: on given days, never on today's."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from components.outputs import cost
from components.settings import Settings, SettingsError, load
from facts import catalog
from tests.components.settings.test_clouds import account, own_keys

EKS_VERSIONS = sorted(catalog.of("eks").supported)


def eks_on(day: date, version: str | None) -> Settings:
    kubernetes = {} if version is None else {"kubernetes": {"version": version}}
    return load(own_keys("eks", **kubernetes), stack="one", project=account("eks"), day=day)


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_extended_support_of_a_written_version_costs_from_its_first_day(version: str) -> None:
    support = catalog.of("eks").supported[version]
    before = support.extended - timedelta(days=1)
    free = eks_on(before, None)
    for field in ("cost_idle_hourly", "cost_max_hourly"):
        usual = getattr(free, field)
        assert getattr(eks_on(before, version), field) == pytest.approx(usual)
        assert getattr(eks_on(support.extended, version), field) == pytest.approx(usual + 0.5)
        assert getattr(eks_on(support.extended, None), field) == pytest.approx(usual)


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_the_costs_say_when_extended_support_begins(version: str) -> None:
    day = catalog.of("eks").supported[version].extended
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
    extended = catalog.of("eks").supported["1.35"].extended
    before = extended - timedelta(days=1)
    most = eks_on(before, "1.35").cost_max_hourly
    assert most is not None
    keys = own_keys("eks", kubernetes={"version": "1.35"}, budget={"maxHourlyUsd": round(most + 0.1, 2)})
    assert load(keys, stack="one", project=account("eks"), day=before)
    with pytest.raises(SettingsError, match=r"budget\.maxHourlyUsd"):
        load(keys, stack="one", project=account("eks"), day=extended)


@pytest.mark.parametrize("version", EKS_VERSIONS)
def test_a_version_is_refused_from_the_day_after_its_support(version: str) -> None:
    until = catalog.of("eks").supported[version].until
    assert eks_on(until, version).kubernetes.version == version
    with pytest.raises(SettingsError, match=f"ended support for Kubernetes {version} on {until}"):
        eks_on(until + timedelta(days=1), version)
    assert eks_on(until + timedelta(days=1), None)
