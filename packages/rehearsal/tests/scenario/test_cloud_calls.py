"""A call that a program in the cluster has no right to fails the rehearsal, with the right that is missing."""

from __future__ import annotations

import json
from pathlib import Path

from rehearsal.checks import calls_allowed
from rehearsal.scenario.autoscaler_messages import Calls, read

DENIED = {"service": "sqs", "operation": "GetQueueUrl", "verdict": "denied", "missing": "no right", "resources": ["q"]}
ALLOWED = {"service": "ec2", "operation": "DescribeImages", "verdict": "allowed"}
FAILED = {"service": "ec2", "operation": "CreateFleet", "verdict": "failed", "error": "no capacity"}


def logged(folder: Path, *calls: object) -> Calls:
    (folder / "cloud-calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    return read(folder)


def test_a_denied_call_fails_and_says_which_right_is_missing(tmp_path: Path) -> None:
    (check,) = calls_allowed(logged(tmp_path, ALLOWED, DENIED, DENIED, FAILED))
    assert not check.passed
    assert check.detail == "sqs:GetQueueUrl was denied: no right"


def test_calls_that_failed_for_another_reason_are_the_cloud_s(tmp_path: Path) -> None:
    (check,) = calls_allowed(logged(tmp_path, ALLOWED, FAILED))
    assert check.passed
    assert check.detail == "2 calls, none denied"


def test_a_right_that_came_late_is_there(tmp_path: Path) -> None:
    assert logged(tmp_path, DENIED, {**DENIED, "verdict": "allowed"}).denied == ()
    assert logged(tmp_path, {**DENIED, "verdict": "allowed"}, DENIED).denied
    assert logged(tmp_path, DENIED, {**DENIED, "verdict": "allowed", "resources": ["another"]}).denied


def test_without_calls_there_is_nothing_to_check(tmp_path: Path) -> None:
    assert list(calls_allowed(read(tmp_path))) == []
