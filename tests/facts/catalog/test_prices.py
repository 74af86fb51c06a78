"""What holds of every cloud's prices and carbon data, and list prices that are known from elsewhere."""

from __future__ import annotations

import itertools
from datetime import date

import pytest

from facts import catalog
from facts.catalog.carbon import carbon
from facts.catalog.tables import by_key, rows
from tests.tables import cases

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).accelerators]
SOURCES = {"gke": "https://cloud.google.com/", "eks": "https://aws.amazon.com/", "aks": "https://"}


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_prices_are_positive_dated_and_sourced(cloud: str, gpu: str) -> None:
    known = catalog.of(cloud)
    machines = [machine for count in known.machines.gpu_counts(gpu) for machine in known.machines.having(gpu, count)]
    asked = itertools.product(known.regions, machines, (False, True))
    prices = [price for region, each, spot in asked if (price := known.prices.machine(region, each, spot=spot))]
    # Google lists no price of the GPUs that it sells by reservation alone.
    assert prices or cloud == "gke"
    for price in prices:
        assert price.usd > 0
        assert date(2025, 1, 1) < date.fromisoformat(price.dated) < date(2027, 1, 1)
        assert SOURCES[cloud] in price.source


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_price_tables_name_only_known_regions_and_machines_and_each_once(cloud: str) -> None:
    known = catalog.of(cloud)
    table = by_key(cloud, "machine_prices", "region", "type")
    assert len(table) == len(rows(cloud, "machine_prices")) > 0
    for region, name in table:
        machine = known.machines.get(name)
        assert machine is not None, name
        assert region in known.regions
        assert known.prices.machine(region, machine, spot=False) is not None


@cases
def test_known_list_prices(cloud: str, region: str, machine: str, gpu: str | None, count: int, usd: float) -> None:
    price = catalog.price_per_hour(cloud, region, machine, gpu, count, spot=False)
    assert price is not None
    assert price.usd == pytest.approx(usd, abs=1e-5)


@cases
def test_prices_may_be_unknown(cloud: str, region: str, machine: str, gpu: str | None, count: int, spot: bool) -> None:
    assert catalog.price_per_hour(cloud, region, machine, gpu, count, spot=spot) is None


@pytest.mark.parametrize(
    ("cloud", "region", "gib"), [("eks", "mars-north-1", 100), ("aks", "mars-north", 100), ("aks", "eastus", 1025)]
)
def test_unknown_prices_of_disks_are_none(cloud: str, region: str, gib: int) -> None:
    assert catalog.of(cloud).prices.disk(region, gib) is None


@pytest.mark.parametrize(("cloud", "gpu"), [(cloud, gpu) for cloud, gpu in GPUS if cloud != "eks"])
def test_more_gpus_cost_more_and_spot_costs_less(cloud: str, gpu: str) -> None:
    """On EKS a family's machines are compared, and spot has no list price: ``test_eks.py``."""
    known = catalog.of(cloud)
    for region in known.regions if cloud == "aks" else ("us-central1",):
        cheapest = []
        for count in known.machines.gpu_counts(gpu):
            prices = []
            for machine in catalog.of(cloud).machines.having(gpu, count)[: 1 if cloud == "gke" else None]:
                full, spot = (known.prices.machine(region, machine, spot=spot) for spot in (False, True))
                prices += [full.usd] if full else []
                assert full is None or spot is None or spot.usd < full.usd
            cheapest += [min(prices)] if prices else []
        assert cheapest == sorted(cheapest)


def test_most_of_googles_regions_are_known_with_year_and_source() -> None:
    figures = [carbon("gke", region) for region in catalog.of("gke").regions]
    known = [one for one in figures if one is not None]
    assert len(known) > len(figures) / 2
    assert all(0 <= one.free_percent <= 100 and one.grid_grams_per_kwh >= 0 for one in known)
    assert {(one.year, one.source.partition("/Google")[0]) for one in known} == {(2025, "https://github.com")}


def test_what_is_not_published_is_none() -> None:
    assert carbon("gke", "mars-west1") is None
    assert carbon("eks", "us-east-1") is None
