"""What is paid for by the hour whether it is used or not is part of what an idle stack costs, and is told."""

from __future__ import annotations

from typing import Any

import pytest

import catalog
from components.outputs import cost
from components.settings import Settings
from components.settings.read import load
from tests import one_stack

VOLUME = {"workloads": {"sharedVolume": {}}}
REGISTRY = {"workloads": {"registry": {}}}


def stack(cloud: str, **changes: Any) -> Settings:
    written = one_stack.config(cloud, **changes)
    account = {key: value for key, value in written.items() if ":" in key and not key.startswith("gpucluster:")}
    settings = {key.removeprefix("gpucluster:"): value for key, value in written.items() if key not in account}
    return load(settings, stack="s", project=str(next(iter(account.values()))))


def told(settings: Settings) -> list[str]:
    return [note for note in cost(settings)["notes"] if note.endswith("used or not")]


@pytest.mark.parametrize(("changes", "key"), [(REGISTRY, "workloads.registry"), (VOLUME, "workloads.sharedVolume")])
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_fee_is_in_the_idle_price_and_in_the_notes(cloud: str, changes: dict[str, Any], key: str) -> None:
    fee = catalog.of(cloud).prices.fees.get(key)
    without, with_it = stack(cloud), stack(cloud, **changes)
    assert without.cost_idle_hourly is not None
    assert with_it.cost_idle_hourly is not None
    assert with_it.cost_idle_hourly - without.cost_idle_hourly == pytest.approx(fee.usd if fee else 0.0)
    assert told(without) == []
    assert [key in note for note in told(with_it)] == ([True] if fee else [])


# A day of the Basic tier is 0.167 by https://learn.microsoft.com/azure/container-registry/container-registry-skus.
def test_a_registry_of_azure_has_a_price_for_every_day() -> None:
    dearer = stack("aks", **REGISTRY).cost_idle_hourly
    plain = stack("aks").cost_idle_hourly
    assert dearer is not None
    assert plain is not None
    assert 24 * (dearer - plain) == pytest.approx(0.167)


def test_a_private_cluster_of_azure_in_a_network_that_is_there_costs_its_endpoint_and_at_most_a_way_out() -> None:
    fees = catalog.of("aks").prices.fees
    public = {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]}
    account = "00000000-0000-0000-0000-000000000000"
    network = f"/subscriptions/{account}/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n"
    private = {"existing": {"network": network, "subnets": ["nodes"]}, "privateEndpoint": True}
    before, after = (stack("aks", network=each) for each in (public, private))
    assert before.cost_idle_hourly is not None
    assert after.cost_idle_hourly is not None
    gateway = catalog.of("aks").prices.nat(1, 2).usd  # in zones
    expected = fees["network.privateEndpoint"].usd + fees["network.existing"].usd - gateway
    assert after.cost_idle_hourly - before.cost_idle_hourly == pytest.approx(expected)
    (note,) = told(after)
    assert "network.privateEndpoint, network.existing" in note
