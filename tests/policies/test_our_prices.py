"""The gate counts what a stack file says that nodes cost (``hourlyUsd``), on every cloud and with every autoscaler."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.outputs import cost
from facts import catalog
from facts.concepts.declared import Stack
from facts.concepts.parts import Scaling, reserved_beyond, reserved_once
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read_stack
from policies.readers.resource import Declared
from policies.rules.ceilings import hourly_cost, idle_cost
from tests import declared, one_stack
from tests.components.settings.test_clouds import load_stack
from tests.stacks import STACK_FILES, run_program, run_with, stack_name

USD = {"admin": 0.5, "cpu": 0.25, "gpu": 4.0}


def gated(cloud: str, autoscaler: str, **keys: Any) -> Stack:
    """What the gate reads in a stack with a pool of each role."""
    changes: dict[str, Any] = {
        "autoscaling": {"autoscaler": autoscaler},
        "adminPool": {"hourlyUsd": USD["admin"]},
        "cpuPools": [{"name": "cpu", "maxNodes": 3, "hourlyUsd": USD["cpu"]}],
        "gpuPools": [{"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2, "hourlyUsd": USD["gpu"]}],
        "workloads": {},
        **keys,
    }
    return declared.stack(run_with(one_stack.config(cloud, **changes), "one"))


def pool_of(labels: Any) -> str:
    return str(labels[POOL_LABEL]).partition("-")[0]


AUTOSCALERS = [(cloud, each) for cloud in one_stack.CLOUDS for each in catalog.of(cloud).choices.autoscalers]


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_every_pool_has_the_stack_files_price(cloud: str, autoscaler: str) -> None:
    prices = {
        (pool_of(group.nodes.labels), group.nodes.dearest_hourly_usd, group.nodes.price_at_most)
        for group in gated(cloud, autoscaler).groups
    }
    assert prices == {(pool, usd, False) for pool, usd in USD.items()}


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_without_a_price_of_its_own_a_pool_has_none_of_those(cloud: str, autoscaler: str) -> None:
    bare = gated(
        cloud, autoscaler, adminPool={}, cpuPools=[], gpuPools=[{"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2}]
    )
    assert bare.groups
    assert not {group.nodes.dearest_hourly_usd for group in bare.groups} & {*USD.values()}


@pytest.mark.parametrize(
    ("written", "machine", "usd"),
    [
        (0.001, "p5.48xlarge", None),
        (0.0, "p5.48xlarge", None),
        (-1000.0, "p5.48xlarge", None),
        (1000.0, "p5.48xlarge", 1000.0),
        (0.5, "x9z.metal", None),
        (0.01, "p6e-gb300.36xlarge", None),
        (0.01, "p5e.48xlarge", None),
        (900.0, "p5e.48xlarge", 900.0),
        (-1.0, "x9z.metal", None),
    ],
)
def test_a_price_of_the_program_lowers_no_list_price(written: float, machine: str, usd: float | None) -> None:
    """Any program can say that it is a component of this project."""
    size = {"minSize": 0, "maxSize": 20, "desiredSize": 0}
    inputs = {"instanceTypes": [machine], "scalingConfig": size, "labels": {POOL_LABEL: "p"}}
    group = Declared("aws:eks/nodeGroup:NodeGroup", "g", "urn:g", inputs, provider={"region": "us-east-1"})
    pool = Declared("gpucluster:index:GpuNodePool", "x", "urn:x", {"pool": "p", "hourlyUsd": written})
    (listed,), (priced,) = (read_stack(linked(each)).groups for each in ([group], [group, pool]))
    assert priced.nodes.dearest_hourly_usd == (listed.nodes.dearest_hourly_usd if usd is None else usd)


@pytest.mark.parametrize(("written", "counted"), [(0.01, False), (90.0, True)])
def test_in_place_of_an_upper_limit_counts_a_price_that_the_machine_has(written: float, counted: bool) -> None:
    """Of a region that is not known; Amazon's lowest price of these eight H100 is above 20 dollars."""
    size = {"minSize": 0, "maxSize": 20, "desiredSize": 0}
    inputs = {"instanceTypes": ["p5.48xlarge"], "scalingConfig": size, "labels": {POOL_LABEL: "p"}}
    group = Declared("aws:eks/nodeGroup:NodeGroup", "g", "urn:g", inputs)
    pool = Declared("gpucluster:index:GpuNodePool", "x", "urn:x", {"pool": "p", "hourlyUsd": written})
    (priced,) = read_stack(linked([group, pool])).groups
    assert (priced.nodes.dearest_hourly_usd == written) is counted
    assert priced.nodes.price_at_most is not counted


