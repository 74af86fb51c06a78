"""What is paid for by the hour whether it is used or not is part of what an idle stack costs, and is reported."""

from __future__ import annotations

from typing import Any

import pytest

from components.outputs import cost
from components.settings import Settings
from components.settings.read import load
from facts import catalog
from tests import one_stack

VOLUME = {"workloads": {"sharedVolume": {}}}
REGISTRY = {"workloads": {"registry": {}}}


def stack(cloud: str, **changes: Any) -> Settings:
    written = one_stack.config(cloud, **changes)
    account = {key: value for key, value in written.items() if ":" in key and not key.startswith("gpucluster:")}
    settings = {key.removeprefix("gpucluster:"): value for key, value in written.items() if key not in account}
    return load(settings, stack="s", project=str(next(iter(account.values()))))


def notes_of(settings: Settings) -> list[str]:
    return [note for note in cost(settings)["notes"] if note.endswith("used or not")]


def idle(cloud: str, **changes: Any) -> float:
    usd = stack(cloud, **changes).cost_idle_hourly
    assert usd is not None
    return usd


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_fee_is_in_the_idle_price_and_in_the_notes(cloud: str) -> None:
    fee = catalog.of(cloud).prices.fees.get("workloads.registry")
    assert idle(cloud, **REGISTRY) - idle(cloud) == pytest.approx(fee.usd if fee else 0.0)
    assert notes_of(stack(cloud)) == []
    assert ["workloads.registry" in note for note in notes_of(stack(cloud, **REGISTRY))] == ([True] if fee else [])


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_volume_that_is_paid_for_by_its_size_is_part_of_what_an_idle_stack_costs(cloud: str) -> None:
    known = catalog.of(cloud)
    if known.prices.volume is None or known.volume_gib is None:
        assert idle(cloud, **VOLUME) == idle(cloud)
        assert [note for note in cost(stack(cloud, **VOLUME))["notes"] if "billed by its content" in note]
        return
    least = known.volume_gib[0]
    twice = {"workloads": {"sharedVolume": {"sizeGib": 2 * least}}}
    larger = idle(cloud, **twice) - idle(cloud, **VOLUME)
    assert larger >= 0.999 * least * known.prices.volume.usd
    fee = known.prices.fees.get("workloads.sharedVolume")
    assert idle(cloud, **VOLUME) - idle(cloud) == pytest.approx(larger + (fee.usd if fee else 0.0))
    (note,) = notes_of(stack(cloud, **VOLUME))
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
    (note,) = notes_of(stack("aks", network=private))
    assert "network.privateEndpoint, network.existing" in note
