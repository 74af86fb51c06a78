"""Each rule of a node group: one wrong field, a missing field, an unknown one. The happy path: test_corpus.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.declared import NodeGroup, Violation
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.rules.node_groups import autoscaled, ceiling, gpu_taint, starts_empty, zero_minimum
from policies.rules.regions import allowed
from policies.rules.security import disk_encryption, private_nodes

GOOD = NodeGroup(
    name="t4-1",
    cloud="gke",
    gpus_per_node=1,
    autoscaled=True,
    min_nodes=0,
    max_nodes=4,
    taints=(GPU_TAINT,),
    region="us-central1",
    zones=("us-central1-a",),
    machine_type="n1-standard-4",
    resource="urn:t4-1",
)
Check = Callable[[NodeGroup], list[Violation]]

BROKEN: list[tuple[Check, dict[str, Any], str]] = [
    (zero_minimum, {"min_nodes": 1}, "keeps at least 1 node"),
    (starts_empty, {"initial_nodes": 3}, "starts with 3 node"),
    (autoscaled, {"autoscaled": False}, "fixed size"),
    (autoscaled, {"autoscaled": False, "kind": "machine", "initial_nodes": 1}, "in no autoscaled group"),
    (ceiling, {"max_nodes": None}, "has no maximum"),
    (ceiling, {"max_nodes": 0}, "never have a node"),
    (lambda group: ceiling(group, max_gpus=7), {"gpus_per_node": 2}, "may grow to 8 GPUs (4 x 2)"),
    (gpu_taint, {"taints": ()}, "its taints: none"),
    (gpu_taint, {"taints": (Taint("spot", "true", "NoSchedule"),)}, "spot:NoSchedule"),
    (gpu_taint, {"taints": (Taint("nvidia.com/gpu", "present", "PreferNoSchedule"),)}, "lacks the GPU taint"),
    (private_nodes, {"private": False}, "public addresses"),
    (disk_encryption, {"disk_encrypted": False}, "has unencrypted disks"),
    (lambda group: disk_encryption(group, customer_key=True), {}, "with the cloud's key"),
    (lambda group: allowed(group, ("europe-north1",)), {}, "region 'us-central1'"),
]

# Of each rule's own value test_corpus.py holds the same.
UNKNOWNS: list[tuple[Check, str]] = [
    (lambda group: ceiling(group, max_gpus=4), "gpus_per_node"),
    (private_nodes, "private"),
    (disk_encryption, "disk_encrypted"),
]


@pytest.mark.parametrize(("check", "change", "words"), BROKEN)
def test_one_wrong_field_is_a_violation_that_names_the_value(check: Check, change: dict[str, Any], words: str) -> None:
    (violation,) = check(replace(GOOD, **change))
    assert words in violation.message
    assert "'t4-1'" in violation.message
    assert violation.remedy
    assert violation.resource == "urn:t4-1"
    assert not violation.not_evaluated


@pytest.mark.parametrize(("check", "name"), UNKNOWNS)
def test_an_unknown_field_is_neither_a_pass_nor_a_failure(check: Check, name: str) -> None:
    unknown: dict[str, Any] = {name: UNKNOWN}
    (violation,) = check(replace(GOOD, **unknown))
    assert violation.not_evaluated
    assert "unknown at preview, checked at update" in violation.message


@pytest.mark.parametrize("check", [zero_minimum, starts_empty, autoscaled, ceiling, gpu_taint])
def test_a_group_without_gpus_breaks_no_rule(check: Check) -> None:
    cpu = NodeGroup(name="admin", cloud="gke", min_nodes=1, initial_nodes=2)
    assert check(cpu) == []


@pytest.mark.parametrize(("check", "change"), [(check, change) for check, change, _ in BROKEN[:5]])
def test_a_rule_is_not_evaluated_while_the_number_of_gpus_is_unknown(check: Check, change: dict[str, Any]) -> None:
    (violation,) = check(replace(GOOD, **{**change, "gpus_per_node": UNKNOWN, "kind": "pool"}))
    assert violation.not_evaluated


def test_any_value_of_the_gpu_taint_will_do() -> None:
    assert gpu_taint(replace(GOOD, taints=(Taint("nvidia.com/gpu", "true", "NoExecute"),))) == []
