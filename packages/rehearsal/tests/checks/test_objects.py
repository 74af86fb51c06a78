"""The checks of the objects that a program declares: every stack passes, and each part of them fails by itself."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.checks.test_groups import group_of
from packages.rehearsal.tests.tables import cases
from rehearsal.checks import object_checks
from rehearsal.scenario.check import offer_of
from tests.stacks import ROOT, STACK_FILES, run_program, settings_of, stack_name

DEV = ROOT / "Pulumi.dev.yaml"
Named = dict[str, dict[str, Any]]


def declared(file: Path) -> Named:
    """The name of each resource in the program → the object."""
    return {each.name: copy.deepcopy(each.inputs) for each in run_program(file).resources if "kind" in each.inputs}


def failed(file: Path, objects: Named) -> dict[str, str]:
    """The checks that fail → their details."""
    settings = settings_of(file)
    groups = [group_of(settings.admin_pool, 0), *(group_of(pool, 1) for pool in settings.gpu_pools)]
    checks = object_checks(list(objects.values()), groups, offer_of(settings))
    assert len({each.id for each in checks}) == len(checks) == 5
    return {each.id: each.detail for each in checks if not each.passed}


@pytest.mark.parametrize("file", STACK_FILES, ids=stack_name)
def test_what_every_stack_declares_passes(file: Path) -> None:
    assert failed(file, declared(file)) == {}


@cases
def test_a_wrong_object_fails_a_check(object: str, path: list[Any], value: Any, fails: list[str], problem: str) -> None:
    objects = declared(DEV)
    *steps, last = path
    inside: Any = objects[object]
    for step in steps:
        inside = inside[step]
    # A text that is replaced in another one, or the value.
    inside[last] = inside[last].replace(*value.split(" -> ")) if " -> " in str(value) else value
    failures = failed(DEV, objects)
    assert list(failures) == fails
    assert problem in failures[fails[0]]


@pytest.mark.parametrize(
    ("stack", "declared_devices", "instead", "problem"),
    [
        (
            "eks-fabric",
            ', "vpc.amazonaws.com/efa": 32',
            "",
            "0 of 1 nodes of h100-8 with a broken vpc.amazonaws.com/efa",
        ),
        ("gke-tpu", '"slice": true', '"slice": false', "1 of 4 nodes of slice-4 with a broken google.com/tpu"),
    ],
)
def test_a_reaper_that_misses_a_device_or_a_slice_fails(
    stack: str, declared_devices: str, instead: str, problem: str
) -> None:
    file = ROOT / "examples" / f"{stack}.yaml"
    objects = declared(file)
    job = objects["autoscaler-reaper-cronjob"]["spec"]["jobTemplate"]["spec"]
    variable = job["template"]["spec"]["containers"][0]["env"][1]
    assert declared_devices in variable["value"]
    variable["value"] = variable["value"].replace(declared_devices, instead)
    assert problem in failed(file, objects)["cron-jobs"]


def test_a_program_that_leaves_karpenters_nodes_fails_because_it_does_not_use_its_right() -> None:
    file = ROOT / "examples" / "eks-karpenter.yaml"
    objects = declared(file)
    job = objects["autoscaler-reaper-cronjob"]["spec"]["jobTemplate"]["spec"]
    job["template"]["spec"]["containers"][0]["env"][0]["value"] = "no"
    assert failed(file, objects) == {"cron-jobs": "gpucluster-node-reaper need not karpenter.sh nodeclaims delete"}
