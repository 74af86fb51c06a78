"""A rule is its function, with everything that is said about it: what belongs together cannot drift apart."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.declared import (
    Cluster,
    Credential,
    EncryptionKey,
    Exposure,
    NodeGroup,
    NotEvaluated,
    Reservation,
    Stack,
    Unreadable,
    Violation,
    Workload,
)
from policies.rules import table
from policies.rules.node_groups import ceiling, zero_minimum
from policies.rules.regions import allowed
from policies.rules.rule import Rule, rule
from policies.rules.samples import CLUSTER, GPUS
from policies.rules.table import BY_ID, RULES

SUBJECTS = {
    EncryptionKey,
    Exposure,
    Reservation,
    NodeGroup,
    Workload,
    Cluster,
    Credential,
    Stack,
    NotEvaluated,
    Unreadable,
}


def test_every_id_is_there_once() -> None:
    assert [name for name, times in Counter(rule.id for rule in RULES).items() if times > 1] == []
    assert list(BY_ID.values()) == list(RULES)


@pytest.mark.parametrize("known", RULES, ids=lambda known: known.id)
def test_its_subjects_and_limits_are_those_of_its_function(known: Rule[...]) -> None:
    assert known.subjects
    assert set(known.subjects) <= SUBJECTS
    _, *limits = inspect.signature(known.function).parameters.values()
    assert len(limits) == len(known.schema), "each limit is a parameter, and each parameter a limit"
    assert all(limit.default is not inspect.Parameter.empty for limit in limits)
    assert known.check(known.example, known.example_limits) == known.check(
        known.example, {**known.limits(), **known.example_limits}
    )


def test_called_it_is_the_function_and_asked_it_takes_the_limits_of_a_configuration() -> None:
    large = replace(GPUS, max_nodes=100)
    assert ceiling(large) == ceiling.check(large) == []
    assert ceiling(large, 64) == ceiling(large, max_gpus=64) == ceiling.check(large, {"maxGpus": 64}) != []
    assert ceiling.limits() == {"maxGpus": None}
    assert ceiling.limits({"maxGpus": 8}) == {"maxGpus": 8}


def test_a_limit_has_its_functions_default_in_json() -> None:
    assert allowed.schema["regions"]["default"] == []
    assert allowed.check(CLUSTER) == []
    assert len(allowed.check(CLUSTER, {"regions": ["europe-west4"]})) == 1


def test_the_engine_asks_rules_about_a_stack_once_and_others_per_resource() -> None:
    assert zero_minimum.subjects == (NodeGroup,)
    assert zero_minimum.scope == "resource"
    assert allowed.subjects == (Cluster, NodeGroup)
    assert BY_ID["gpu-not-only-pool"].scope == "stack"


@pytest.mark.parametrize(("remediable", "known"), [(True, True), (False, False)])
def test_only_a_remediable_rule_has_that_level(remediable: bool, known: bool) -> None:
    made: dict[str, Any] = {"title": "t", "why": "w", "remedy": "r", "level": "advisory", "severity": "low"}

    @rule("mine", **made, example=GPUS, remediable=remediable)
    def mine(group: NodeGroup) -> list[Violation]:
        return [Violation(mine.id, group.name, "r")]

    assert ("remediate" in mine.levels) is known
    assert mine(GPUS)[0].rule == "mine"


def test_a_violation_ends_with_the_rules_remedy_unless_it_has_a_specific_one() -> None:
    assert zero_minimum.violation("message", "urn").remedy == zero_minimum.remedy
    assert zero_minimum.violation("message", "urn", remedy="Specific.").remedy == "Specific."
    assert [violation.remedy for violation in zero_minimum(replace(GPUS, min_nodes=1))] == [zero_minimum.remedy]


@pytest.mark.parametrize("file", sorted(Path(table.__file__).parent.glob("*.py")), ids=lambda file: file.name)
def test_only_a_rule_makes_its_violations(file: Path) -> None:
    """So that no function repeats the remedy of its rule."""
    made = [
        node.lineno
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Violation"
    ]
    assert len(made) == (1 if file.name == "rule.py" else 0), f"call violation() of the rule in line {made}"
