"""What must be so when a training job's node was taken back: each thing that is not fails the check by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rehearsal.work.reclaim import ReclaimOutcome, problems
from tests.tables import cases

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


@cases
def test_each_deviation_is_reported(field: str, value: Any, expected: str) -> None:
    """Pods are rows of their index, node, UID and other fields of their spec."""
    if field in ("before", "after"):
        value = [worker(*row[:3], **(row[3] if len(row) > 3 else {})) for row in value]
    changed: dict[str, Any] = {field: tuple(value) if isinstance(value, list) else value}
    (problem,) = problems(replace(WELL, **changed), 2)
    assert expected in problem
