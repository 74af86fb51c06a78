"""Addresses for Services: only workers in their network can answer for them."""

from __future__ import annotations

import time

import pytest

from machines.errors import OperationError
from machines.inputs import PREFLIGHT
from machines.preflight import Candidate, problems
from packages.machines.tests.simulated import FACTS, SimulatedMachine, Site, preflight
from tests.tables import cases


@cases
def test_only_workers_need_the_network_of_addresses_for_services(addresses: str, role: str, refused: bool) -> None:
    facts = {**FACTS, "time": time.time(), "addresses": "192.0.2.10/25 198.51.100.1/24"}
    texts = [each.text for each in problems([Candidate("m", role, 0, facts)], {"loadBalancerRange": addresses}, {})]
    assert len(texts) == refused
    assert all(
        f"holds the loadBalancerRange {addresses} (it has 192.0.2.0/25, 198.51.100.0/24)" in each for each in texts
    )


async def test_a_range_that_comes_later_is_checked_on_the_machines_that_are_in_the_cluster() -> None:
    plane, gpu1 = SimulatedMachine("cp1"), SimulatedMachine("gpu1", {"addresses": "192.0.2.10/24"})
    async with Site(plane, gpu1) as site:
        inputs = preflight(plane, gpu1)
        _, state = await site.resources.create(PREFLIGHT, inputs, site.log)
        plane.phases.clear()
        gpu1.phases.clear()
        later = {**inputs, "loadBalancerRange": "203.0.113.1-203.0.113.9"}
        with pytest.raises(OperationError, match=r"gpu1: has no network that holds the loadBalancerRange"):
            await site.resources.update(PREFLIGHT, state, later, site.log)
        later["loadBalancerRange"] = "192.0.2.20-192.0.2.30"
        assert (await site.resources.update(PREFLIGHT, state, later, site.log))["checked"] == ["cp1", "gpu1"]
        assert [name for name, _ in gpu1.phases] == ["facts", "facts"]
