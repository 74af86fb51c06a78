"""Levels below a rule's own: what they owe, and that each run prints them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy import StackValidationArgs, StackValidationPolicy

from policies.config import ConfigError, main
from policies.exemptions import today_utc
from policies.levels import Configured, lowered_levels, problems
from policies.pack import EXEMPTED, Gate

TODAY = date(2026, 11, 21)
WHY = {"reason": "pilot of the data team", "expires": "2026-12-31"}


@pytest.mark.parametrize(
    ("configured", "words"),
    [
        ({"gpu-taint": ("disabled", {})}, "gpu-taint: disabled lowers a rule that is mandatory"),
        ({"gpu-taint": ("advisory", {})}, "gpu-taint: advisory lowers a rule that is mandatory"),
        ({"private-nodes": ("disabled", {})}, "private-nodes: disabled lowers a rule that is advisory"),
        ({"gpu-taint": ("advisory", {**WHY, "reason": "."})}, "gpu-taint.reason: write a reason of at least 2 words"),
        ({"gpu-taint": ("advisory", {"reason": WHY["reason"]})}, "gpu-taint.expires: missing"),
        ({"gpu-taint": ("advisory", {**WHY, "expires": "2026-11-20"})}, "gpu-taint.expires: 2026-11-20 is in the past"),
        ({"gpu-taint": ("advisory", {**WHY, "expires": "2028-01-01"})}, "gpu-taint.expires: at most a year ahead"),
        ({"all": ("disabled", {})}, "all: disabled lowers rules"),
        ({"all": ("advisory", {**WHY, "reason": "-"})}, "all.reason: write a reason"),
    ],
)
def test_a_lower_level_needs_a_reason_and_a_date(configured: Configured, words: str) -> None:
    (problem,) = problems(configured, TODAY)
    assert problem.startswith(words)


@pytest.mark.parametrize(
    "configured",
    [
        {},
        {"gpu-taint": ("mandatory", {}), "private-nodes": ("advisory", {})},
        {"private-nodes": ("mandatory", {})},
        {"gpu-taint": ("remediate", {})},
        {"gpu-ceiling": ("", {"maxGpus": 8.0})},
        {"gpu-taint": ("advisory", WHY)},
        {"gpu-taint": ("advisory", {**WHY, "expires": "2026-11-21"})},
        {"private-nodes": ("disabled", {"reason": WHY["reason"]})},
        {"all": ("advisory", WHY)},
        {"all": ("advisory", WHY), "gpu-taint": ("advisory", {}), "gpu-ceiling": ("mandatory", {})},
    ],
)
def test_what_owes_nothing_or_has_paid(configured: Configured) -> None:
    assert problems(configured, TODAY) == []


def test_a_rule_s_own_reason_comes_before_that_of_all() -> None:
    own = {**WHY, "reason": "waits for a quota"}
    by_rule = {one.rule.id: one for one in lowered_levels({"all": ("advisory", WHY), "gpu-taint": ("advisory", own)})}
    assert by_rule["gpu-taint"].note == (
        "gpu-taint is advisory here until 2026-12-31 instead of mandatory: waits for a quota"
    )
    assert by_rule["gpu-zero-minimum"].note.endswith(WHY["reason"])
    assert "private-nodes" not in by_rule


def _printed(gate: Gate) -> list[str]:
    messages: list[str] = []
    for policy in gate.policies():
        if isinstance(policy, StackValidationPolicy) and policy.name == EXEMPTED:
            policy.validate(StackValidationArgs([]), lambda text, urn=None: messages.append(text))
    return messages


def test_each_run_prints_what_is_lowered() -> None:
    gate = Gate(TODAY)
    gate.configure({"gpu-taint": ("disabled", WHY), "gpu-ceiling": ("mandatory", {})})
    assert _printed(gate) == [
        "gpu-taint is disabled here until 2026-12-31 instead of mandatory: pilot of the data team"
    ]


@pytest.mark.parametrize(
    ("configured", "words"),
    [({"gpu-taint": ("disabled", {})}, "gpu-taint: disabled lowers"), ({"gpu-tant": ("advisory", {})}, "no such rule")],
)
def test_a_run_ends_where_nobody_checked_the_file(configured: Configured, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Gate(TODAY).configure(configured)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"gpu-taint": "advisory"}, 1),
        ({"gpu-taint": {"enforcementLevel": "advisory", **WHY, "expires": "today"}}, 0),
        ({"all": "disabled"}, 1),
        ({"all": {"enforcementLevel": "advisory", "reason": WHY["reason"], "expires": "today"}}, 0),
        ({"all": {"enforcementLevel": "advisory", "why": "x"}}, 1),
    ],
)
def test_a_file_is_held_to_the_same(content: dict[str, Any], code: int, tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    # Of the moment of the test: tests are collected a while before they run, and midnight may be between.
    path.write_text(json.dumps(content).replace("today", today_utc().isoformat()))
    assert main([str(path)]) == code
