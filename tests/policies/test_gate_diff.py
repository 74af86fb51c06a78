"""What loosens the gate is named with rule, stack, before and after; what tightens it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.gate_diff import WIDER, GateState, loosenings, state_of
from policies.rules.table import RULES
from tests.stacks import ROOT
from tests.tables import cases

RULES_THEN = {"gpu-ceiling": {"level": "mandatory", "limits": {"maxGpus": None}}}


@cases
def test_each_loosening_is_one_line_and_its_reverse_is_none(
    before: Mapping[str, Any], after: Mapping[str, Any], expected: str
) -> None:
    """A state is the gate's configuration of stack ``dev``, or its fields."""
    then, now = (
        GateState(**{"rules": RULES_THEN, **(state if "configs" in state else {"configs": {"dev": state}})})
        for state in (before, after)
    )
    (line,) = loosenings(then, now)
    assert expected in line
    if "own" not in then.rules:
        assert loosenings(now, then) == []
    assert loosenings(then, then) == []


@cases
def test_a_limit_knows_which_way_is_wider(limit: str, wider: list[Any], narrower: list[Any]) -> None:
    assert WIDER[limit](*wider)
    assert not WIDER[limit](*narrower)


def test_every_limit_of_a_rule_has_a_direction() -> None:
    assert {limit for rule in RULES for limit in rule.schema} == set(WIDER)


def test_the_project_s_own_gate_is_read() -> None:
    state = state_of(ROOT)
    assert state.configs["dev"]["gpu-ceiling"]["maxGpus"] == 64
    assert state.budgets == {"dev": None, "prod": 300}
    assert state.rules["gpu-zero-minimum"]["level"] == "mandatory"
