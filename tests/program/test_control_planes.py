"""The real program with three control planes: what each gets, in which order, and what one has none of."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.recorder import Recording, Registration
from tests.stacks import CONTROL_PLANES, OWN_MACHINES, run_program, run_with

FIRST = "gpucluster-machines:index:ControlPlane"
ADDITIONAL = "gpucluster-machines:index:AdditionalControlPlane"
WORKER = "gpucluster-machines:index:Worker"
PLANES = ["10.99.0.11", "10.99.0.12", "10.99.0.13"]
EXAMPLE: dict[str, Any] = yaml.safe_load(CONTROL_PLANES.read_text())["config"]


@pytest.fixture(scope="module")
def program() -> Recording:
    return run_program(CONTROL_PLANES)


def planes(program: Recording) -> list[Registration]:
    """The first, then the others by address: they do not wait for one another, so a recording has them in any order."""
    others = sorted(program.of_type(ADDITIONAL), key=lambda each: each.inputs["machine"]["address"])
    return [program.only(FIRST), *others]


def test_the_first_machine_makes_the_cluster_and_the_others_join_it(program: Recording) -> None:
    assert [each.inputs["machine"]["address"] for each in planes(program)] == PLANES
    first, *others = planes(program)
    for each in others:
        assert first.urn in program.before(each)
        assert each.inputs["controlPlane"]["machine"] == first.inputs["machine"]
    for worker in program.of_type(WORKER):
        assert {each.urn for each in planes(program)} <= program.before(worker)


def test_all_control_planes_are_alike(program: Recording) -> None:
    first, *others = planes(program)
    shared = ("files", "encryptSecrets", "schedulable", "labels", "taints", "software", "firewall", "virtualAddress")
    for each in others:
        assert {key: each.inputs[key] for key in shared} == {key: first.inputs[key] for key in shared}
    assert first.inputs["virtualAddress"] == "10.99.0.10"
    assert first.inputs["firewall"]["controlPlanes"] == PLANES
    (worker,) = program.of_type(WORKER)
    assert "controlPlanes" not in worker.inputs["firewall"], "etcd's ports are open between its members alone"


def test_objects_are_declared_after_all_control_planes(program: Recording) -> None:
    (provider,) = program.of_type("pulumi:providers:kubernetes")
    assert {each.urn for each in planes(program)} <= program.before(provider)


def test_the_plugin_knows_where_else_the_cluster_is_administered(program: Recording) -> None:
    provider = program.only("pulumi:providers:gpucluster-machines")
    known = provider.inputs["controlPlanes"]
    known = json.loads(known) if isinstance(known, str) else known
    assert [each["address"] for each in known] == PLANES


def test_one_control_plane_with_a_shared_address_can_become_three(program: Recording) -> None:
    pool = EXAMPLE["gpucluster:adminPool"]
    one = run_with({**EXAMPLE, "gpucluster:adminPool": {**pool, "machines": pool["machines"][:1]}}, "lab-ha")
    before, after = one.only(FIRST).inputs, program.only(FIRST).inputs
    assert {key for key in after if before.get(key) != after[key]} == {"firewall"}
    assert one.of_type(ADDITIONAL) == []


def test_without_a_shared_address_nothing_of_it_is_declared() -> None:
    program = run_program(OWN_MACHINES)
    assert "virtualAddress" not in program.only(FIRST).inputs
    assert "controlPlanes" not in program.only("pulumi:providers:gpucluster-machines").inputs
    assert "controlPlanes" not in program.only(FIRST).inputs["firewall"]
