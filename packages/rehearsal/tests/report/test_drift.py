"""Drift is what the next update would change, but for sizes that an autoscaler set; a broken preview shows none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rehearsal.report.drift import main

SUMMARY = {"summaryEvent": {"resourceChanges": {}}}


def step(op: str, name: str, *changes: str) -> dict[str, Any]:
    diff = {path: {"kind": "update"} for path in changes}
    metadata = {"op": op, "type": "t:a/b:C", "urn": f"urn:pulumi:dev::p::t:a/b:C::{name}", "detailedDiff": diff}
    return {"resourcePreEvent": {"metadata": metadata, "planning": True}}


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        ([step("refresh", "a"), step("same", "a"), step("read", "b"), SUMMARY], []),
        ([step("update", "a", "nodeCount"), SUMMARY], ["- update `t:a/b:C` `a`: `nodeCount`"]),
        ([step("update", "a", "scalingConfig.desiredSize"), SUMMARY], []),
        ([step("create", "a` @all"), SUMMARY], ["- create `t:a/b:C` ``a` @all``"]),
        ([step("create", "a"), step("create", "a"), SUMMARY], ["- create `t:a/b:C` `a`"]),
        (
            [step("update", "a", "scalingConfig.desiredSize", "tags"), SUMMARY],
            ["- update `t:a/b:C` `a`: `scalingConfig.desiredSize`, `tags`"],
        ),
    ],
)
def test_drift_is_what_an_update_would_change(
    events: list[dict[str, Any]], lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "events.jsonl"
    log.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    assert main([str(log)]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_a_preview_that_did_not_end_is_no_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "events.jsonl"
    log.write_text(json.dumps(step("same", "a")))
    assert main([str(log)]) == 1
    assert "did not end" in capsys.readouterr().err
