"""What must be so when a training job's node was taken back: each thing that is not fails the check by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rehearsal.work.reclaim import ReclaimOutcome, problems

INDEX = "batch.kubernetes.io/job-completion-index"
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 2}


def worker(index: int, node: str, uid: str, **spec: Any) -> dict[str, Any]:
    container = {
        "image": "train:1",
        "env": [{"name": "MASTER_ADDR", "value": "reclaimed-0.reclaimed"}],
        "resources": {},
    }
    pod_spec = {"hostname": f"reclaimed-{index}", "subdomain": "reclaimed", "terminationGracePeriodSeconds": 15}
    return {
        "metadata": {"name": f"reclaimed-{index}-{uid}", "uid": uid, "annotations": {INDEX: str(index)}},
        "spec": {"nodeName": node, "containers": [container], **pod_spec, **spec},
    }


BEFORE = (worker(0, "n1", "a"), worker(1, "n2", "b"))
WELL = ReclaimOutcome(
    taken="n2",
    before=BEFORE,
    ends=("EvictionByEvictionAPI",),
    after=(BEFORE[0], worker(1, "n3", "c")),
    status=COMPLETE,
    notice=15,
)


def test_a_job_that_goes_on_as_declared_has_no_problem() -> None:
    assert problems(WELL, 2) == []
    assert problems(replace(WELL, notice=None), 2) == []


def after(*pods: Any) -> Callable[[ReclaimOutcome], ReclaimOutcome]:
    return lambda one: replace(one, after=pods)


def status(**status: Any) -> Callable[[ReclaimOutcome], ReclaimOutcome]:
    return lambda one: replace(one, status=status)


OTHER_MASTER = [{"name": "MASTER_ADDR", "value": "elsewhere"}]
FAILED = {"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: replace(one, before=BEFORE[:1]), "1 of its 2 pods ran"),
        (lambda one: replace(one, ends=("DeletionByPodGC",)), "without notice: DeletionByPodGC"),
        (lambda one: replace(one, ends=("",)), "without notice: nothing"),
        (lambda one: replace(one, notice=14), "its grace period is 15 s after SIGTERM, but the cloud gives 14 s"),
        (status(**COMPLETE, failed=1), "the Job counts 1 failure"),
        (status(), "the Job is not complete (no condition)"),
        (status(conditions=[FAILED]), "not complete (Failed: Job has reached"),
        (after(BEFORE[0]), "reclaimed-1-b was not replaced"),
        (after(BEFORE[0], worker(1, "n2", "c")), "reclaimed-1-c is on the reclaimed node"),
        (after(worker(0, "n1", "d"), WELL.after[1]), "reclaimed-0-a on another node was ended too"),
        (
            after(BEFORE[0], worker(1, "n3", "c", hostname="another")),
            "reclaimed-1-c started with other variables, command or resources",
        ),
        (
            after(BEFORE[0], worker(1, "n3", "c", containers=[{"image": "train:1", "env": OTHER_MASTER}])),
            "reclaimed-1-c started with other variables, command or resources",
        ),
    ],
)
def test_each_deviation_is_reported(change: Callable[[ReclaimOutcome], ReclaimOutcome], expected: str) -> None:
    (problem,) = problems(change(WELL), 2)
    assert expected in problem