@pytest.mark.parametrize(("cloud", "autoscaler"), AUTOSCALERS)
def test_ceilings_count_it(cloud: str, autoscaler: str) -> None:
    stack = gated(cloud, autoscaler)
    initial = [group.initial_nodes for group in stack.groups if pool_of(group.nodes.labels) == "admin"]
    admins = sum(nodes for nodes in initial if nodes is not UNKNOWN)
    (violation,) = idle_cost(stack, max_idle_usd=0)
    assert f"${admins * 0.5:.2f} an hour" in violation.message
    (violation,) = hourly_cost(stack, max_hourly_usd=0)
    assert "gpu" in violation.message
    assert "at most" not in violation.message


@pytest.mark.parametrize("file", [*STACK_FILES, *map(one_stack.variant, one_stack.VARIANTS)], ids=stack_name)
def test_ceilings_can_judge_every_stack_of_the_project(file: Path) -> None:
    stack = declared.stack(run_program(file))
    assert [*hourly_cost(stack, max_hourly_usd=10**6), *idle_cost(stack, max_idle_usd=10**6)] == []


GROUP = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g"
    "/providers/Microsoft.Compute/capacityReservationGroups/h"
)
RESERVATIONS = {"gke": "june", "eks": "cr-0123456789abcdef1", "aks": GROUP}


def reserving(cloud: str, **reservation: Any) -> dict[str, Any]:
    """Keys of a stack with a pool of two reserved machines of at most three, each at 10 an hour."""
    zone = one_stack.WORDS[cloud]["zones"][0]
    named = {"name": RESERVATIONS[cloud], "zone": zone, **reservation}
    pool = {"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 3, "capacity": "reserved", "reservation": named}
    return {"gpuPools": [{**pool, "hourlyUsd": 10}], "cpuPools": []}


@pytest.mark.parametrize(("reservation", "machines"), [({"nodes": 2}, 2), ({}, 3)])
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_reserved_machines_are_idle_cost_to_settings_and_gate(
    cloud: str, reservation: dict[str, Any], machines: int
) -> None:
    keys = reserving(cloud, **reservation)
    settings = load_stack(cloud, **keys)
    free = load_stack(cloud, **{**keys, "gpuPools": [{"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 3}]})
    assert settings.cost_idle_hourly is not None
    assert free.cost_idle_hourly is not None
    assert settings.cost_idle_hourly - free.cost_idle_hourly == pytest.approx(machines * 10, abs=0.01)
    assert [note for note in cost(settings)["notes"] if f"for reserved machines ({machines} machines of gpu-1)" in note]
    stack = declared.stack(run_with(one_stack.config(cloud, **keys), "one"))
    (violation,) = idle_cost(stack, max_idle_usd=machines * 10 - 1)
    assert re.search(rf"highest: gpu[-\w]* \${machines * 10}\.00,", violation.message)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_reserved_machines_beyond_a_pools_maximum_are_in_the_maximum_of_settings_and_gate(cloud: str) -> None:
    keys = reserving(cloud, nodes=5)
    settings, within = (load_stack(cloud, **each) for each in (keys, reserving(cloud)))
    assert settings.cost_max_hourly is not None
    assert within.cost_max_hourly is not None
    assert settings.cost_max_hourly - within.cost_max_hourly == pytest.approx(2 * 10, abs=0.01)
    (violation,) = hourly_cost(declared.stack(run_with(one_stack.config(cloud, **keys), "one")), max_hourly_usd=49)
    assert re.search(r"highest: gpu[-\w]* \$50\.00,", violation.message)


def test_reserved_machines_beyond_the_maximum_are_billed_at_the_maximum_too() -> None:
    few = Scaling(max_nodes=2, reservation="june", reserved_nodes=50)
    other, own = replace(few, max_nodes=3), Scaling(max_nodes=4)
    unknown = replace(few, max_nodes=UNKNOWN)
    assert reserved_beyond([own, few, other, replace(few, reservation="july"), own]) == [0, 45, 0, 48, 0]
    assert reserved_beyond([few, unknown]) == [0, 0]
    assert reserved_beyond([replace(few, max_nodes=50), own]) == [0, 0]


def test_a_reservation_of_several_pools_is_billed_once() -> None:
    one = Scaling(max_nodes=4, reservation="june", reserved_nodes=3)
    other, own = Scaling(max_nodes=4, reservation="june", reserved_nodes=4), Scaling(max_nodes=4)
    assert reserved_once([own, one, other, replace(one, reservation="july"), own]) == [0, 4, 0, 3, 0]
