"""What a stack can cost at most: the dearest machine of a pool, in a region whose prices may be unknown."""

from __future__ import annotations

import pytest

from components.settings.costs import dearest_price
from facts import catalog
from tests.components.settings.test_clouds import load_stack, t4


def test_a_ceiling_counts_the_dearest_machine_that_a_pool_may_consist_of() -> None:
    def most(*types: str) -> float:
        pools = t4(capacity="spot", machineType=[*types])
        loaded = load_stack("eks", zones=["us-west-2a"], gpuPools=pools, cpuPools=[])
        assert loaded.cost_max_hourly is not None
        assert loaded.cost_idle_hourly is not None
        return loaded.cost_max_hourly - loaded.cost_idle_hourly

    assert most("g4dn.xlarge") < most("g4dn.xlarge", "g4dn.2xlarge") == most("g4dn.2xlarge")


def test_a_price_that_is_not_known_in_the_region_counts_at_most() -> None:
    known = catalog.of("eks")
    types = [machine for name in ("g4dn.xlarge", "g4dn.8xlarge") if (machine := known.machines.get(name))]
    assert known.prices.machine("eu-west-1", types[1], spot=False) is None
    there = dearest_price(known, known.reference_region, types, 100, spot=True)
    here = dearest_price(known, "eu-west-1", types, 100, spot=True)
    assert there is not None
    assert here is not None
    # Of each type that both regions list, the price here is no more than that ratio allows.
    ratio = known.prices.most_above("eu-west-1", known.reference_region)
    for name in known.machines.types:
        machine = known.machines.get(name)
        assert machine is not None
        one, other = (known.prices.machine(place, machine, spot=False) for place in ("eu-west-1", "us-east-1"))
        if one is not None and other is not None:
            assert one.usd <= other.usd * ratio * 1.0001
    assert here == pytest.approx(there * ratio)
    assert dearest_price(known, "eu-north-1", types, 100, spot=True) is None
