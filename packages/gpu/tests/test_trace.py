"""Traces: what a file says, all that is wrong in it, and generated ones."""

from __future__ import annotations

import pytest

from facts.jobs.trace import TraceError, TraceJob, read_trace, written
from facts.jobs.trace_generator import PATTERNS, Pattern, generated

HEADER = "submit_seconds,gpus,gpu,workers,duration_seconds,max_wait_seconds,priority\n"


def test_a_trace_has_a_job_per_line_in_order_of_submission() -> None:
    text = HEADER + "60,4,a100,2,3600,900,5\n\n0,1,,,30,,\n"
    assert read_trace(text, "t.csv") == (
        TraceJob(submit=0, gpus=1, duration=30),
        TraceJob(submit=60, gpus=4, gpu="a100", workers=2, duration=3600, max_wait=900, priority=5),
    )


def test_three_columns_are_enough_in_any_order() -> None:
    assert read_trace("duration_seconds,submit_seconds,gpus\n1.5,2,3\n", "t") == (
        TraceJob(submit=2, gpus=3, duration=1.5),
    )


def test_all_problems_are_listed_with_line_and_column() -> None:
    text = HEADER + "0,0,,1,30,,\n-1,1,,x,0,soon,high\n1,2\n0,1,,1,30,,\n"
    with pytest.raises(TraceError) as raised:
        read_trace(text, "t.csv")
    assert raised.value.problems == (
        "t.csv:2: column gpus: '0': write a whole number, at least 1",
        "t.csv:3: column submit_seconds: '-1': write seconds since the start of the trace",
        "t.csv:3: column workers: 'x': write a whole number, at least 1",
        "t.csv:3: column duration_seconds: '0': write seconds, more than 0",
        "t.csv:3: column max_wait_seconds: 'soon': write seconds, or nothing",
        "t.csv:3: column priority: 'high': write a whole number; higher starts first",
        "t.csv:4: 2 cells, the header has 7",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpus,duration_seconds\n1,1\n", "t:1: no column submit_seconds"),
        ("submit_seconds,gpus,duration_seconds,gpus\n", "t:1: column gpus: write submit_seconds, gpus, "),
        ("submit_seconds,gpus,duration_seconds,color\n", "t:1: column color: write submit_seconds, gpus, "),
        ("submit_seconds,gpus,duration_seconds\n", "t: no jobs"),
        ("", "t:1: no column submit_seconds"),
    ],
)
def test_a_wrong_header_is_one_problem_each(text: str, problem: str) -> None:
    with pytest.raises(TraceError, match=problem):
        read_trace(text, "t")


def test_a_message_lists_twenty_problems_and_counts_the_rest() -> None:
    with pytest.raises(TraceError) as raised:
        read_trace("submit_seconds,gpus,duration_seconds\n" + "0,0,1\n" * 25, "t")
    assert str(raised.value).splitlines()[-1] == "and 5 more"
    assert len(str(raised.value).splitlines()) == 21


def test_a_gpu_is_a_type_or_the_least_memory() -> None:
    memory = {gpu: TraceJob(submit=0, duration=1, gpu=gpu).gpu_memory_gib for gpu in ("24GB", "40 GiB", "80Gi", "l4")}
    assert memory == {"24GB": 24, "40 GiB": 40, "80Gi": 80, "l4": None}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_generated_trace_is_read_as_it_was_written_and_the_same_for_a_seed(pattern: Pattern) -> None:
    jobs = generated(pattern, jobs=100, days=3, seed=1, largest=4)
    assert len(read_trace(written(jobs), "t")) == 100
    assert jobs == generated(pattern, jobs=100, days=3, seed=1, largest=4)
    assert jobs != generated(pattern, jobs=100, days=3, seed=2, largest=4)
    assert all(0 <= job.submit <= 3 * 86_400 + 600 and job.gpus in (1, 2, 4) for job in jobs)


def test_by_day_there_are_more_jobs_than_at_night() -> None:
    hours = [job.submit / 3600 % 24 for job in generated("diurnal", jobs=400, days=7, seed=1)]
    assert sum(6 <= hour < 18 for hour in hours) > 300


def test_runs_of_a_sweep_are_equal_and_submitted_together() -> None:
    jobs = generated("sweep", jobs=48, days=1, seed=1)
    assert len(set(jobs)) == 2
