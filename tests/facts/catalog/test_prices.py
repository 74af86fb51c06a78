"""What holds of every cloud's prices and carbon data, and list prices that are known from elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import pytest

from facts import catalog
from facts.catalog.carbon import carbon
from facts.catalog.tables import Row, by_key, rows

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).machines.accelerators]
SOURCES = {"gke": "https://cloud.google.com/", "eks": "https://aws.amazon.com/", "aks": "https://"}


@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_prices_are_positive_dated_and_sourced(cloud: str, gpu: str) -> None:
    known = catalog.of(cloud)
    machines = [machine for count in known.machines.gpu_counts(gpu) for machine in known.machines.having(gpu, count)]
    asked = itertools.product(known.regions, machines, (False, True))
    prices = [price for region, each, spot in asked if (price := known.prices.machine(region, each, spot=spot))]
    # Google lists no price of the GPUs that it sells by reservation alone.
    assert prices or cloud == "gke", f"facts/catalog/{cloud}/data/machine_prices.csv has no machine with {gpu}"
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
        machine = known.machines.sized(name)
        assert machine is not None, name
        assert region in known.regions
        assert known.prices.machine(region, machine, spot=False) is not None


@pytest.mark.parametrize(
    ("cloud", "region", "machine", "gpu", "count", "usd"),
    [
        # What the cluster autoscaler's price list says too (its gce_price_info.go; G2 by its parts and 0.56 an L4).
        ("gke", "us-central1", "n1-standard-4", "nvidia-t4", 1, 0.539999),
        ("gke", "us-central1", "n1-standard-8", "nvidia-v100", 2, 5.339998),
        ("gke", "us-central1", "n1-standard-4", "nvidia-p4", 1, 0.789999),
        ("gke", "us-central1", "n1-standard-4", "nvidia-p100", 1, 1.649999),
        ("gke", "us-central1", "a2-highgpu-1g", "nvidia-a100-40gb", 1, 3.673385),
        ("gke", "us-central1", "g2-standard-4", "nvidia-l4", 1, 0.706832),
        # Google's page of accelerator-optimized machines, read by others on 2026-09-17.
        ("gke", "us-central1", "a3-megagpu-8g", "nvidia-h100-mega-80gb", 8, 93.400713),
        ("gke", "us-central1", "a3-ultragpu-8g", "nvidia-h200-141gb", 8, 84.806908),
        ("gke", "us-central1", "e2-standard-4", None, 0, 0.134023),
        ("gke", "us-central1", "e2-medium", None, 0, 0.033506),
        ("gke", "us-central1", "e2-custom-2-10240", None, 0, 0.076501),
        # https://www.factualminds.com/blog/amazon-ec2-on-demand-pricing-instance-families-2026/
        ("eks", "us-east-1", "g5.xlarge", "nvidia-a10g", 1, 1.006),
        # What Azure's retail prices were for others as well (SkyPilot's catalogue; cost worksheets of 2026).
        ("aks", "eastus", "Standard_NC4as_T4_v3", "nvidia-t4", 1, 0.526),
        ("aks", "eastus", "Standard_NC64as_T4_v3", "nvidia-t4", 4, 4.352),
        ("aks", "eastus", "Standard_NC24ads_A100_v4", "nvidia-a100-80gb", 1, 3.673),
        ("aks", "eastus", "Standard_ND96isr_H100_v5", "nvidia-h100-80gb", 8, 98.32),
        ("aks", "eastus", "Standard_NV36ads_A10_v5", "nvidia-a10", 1, 3.2),
        ("aks", "eastus", "Standard_D4s_v5", None, 0, 0.192),
        ("aks", "eastus", "Standard_D4as_v5", None, 0, 0.172),
        ("aks", "eastus", "Standard_B2ms", None, 0, 0.0832),
    ],
)
def test_known_list_prices(cloud: str, region: str, machine: str, gpu: str | None, count: int, usd: float) -> None:
    price = catalog.price_per_hour(cloud, region, machine, gpu, count, spot=False)
    assert price is not None
    assert price.usd == pytest.approx(usd, abs=1e-5)


@pytest.mark.parametrize(
    ("cloud", "region", "machine", "usd"),
    [
        # Everyday machines that no stack file offers, as Amazon's, Azure's and Google's own pages have them.
        ("eks", "us-east-1", "t4g.medium", 0.0336),
        ("eks", "us-east-1", "m8g.large", 0.08976),
        ("eks", "us-east-1", "c7g.xlarge", 0.145),
        ("eks", "us-east-1", "i3.large", 0.156),
        ("eks", "us-east-1", "m7i-flex.large", 0.09576),
        ("eks", "us-east-1", "g6f.large", 0.202),
        ("eks", "us-east-1", "gr6f.4xlarge", 1.066),
        ("aks", "westus2", "Standard_D2s_v3", 0.096),
        ("aks", "westus2", "standard_d8s_v3", 0.384),
        ("aks", "westus2", "Standard_D4ds_v4", 0.226),
        ("aks", "westus2", "Standard_D4ps_v5", 0.154),
        ("aks", "westus2", "Standard_DS3_v2", 0.229),
        ("aks", "westus2", "Standard_B2s_v2", 0.0832),
        ("gke", "us-central1", "c2-standard-4", 0.20872),
        ("gke", "us-central1", "t2d-standard-4", 0.168984),
        ("gke", "us-central1", "c4-standard-16", 0.79068),
        ("gke", "us-central1", "c4a-standard-16", 0.7184),
    ],
)
def test_known_list_prices_of_machines_that_no_stack_file_offers(
    cloud: str, region: str, machine: str, usd: float
) -> None:
    known = catalog.of(cloud)
    sized = known.machines.sized(machine)
    assert sized is not None
    assert known.machines.get(machine) is None
    price, elsewhere = (known.prices.at_most(each, sized, spot=False) for each in (region, None))
    assert price is not None
    assert elsewhere is not None
    assert price.usd == pytest.approx(usd, rel=1e-3)
    assert not price.at_most
    assert elsewhere.at_most
    assert elsewhere.usd > price.usd


@pytest.mark.parametrize(
    ("cloud", "region", "machine", "gpu", "count", "spot"),
    [
        ("gke", "us-east4", "a4-highgpu-8g", "nvidia-b200", 8, True),
        ("gke", "mars-north1", "e2-standard-4", None, 0, False),
        ("gke", "us-central1", "e2-standard-5", None, 0, False),
        ("gke", "us-central1", "e2-standard-4", "nvidia-t4", 1, False),
        ("eks", "us-east-1", "g6.xlarge", "nvidia-l4", 1, True),
        ("eks", "us-east-1", "p5e.48xlarge", "nvidia-h200-141gb", 8, False),
        ("eks", "mars-north-1", "m6i.xlarge", None, 0, False),
        ("eks", "us-east-1", "m6i.xlarge", "nvidia-t4", 1, False),
        ("aks", "eastus", "Standard_NC4as_T4_v3", "nvidia-t4", 1, True),
        ("aks", "mars-north", "Standard_D4s_v5", None, 0, False),
        ("aks", "eastus", "Standard_D5s_v5", None, 0, False),
    ],
)
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


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("cloud", catalog.clouds())
def test_the_limit_for_a_price_that_is_not_known_is_above_it(
    cloud: str, half: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second price of the table is hidden, and is then no more than the limit that takes its place."""
    known = catalog.of(cloud)
    every = by_key(cloud, "machine_prices", "region", "type")
    hidden = {
        place: row
        for number, (place, row) in enumerate(sorted(every.items()))
        if number % 2 == half and place[0] != known.reference_region and row["on_demand"]
    }

    def without_hidden(cloud: str, table: str, *columns: str) -> Mapping[tuple[str, ...], Row]:
        rows = by_key(cloud, table, *columns)
        return {place: row for place, row in rows.items() if table != "machine_prices" or place not in hidden}

    monkeypatch.setattr("facts.catalog.prices.by_key", without_hidden)
    prices = replace(known.prices)
    assert hidden
    left = {type for place, row in every.items() if place not in hidden and row["on_demand"] for type in place[1:]}
    for (region, type), row in hidden.items():
        machine = known.machines.sized(type)
        assert machine is not None
        limit = prices.at_most(region, machine, spot=False)
        assert (limit is None) == (type not in left), (region, type)
        if limit is not None:
            assert limit.at_most
            assert limit.usd >= float(row["on_demand"]), (region, type)


