"""What loosens the gate is named with rule, stack, before and after; what tightens it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from policies.gate_diff import WIDER, GateState, loosenings, state_of
from policies.rules.table import RULES
from tests.stacks import ROOT

RULE = {"gpu-ceiling": {"level": "mandatory", "limits": {"maxGpus": None}}}
EXEMPT = {"resource": "l4", "reason": "demo on Friday", "expires": "2026-12-31"}


def of(config: Mapping[str, Any], rules: Mapping[str, Any] = RULE, **budgets: float | None) -> GateState:
    return GateState(rules, {"dev": config}, budgets)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (of({"gpu-ceiling": "mandatory"}), of({"gpu-ceiling": "advisory"}), "stack dev: level mandatory → advisory"),
        (of({}), of({"all": "disabled"}), "stack dev: level mandatory → disabled"),
        (of({"gpu-ceiling": {"maxGpus": 64}}), of({"gpu-ceiling": {"maxGpus": 128}}), "stack dev: maxGpus 64 → 128"),
        (of({"gpu-ceiling": {"maxGpus": 64}}), of({}), "stack dev: maxGpus 64 → no limit"),
        (of({}), of({"gpu-ceiling": {"exemptions": [EXEMPT]}}), "exemption of l4 added until 2026-12-31: demo on"),
        (
            of({"gpu-ceiling": {"exemptions": [EXEMPT]}}),
            of({"gpu-ceiling": {"exemptions": [{**EXEMPT, "expires": "2027-01-31"}]}}),
            "exemption of l4 extended from 2026-12-31 until 2027-01-31",
        ),
        (of({}), of({}, {}), "gpu-ceiling: the rule is removed"),
        (of({}), of({}, {"gpu-ceiling": {"level": "advisory", "limits": {"maxGpus": None}}}), "mandatory → advisory"),
        (of({}), of({}, {"gpu-ceiling": {"level": "mandatory", "limits": {}}}), "the limit maxGpus (no limit) is remo"),
        (
            GateState({"own": {"level": "mandatory", "limits": {"size": 1}}}, {"dev": {}}),
            GateState({"own": {"level": "mandatory", "limits": {"size": 0}}}, {"dev": {}}),
            "own, stack dev: size 1 → 0",
        ),
        (of({}, dev=50), of({}, dev=90), "budget.maxHourlyUsd, stack dev: 50 → 90"),
        (of({}, dev=50), of({}, dev=None), "budget.maxHourlyUsd, stack dev: 50 → no limit"),
        (of({"pools": {"l4": {"gpusPerNode": 1}}}), of({"pools": {}}), "pools, stack dev: l4 is removed"),
        (
            GateState(RULE, {"default": {"gpu-ceiling": {"maxGpus": 8}}}),
            GateState(RULE, {"default": {"gpu-ceiling": {"maxGpus": 8}}, "new": {}}),
            "gpu-ceiling, stack new: maxGpus 8 → no limit",
        ),
    ],
)
def test_each_loosening_is_one_line_and_its_reverse_is_none(before: GateState, after: GateState, expected: str) -> None:
    (line,) = loosenings(before, after)
    assert expected in line
    if "own" not in before.rules:
        assert loosenings(after, before) == []
    assert loosenings(before, before) == []


@pytest.mark.parametrize(
    ("limit", "wider", "narrower"),
    [
        ("customerKey", (True, False), (False, True)),
        ("minCarbonFreePercent", (75, 50), (50, 75)),
        ("mostPromised", (1, 1.5), (None, 2)),
        ("opaque", (True, False), (False, True)),
        ("regions", (["a"], ["a", "b"]), ([], ["a"])),
        ("regions", (["a"], []), (["a", "b"], ["a"])),
        ("taintKeys", ([], ["team"]), (["team"], [])),
    ],
)
def test_a_limit_knows_which_way_is_wider(limit: str, wider: tuple[Any, Any], narrower: tuple[Any, Any]) -> None:
    assert WIDER[limit](*wider)
    assert not WIDER[limit](*narrower)


def test_every_limit_of_a_rule_has_a_direction() -> None:
    assert {limit for rule in RULES for limit in rule.schema} == set(WIDER)


def test_the_project_s_own_gate_is_read() -> None:
    state = state_of(ROOT)
    assert state.configs["dev"]["gpu-ceiling"]["maxGpus"] == 64
    assert state.budgets == {"dev": None, "prod": 300}
    assert state.rules["gpu-zero-minimum"]["level"] == "mandatory"
