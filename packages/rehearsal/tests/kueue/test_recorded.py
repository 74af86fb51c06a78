"""What Kueue's own scheduler answered holds for the queues that the program makes, and `gpu why` reads it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

from components.workloads.queue import CHART
from gpu.why import View, of_job
from packages.rehearsal.tests.kueue import situations

RECORDED: Final = situations.recorded()
ANSWERS: Final = RECORDED["answers"]
LIMITS: Final = "a team's jobs wait at its quota, others at the pools'"


def test_what_was_played_is_what_the_program_makes() -> None:
    """If not: ``python -m packages.rehearsal.tests.kueue.situations``."""
    assert RECORDED["version"] == CHART.version
    assert RECORDED["queues"] == situations.queues()


@pytest.mark.parametrize(
    ("what", "job", "expected"),
    [
        (LIMITS, "v2", ("queued", "user", True, "its team's quota has free GPUs")),
        (LIMITS, "large", ("queued", "user", False, "more GPUs than its team's quota")),
        (LIMITS, "gang1", ("queued", "administrator", True, "its queue has free quota")),
        (LIMITS, "s2", ("queued", "administrator", True, "its queue has free quota")),
        ("the quota grows to 4", "k4", ("queued", "user", True, "its team's quota has free GPUs")),
        ("one of before ends", "o4", ("queued", "user", False, "more GPUs than its team's quota")),
        ("EFA devices do not count", "more", ("queued", "user", True, "its team's quota has free GPUs")),
    ],
)
def test_gpu_why_says_what_the_job_waits_for(what: str, job: str, expected: tuple[Any, ...]) -> None:
    reason, _, message = ANSWERS[what][job].partition(": ")
    workload = {
        "metadata": {"name": "job-train-1a2b3", "ownerReferences": [{"uid": "job-1"}]},
        "spec": {"active": True},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": reason, "message": message}]},
    }
    suspended = {"metadata": {"name": "train", "namespace": "vision", "uid": "job-1"}, "spec": {"suspend": True}}
    answer = of_job(suspended, [], [], view=View(workloads=[workload]))
    assert (answer.kind, answer.mended_by, answer.waiting_helps) == expected[:3], answer
    assert expected[3] in answer.summary


def running(what: str) -> set[str]:
    return {job for job, answer in ANSWERS[what].items() if isinstance(answer, dict)}


def test_the_page_on_the_queue_says_what_kueue_does() -> None:
    # "The queued jobs of a team have at most its gpus at the same time. More of them keep nobody else's GPUs."
    assert running(LIMITS) == {"v0", "v1", "s0", "s1", "d0", "gang0", "gang2", "tpu"}
    assert {"s2", "v2"} <= running("two end")
    # "Kueue admits as many runs at the same time as fit into one pool and the team's quota."
    assert ANSWERS["a sweep has as many runs as fit"]["sweep"]["pods"] == 2
    # "In order of priority, then of age."
    assert running("one ends: the priority counts") == {"p1", "p2", "high"}
    assert running("another ends: the age counts") == {"p2", "high", "older"}
    # A smaller quota ends no job.
    assert running("the quota shrinks to 1") == {"k0", "k1"}
    assert running("one ends with the smaller quota") == {"k1"}
    # "A queue of a team that version 0.1.0 made stays in gpu. To move it …: running jobs go on, waiting ones join."
    before = running("0.1.0 counts no quota of a team")
    assert before < running("updated, and the queue moved")
    assert {ANSWERS["updated, and the queue moved"][job]["queue"] for job in before} == {"gpu"}
    assert ANSWERS["updated, and the queue moved"]["later"]["queue"] == "gpu-vision"
    assert running("EFA devices do not count") == {"efa"}


@pytest.mark.rehearsal
@pytest.mark.skipif(situations.VARIABLE not in os.environ, reason="KUEUE names no folder with Kueue's source")
def test_a_real_scheduler_answers_as_recorded() -> None:
    assert situations.played(Path(os.environ[situations.VARIABLE])) == ANSWERS
