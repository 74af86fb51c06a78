"""Manifests in YAML with values of the stack in them; ``gpu-placement.yaml``, with facts about pools."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.gpu_admission import PolicyManifests, facts, manifests, rooms, templates
from components.resources import documents
from facts import catalog
from tests.components import specs

PLACEMENT, PLACEMENT_BINDING, ISOLATION, ISOLATION_BINDING = templates()
POLICIES = pytest.mark.parametrize("policy", [PLACEMENT, ISOLATION], ids=lambda policy: policy["metadata"]["name"])


def made(*, ends_running_pods: bool = True) -> tuple[PolicyManifests, PolicyManifests]:
    placement, isolation = manifests([], adds_gpu_toleration=False, ends_running_pods=ends_running_pods)
    return placement, isolation


@pytest.mark.parametrize(
    ("policy", "binding", "action", "failure"),
    [(PLACEMENT, PLACEMENT_BINDING, "Warn", "Ignore"), (ISOLATION, ISOLATION_BINDING, "Deny", "Fail")],
)
def test_each_policy_is_bound(policy: Mapping[str, Any], binding: Mapping[str, Any], action: str, failure: str) -> None:
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": [action]}
    assert policy["spec"]["failurePolicy"] == failure


@POLICIES
def test_a_variable_is_defined_before_it_is_used(policy: Mapping[str, Any]) -> None:
    defined = {fact["name"] for fact in facts([], adds_gpu_toleration=False)}
    for variable in policy["spec"]["variables"]:
        assert set(re.findall(r"variables\.(\w+)", variable["expression"])) <= defined, variable["name"]
        assert variable["name"] not in defined
        defined.add(variable["name"])
    for validation in policy["spec"]["validations"]:
        for key in ("expression", "messageExpression"):
            assert set(re.findall(r"variables\.(\w+)", validation[key])) <= defined, validation["message"]


@POLICIES
def test_every_text_is_one_line(policy: Mapping[str, Any]) -> None:
    """A message with a line break is refused by the API server; folded text must not keep one."""
    assert "\\n" not in json.dumps(policy)
    assert "  " not in json.dumps(policy["spec"])


def test_python_adds_facts_and_leaves_out_two_validations_only() -> None:
    known, of_chips = facts([], adds_gpu_toleration=False), "does not select the topology of its chips"
    for manifest, template in zip(made(), map(copy.deepcopy, (PLACEMENT, ISOLATION)), strict=True):
        validations = [each for each in template["spec"]["validations"] if each["message"] != of_chips]
        template["spec"]["validations"] = validations
        assert manifest.policy["spec"]["variables"] == [*known, *template["spec"]["variables"]]
        assert {
            **manifest.policy,
            "spec": {**manifest.policy["spec"], "variables": template["spec"]["variables"]},
        } == template
    without, _ = made(ends_running_pods=False)
    assert len(PLACEMENT["spec"]["validations"]) - len(without.policy["spec"]["validations"]) == 2


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_the_room_of_a_pool_is_that_of_its_largest_machine_and_unknown_machines_have_none(cloud: str) -> None:
    known = catalog.of(cloud)
    by_memory = sorted(known.machines.types, key=lambda type: _memory(cloud, type))
    small, large = by_memory[0], by_memory[-1]
    mixed = replace(specs.gpu_pool("l4-1", gpu="nvidia-l4"), machine_types=(small, large))
    odd = replace(specs.gpu_pool("l4-4", gpu="nvidia-l4", size=4), machine_types=(small, "no-such-machine"))
    by_pool = rooms(cloud, [mixed, odd])
    assert by_pool.keys() == {mixed.name}
    assert 0 < by_pool[mixed.name].memory_mib < _memory(cloud, large) * 1024
    smaller = rooms(cloud, [replace(mixed, machine_types=(small,))])
    assert by_pool[mixed.name].memory_mib > smaller[mixed.name].memory_mib


def _memory(cloud: str, type: str) -> float:
    machine = catalog.of(cloud).machines.get(type)
    assert machine is not None
    return machine.memory_gib


TEXT = """
name: "${cluster}"
path: a/${cluster}/b
"tag/${cluster}": owned
flags: ${flags}
list: [x, "${flags}"]
---
Null: "$5, not a name"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(TEXT)
    return path


def test_names_stand_for_values_in_texts_and_keys_and_alone_for_values_of_any_type(file: Path) -> None:
    first, _ = documents(file, cluster="ml", flags=["--v=2", 5])
    expected = {"name": "ml", "path": "a/ml/b", "tag/ml": "owned", "flags": ["--v=2", 5], "list": ["x", ["--v=2", 5]]}
    assert first == expected


def test_a_name_without_a_value_stops_the_program(file: Path) -> None:
    with pytest.raises(KeyError, match="flags"):
        documents(file, cluster="ml")


def test_a_value_is_not_yaml(file: Path) -> None:
    first, _ = documents(file, cluster="${flags}: [", flags="a: b")
    assert (first["name"], first["flags"]) == ("${flags}: [", "a: b")
