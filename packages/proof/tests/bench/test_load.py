"""``make bench-load``: what counts as late, and one small fleet."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from proof.bench import load
from proof.bench.load import JobPods
from rehearsal.cluster.api import Api, Object


def job_pod(job: str, phase: str, node: str = "") -> Object:
    return {"metadata": {"labels": {"job-name": job}}, "spec": {"nodeName": node}, "status": {"phase": phase}}


def test_a_pod_is_late_against_its_planned_submission_and_its_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = JobPods(cast(Api, None))
    pods.due |= {"a": 100.0, "b": 101.0}
    events = [(100.5, "a", "Pending"), (103.0, "a", "Running"), (101.5, "b", "Running"), (112.0, "b", "Succeeded")]
    for moment, job, phase in [*events, (120.0, "a", "Running"), (121.0, "b", "Succeeded")]:
        monkeypatch.setattr("time.monotonic", lambda moment=moment: moment)
        pods.notice("MODIFIED", job_pod(job, phase, "" if phase == "Pending" else "node"))
    assert pods.late(runs=10) == {"started": [0.5, 3.0], "ended": [0.5]}
    assert pods.nodes == {"node"}


@pytest.mark.rehearsal
def test_a_small_fleet_runs_all_jobs(
    tools: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "MOST_LATE", {"started": 60.0, "ended": 30.0})
    kept_up = load.run(tools, nodes=2, jobs=20, seconds=10)
    lines = capsys.readouterr().out
    assert kept_up, lines
    assert "20 pods started; late by p50" in lines
    assert "20 pods ended; late by p50" in lines
    assert "kube-apiserver: " in lines
