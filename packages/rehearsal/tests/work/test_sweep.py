"""What must be so of a sweep that has run: each thing that is not fails the check by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from facts.jobs.job import TrainingJobSpec
from facts.jobs.sweep import Sweep
from rehearsal.scenario.timeline import PodRecord
from rehearsal.work.sweep import SweepOutcome, problems

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


def on(*pools: str | None, began: Sequence[float] = (0, 1, 2)) -> tuple[tuple[PodRecord, str | None], ...]:
    return tuple((run(index, began[index]), pool) for index, pool in enumerate(pools))


WELL = SweepOutcome(JOB, on("t4-1", "t4-1-spot", "t4-1"), {"succeeded": 3})


def test_a_sweep_that_ran_as_declared_has_no_problem() -> None:
    assert problems(WELL) == []


def test_a_run_that_kubernetes_started_twice_by_itself_is_no_problem() -> None:
    twice = ((run(1, 9), "t4-1"), (run(2, 9, running=None, finished=None), None))
    assert problems(replace(WELL, pods=(*WELL.pods, *twice))) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda one: replace(one, status={"succeeded": 2}), "2 of 3 runs succeeded"),
        (lambda one: replace(one, status={}), "0 of 3 runs succeeded"),
        (lambda one: replace(one, status={"succeeded": 3, "failed": 1}), "1 failure"),
        (
            lambda one: replace(one, pods=(*one.pods, (run(1, 9, disrupted="DeletionByPodGC"), "t4-1"))),
            "runs 1 were interrupted and started again",
        ),
        (
            lambda one: replace(one, pods=((run(1, 9, phase="Failed"), "t4-1"), *one.pods)),
            "runs 1 were interrupted and started again",
        ),
        (lambda one: replace(one, pods=on("t4-1", "t4-4", "t4-1")), "sweep-1-1 ran on a node of t4-4, not of t4-1"),
        (lambda one: replace(one, pods=on("t4-1", None, "t4-1")), "sweep-1-1 ran on a node of no pool"),
        (lambda one: replace(one, pods=on("t4-1", "t4-1", "t4-1", began=(0, 1, 1.9))), "3 runs at once, but 2"),
    ],
)
def test_each_deviation_is_reported(change: Callable[[SweepOutcome], SweepOutcome], expected: str) -> None:
    (problem,) = problems(change(WELL))
    assert expected in problem
