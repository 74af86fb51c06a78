"""What must be so of a sweep that has run: each thing that is not fails the check by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from facts.jobs.job import TrainingJobSpec
from facts.jobs.sweep import Sweep
from rehearsal.scenario.timeline import PodRecord
from rehearsal.work.sweep import SweepOutcome, problems
from tests.tables import cases

INDEX = "batch.kubernetes.io/job-completion-index"
JOB = TrainingJobSpec(
    name="sweep-1",
    namespace="default",
    image="train:1",
    command=("python", "train.py"),
    pools=("t4-1", "t4-1-spot"),
    taints=(),
    sweep=Sweep({"seed": ("0", "1", "2")}),
    at_once=2,
)


def run(index: int, began: float, **other: Any) -> PodRecord:
    """Runs for 2 s from a moment on."""
    pod = PodRecord(
        uid=f"{index}-{began}",
        namespace="default",
        name=f"sweep-1-{index}",
        workload="sweep-1",
        owner="Job",
        gpus=1,
        created=0.0,
        labels={INDEX: str(index)},
        running=began,
        finished=began + 2,
    )
    return replace(pod, **other)


WELL = SweepOutcome(
    JOB,
    tuple((run(index, index), pool) for index, pool in enumerate(("t4-1", "t4-1-spot", "t4-1"))),
    {"succeeded": 3},
)


def test_a_sweep_that_ran_as_declared_has_no_problem() -> None:
    assert problems(WELL) == []


def test_a_run_that_kubernetes_started_twice_by_itself_is_no_problem() -> None:
    twice = ((run(1, 9), "t4-1"), (run(2, 9, running=None, finished=None), None))
    assert problems(replace(WELL, pods=(*WELL.pods, *twice))) == []


@cases
def test_each_deviation_is_reported(status: dict[str, int], pods: list[list[Any]], expected: str) -> None:
    """Pods are rows of their pool, index, start and other fields; without any they are those that ran well."""
    ran = tuple((run(index, began, **(more[0] if more else {})), pool) for pool, index, began, *more in pods)
    (problem,) = problems(replace(WELL, status=status, pods=ran or WELL.pods))
    assert expected in problem
