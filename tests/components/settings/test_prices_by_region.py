"""In every region of every cloud a stack's budget can be checked, with limits in place of prices that are not known."""

from __future__ import annotations

from typing import Any

import pytest

from components.outputs import cost
from components.settings import Settings, SettingsError, load
from facts import catalog
from facts.catalog import Machine
from tests.components.settings.test_clouds import account

# Region → one of its zones, and the smallest machine of a GPU that is there.
PLACES = [
    pytest.param(cloud, zone, machine, id=f"{cloud}-{region}")
    for cloud in catalog.clouds()
    for region, zones in catalog.of(cloud).regions.items()
    for machine, zone in [
        (machine, zone)
        for gpu in catalog.of(cloud).machines.accelerators
        for machine in catalog.of(cloud).machines.having(gpu, catalog.of(cloud).machines.gpu_counts(gpu)[0])[:1]
        for zone in zones
        if zone in (catalog.of(cloud).machine_zones(machine) or ())
    ][:1]
]


def stack(cloud: str, zone: str, machine: Machine, **keys: Any) -> Settings:
    """A small stack with a GPU pool and a CPU pool.

    Raises:
        SettingsError: as ``load`` does.
    """
    known = catalog.of(cloud)
    region = next(region for region, zones in known.regions.items() if zone in zones)
    # A cluster of AWS needs a second zone, and some zones have no control plane.
    project = region if known.account.key.endswith(":region") else account(cloud)
    pool = {"capacity": "spot" if machine.provisioning != "any" else "on-demand", **keys.pop("pool", {})}
    written = {
        "cloud": cloud,
        "region": region,
        "zones": [zone],
        "gpuPools": [{"name": "gpu", "gpu": machine.gpu, "gpusPerNode": machine.gpus, "maxNodes": 1, **pool}],
        "cpuPools": [{"name": "cpu", "maxNodes": 1}],
        "network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
        "budget": {"maxHourlyUsd": 5000},
        **keys,
    }
    return load(written, stack="one", project=project)


@pytest.mark.parametrize(("cloud", "zone", "machine"), PLACES)
def test_a_budget_is_checked_in_every_region(cloud: str, zone: str, machine: Machine) -> None:
    known = catalog.of(cloud)
    settings = stack(cloud, zone, machine)
    most, outputs = settings.cost_max_hourly, cost(settings)
    assert most is not None
    assert settings.unpriced == ()
    # What is known exactly everywhere is less than the limit.
    assert outputs["idleHourlyUsd"] > known.prices.control_plane.usd
    names = {pool.name for pool in settings.priced_at_most}
    assert outputs["maxAtMost"] == bool(names)
    assert outputs["idleAtMost"] == ("admin" in names)
    assert [note for note in outputs["notes"] if note.startswith("at most")] == [
        f"at most, because no price of a spot node or in {settings.region} is known: "
        + ", ".join(pool.name for pool in settings.priced_at_most)
    ] * bool(names)
    with pytest.raises(SettingsError) as refused:
        stack(cloud, zone, machine, budget={"maxHourlyUsd": most * 0.99})
    (problem,) = refused.value.problems
    assert f"the stack costs {'at most ' if names else ''}{most:.2f} USD" in problem.message
    assert stack(cloud, zone, machine, budget={"maxHourlyUsd": most * 1.001})
