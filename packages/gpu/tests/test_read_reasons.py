"""Texts that a second reader took from sources, each with its answer, before having seen the table of causes."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from gpu.causes import Reason
from gpu.why import View, of_job
from packages.gpu.tests.test_why import JOB, event, pod

NOW: Final = datetime(2026, 11, 22, 8, 30, tzinfo=timezone.utc)
CASES: Final[dict[str, list[list[Any]]]] = yaml.safe_load(
    Path(__file__).with_name("read_reasons.yaml").read_text(encoding="utf-8")
)


def of_unscheduled(reason: str, message: str) -> Reason:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}] if message[0] == "0" else []
    return of_job(JOB, [pod(conditions=conditions)], [event(reason, message)], view=View(now=NOW))


def of_pod_on_node(reason: str, message: str) -> Reason:
    return of_job(JOB, [pod(node="n1")], [event(reason, message)], view=View(now=NOW))


def of_container(reason: str, message: str) -> Reason:
    status = {"image": "me/train:1", "state": {"waiting": {"reason": reason, "message": message}}}
    return of_job(JOB, [pod(node="n1", containerStatuses=[status])], [])


def of_evicted(reason: str, message: str) -> Reason:
    pods = [pod("Failed", uid, "n1", reason=reason, message=message) for uid in ("pod-1", "pod-2")]
    return of_job(JOB, pods, [])


def of_claim(reason: str, message: str) -> Reason:
    waits = pod()
    waits["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    status = {"phase": "Lost" if reason == "ClaimLost" else "Pending"}
    claims = [{"metadata": {"name": "data"}, "status": status}]
    failure = event(reason, message, 3, "PersistentVolumeClaim", "data", "claim")
    unread = of_job(JOB, [waits], [failure])
    reason_given = of_job(JOB, [waits], [failure], view=View(now=NOW, claims=claims))
    assert (unread.kind, unread.mended_by) == (reason_given.kind, reason_given.mended_by), "its events say it as well"
    return reason_given


def of_queue(reason: str, message: str) -> Reason:
    return of_job({**JOB, "spec": {"suspend": True}}, [], [event(reason, message, 0, "Workload", "job-train-1a2b3")])


def of_creation(reason: str, message: str) -> Reason:
    return of_job(JOB, [], [event(reason, message, 0, "Job", "train", "job-1")])


ABOUT: Final = {
    "unscheduled": of_unscheduled,
    "on a node": of_pod_on_node,
    "container": of_container,
    "evicted": of_evicted,
    "claim": of_claim,
    "queue": of_queue,
    "creation": of_creation,
}


@pytest.mark.parametrize(("about", "case"), [(about, case) for about, cases in CASES.items() for case in cases])
def test_who_reads_a_text_first_gets_the_same_answer(about: str, case: list[Any]) -> None:
    kind, mended_by, waiting_helps, reason, message = case
    answer = ABOUT[about](reason, message)
    assert (answer.kind, answer.mended_by, answer.waiting_helps) == (kind, mended_by, waiting_helps), answer
