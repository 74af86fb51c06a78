"""Manifests in YAML with values of the stack in them; ``gpu-placement.yaml``, with facts about pools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.gpu_admission import PolicyManifests, facts, manifests, rooms, templates
from components.resources import documents
from facts import catalog
from facts.concepts.parts import SharedGpu
from facts.concepts.pool import Pool
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


def test_only_what_the_validations_need_is_declared() -> None:
    for manifest, template in zip(made(), (PLACEMENT, ISOLATION), strict=True):
        spec = manifest.policy["spec"]
        used = json.dumps([spec["validations"], [each["expression"] for each in spec["variables"]]])
        assert [each["name"] for each in spec["variables"] if f"variables.{each['name']}" not in used] == []
        changed = {name: template["spec"][name] for name in ("variables", "validations")}
        assert {**manifest.policy, "spec": {**spec, **changed}} == template


SPOT = specs.gpu_pool("t4-spot", declared_at="gpuPools[0]")
ON_DEMAND = specs.gpu_pool("t4", extra_taints=(), capacity_type="on-demand", preference=1, declared_at="gpuPools[0]")


@pytest.mark.parametrize(
    ("pools", "message"),
    [
        ([SPOT, specs.gpu_pool("l4", gpu="nvidia-l4")], "may get any of several GPU types"),
        ([SPOT, specs.gpu_pool("half", mps=SharedGpu(clients_per_gpu=2))], "may get a whole GPU or a share of one"),
        ([specs.gpu_pool("half", mps=SharedGpu(clients_per_gpu=2))], "may run on GPUs that MPS shares"),
        ([SPOT, ON_DEMAND], "does not tolerate the taints of a pool that is tried first"),
    ],
)
def test_a_validation_is_there_where_a_pod_can_fail_it(pools: list[Pool], message: str) -> None:
    for declared, is_there in ((pools, True), ([SPOT], False)):
        placement, _ = manifests(declared, adds_gpu_toleration=False, ends_running_pods=False)
        messages = [each["message"] for each in placement.policy["spec"]["validations"]]
        assert any(each.startswith(message) for each in messages) is is_there


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_the_room_of_a_pool_is_that_of_its_largest_machine_and_unknown_machines_have_none(cloud: str) -> None:
    known = catalog.of(cloud)
    by_memory = sorted(known.machines.types, key=lambda type: _memory(cloud, type))
    small, large = by_memory[0], by_memory[-1]
    mixed = specs.changed(specs.gpu_pool("l4-1", gpu="nvidia-l4"), machine_types=(small, large))
    odd = specs.changed(specs.gpu_pool("l4-4", gpu="nvidia-l4", size=4), machine_types=(small, "no-such-machine"))
    by_pool = rooms(cloud, [mixed, odd])
    assert by_pool.keys() == {mixed.name}
    assert 0 < by_pool[mixed.name].memory_mib < _memory(cloud, large) * 1024
    smaller = rooms(cloud, [specs.changed(mixed, machine_types=(small,))])
    assert by_pool[mixed.name].memory_mib > smaller[mixed.name].memory_mib


@pytest.mark.parametrize(
    ("machine_type", "left"),
    # Real nodes of EKS, with AL2023 and Kubernetes 1.34 (g4dn.xlarge) and before.
    [("g4dn.xlarge", 15111), ("p4d.24xlarge", 1140277), ("p4de.24xlarge", 1119145), ("p5.48xlarge", 2004268)],
)
def test_no_pod_that_a_real_node_has_room_for_is_warned(machine_type: str, left: int) -> None:
    pool = specs.changed(specs.gpu_pool(), machine_types=(machine_type,))
    assert left <= rooms("eks", [pool])[pool.name].memory_mib < _memory("eks", machine_type) * 1024


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


def test_what_was_made_of_a_file_may_be_changed(tmp_path: Path) -> None:
    """The next one starts from the file again, which is read once."""
    file = tmp_path / "object.yaml"
    file.write_text("{kind: A, args: [x], metadata: {labels: {}}}")
    (first,) = documents(file)
    first["args"].append("y")
    first["metadata"]["labels"]["a"] = "b"
    assert documents(file) == [{"kind": "A", "args": ["x"], "metadata": {"labels": {}}}]