# Nothing limits these.
WITHOUT_LIMIT = {"gke": {"a3-edgegpu-8g", "f1-micro", "g1-small", "tpu7x-standard-4t"}, "eks": {"p5e.48xlarge"}}


@pytest.mark.parametrize("spot", [False, True])
@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_machine_has_a_price_or_a_limit_in_every_region(cloud: str, spot: bool) -> None:
    known = catalog.of(cloud)
    for region in known.regions:
        for type in known.machines.types:
            machine = known.machines.get(type)
            assert machine is not None
            node = known.prices.node(region, machine, 100, spot=spot)
            assert (node is None) == (type in WITHOUT_LIMIT.get(cloud, ())), (region, type)
            exact, disk = known.prices.machine(region, machine, spot=spot), known.prices.disk(region, 100)
            if node is not None:
                assert node.at_most == (exact is None or disk is None)
                assert exact is None or node.usd > exact.usd


@pytest.mark.parametrize(("cloud", "region"), [("eks", "us-gov-west-1"), ("aks", "chinaeast2"), ("gke", "mars-north1")])
def test_prices_say_nothing_of_regions_of_other_accounts(cloud: str, region: str) -> None:
    known = catalog.of(cloud)
    machine = known.machines.get(known.machines.default_cpu)
    assert machine is not None
    assert known.prices.node(region, machine, 100, spot=False) is None
