"""What the engine says, event by event, and which stacks a change has to rehearse."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.tables import cases
from rehearsal.engine.changed_stacks import main, stack_files, to_rehearse
from rehearsal.engine.events import Step, outcome, parse_line, step_of


def policy(level: str, urn: str = "urn:pulumi:dev::p::gcp:container/nodePool:NodePool::t4") -> dict[str, Any]:
    event = {"policyName": "gpu-zero-minimum", "enforcementLevel": level, "resourceUrn": urn}
    return {"policyEvent": {**event, "message": "<{%fg 1%}>keeps 1 node<{%reset%}>\nWrite 0.\n"}}


def pre(op: str, type: str, *, planning: bool = False) -> dict[str, Any]:
    return {
        "resourcePreEvent": {"metadata": {"op": op, "type": type, "urn": f"urn::x::{type}::n"}, "planning": planning}
    }


def test_a_violation_is_counted_once_though_preview_and_update_report_it() -> None:
    parsed = outcome([policy("mandatory"), policy("mandatory"), policy("advisory")])
    assert [violation.level for violation in parsed.violations] == ["mandatory", "advisory"]
    (violation,) = parsed.mandatory
    assert (violation.rule, violation.resource) == ("gpu-zero-minimum", "t4")
    assert violation.message == "keeps 1 node\nWrite 0."


def test_what_the_gate_says_of_costs_is_no_violation() -> None:
    event = policy("advisory")
    event["policyEvent"] |= {"policyName": "cost", "message": "Report what the nodes cost\nList price: $1.\n"}
    parsed = outcome([event, policy("advisory"), event])
    assert parsed.cost_note == "List price: $1."
    assert [violation.rule for violation in parsed.violations] == ["gpu-zero-minimum"]
    assert outcome([policy("advisory")]).cost_note == ""


def test_the_updates_summary_replaces_the_previews() -> None:
    events = [{"summaryEvent": {"resourceChanges": {"create": 3}}}, {"summaryEvent": {"resourceChanges": {"same": 3}}}]
    parsed = outcome(events)
    assert parsed.changes == {"same": 3}
    assert parsed.changed == {}


def test_errors_lose_their_colour_and_their_prefix() -> None:
    diagnostic = {"prefix": "<{%fg 1%}>error: <{%reset%}>", "message": "error: no\n", "severity": "error"}
    assert outcome([{"diagnosticEvent": diagnostic}]).errors == ("no",)
    assert outcome([{"diagnosticEvent": {**diagnostic, "ephemeral": True}}]).errors == ()


def test_only_cloud_and_cluster_resources_are_altered() -> None:
    steps = [
        step_of(pre(op, kind))
        for op, kind in (
            ("create", "gcp:compute/network:Network"),
            ("same", "gcp:compute/network:Network"),
            ("refresh", "gcp:compute/network:Network"),
            ("create", "gpucluster:index:Cluster"),
            ("create", "pulumi:providers:gcp"),
        )
    ]
    assert [step.alters for step in steps if step is not None] == [True, False, False, False, False]
    assert step_of(pre("create", "a:b:C", planning=True)) == Step("create", "a:b:C", "n", planned=True)


def test_a_refresh_step_reports_its_result_when_it_ends() -> None:
    begun = pre("refresh", "a:b:C", planning=True)
    ended = {"resOutputsEvent": pre("update", "a:b:C", planning=True)["resourcePreEvent"]}
    ended["resOutputsEvent"]["metadata"]["detailedDiff"] = {"tags.x": {"diffKind": "add"}}
    parsed = outcome([begun, ended])
    assert parsed.steps == (Step("refresh", "a:b:C", "n", planned=True),)
    assert parsed.done == (Step("update", "a:b:C", "n", planned=True, changes=("tags.x",)),)


@cases
def test_a_size_alone_is_the_autoscalers(op: str, changes: list[str], expected: bool) -> None:
    event = pre(op, "a:b:C")
    event["resourcePreEvent"]["metadata"]["detailedDiff"] = {path: {"diffKind": "update"} for path in changes}
    step = step_of(event)
    assert step is not None
    assert step.sizes_only is expected


@cases
def test_an_autoscalers_size_hides_no_other_change(changes: dict[str, Any], updates: int, expected: str) -> None:
    event = pre("update", "a:b:C")
    event["resourcePreEvent"]["metadata"]["detailedDiff"] = changes
    summary = {"summaryEvent": {"resourceChanges": {"same": 3, "update": updates}}}
    assert outcome([event, summary] if changes else [summary]).summary == expected


def test_a_line_that_is_still_being_written_is_no_event() -> None:
    assert parse_line('{"sequence": 1, "timest') is None
    assert parse_line('{"sequence": 1}') == {"sequence": 1}


STACKS = ["Pulumi.dev.yaml", "Pulumi.prod.yaml", "examples/gke-tips.yaml"]


@cases
def test_to_rehearse(changed: list[str], expected: list[str]) -> None:
    assert to_rehearse(changed, STACKS) == expected


def test_the_projects_own_stacks_are_listed() -> None:
    assert set(STACKS) <= set(stack_files())


def test_a_base_that_is_no_commit_is_a_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-branch"]) == 2
    assert "cannot use the commit 'no-such-branch'" in capsys.readouterr().err


def test_nothing_changed_since_now(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["HEAD"]) == 0
    assert capsys.readouterr().out == ""
