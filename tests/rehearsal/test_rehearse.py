"""The rehearsal itself, on the real engine, control plane and autoscaler: stacks that must pass, and rude endings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from rehearsal import leftovers
from rehearsal.tools import ToolsMissing, folder
from tests.rehearsal.rehearsals import REPORTS, passes, rehearse

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    try:
        folder()
    except ToolsMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "stack",
    [
        "dev",
        *(pytest.param(f"examples/gke-{name}.yaml", marks=pytest.mark.exhaustive) for name in ("tips", "per-gpu-type")),
    ],
)
def test_a_stack_passes_and_its_report_says_what_was_seen(stack: str) -> None:
    report = passes(stack)
    plain = next(workload for workload in report["workloads"] if workload["id"] == "gpu-pod")
    assert plain["pods"][0]["pool"]


@pytest.mark.parametrize("seconds", [3, 20])
def test_ctrl_c_ends_everything_and_leaves_a_report(seconds: float) -> None:
    process = rehearse("run", "--stack", "examples/gke-tips.yaml")
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    report = json.loads((REPORTS / "gke-tips" / "report.json").read_text())
    assert report["verdict"] == "fail"
    assert report["reasons"][0].startswith("interrupted during ")
    assert leftovers.processes(REPORTS / "gke-tips") == {}


def test_a_killed_rehearsal_takes_its_world_along() -> None:
    process = rehearse("run", "--stack", "examples/gke-tips.yaml")
    _wait_for_world(process.pid)
    process.kill()
    process.communicate(timeout=10)
    deadline = time.monotonic() + 30
    while (left := leftovers.processes(REPORTS / "gke-tips")) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == {}


def test_a_world_that_dies_is_the_reason() -> None:
    process = rehearse("run", "--stack", "examples/gke-tips.yaml")
    os.kill(_wait_for_world(process.pid), signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    report = json.loads((REPORTS / "gke-tips" / "report.json").read_text())
    assert report["verdict"] == "fail"
    assert leftovers.processes(REPORTS / "gke-tips") == {}


def test_a_kept_cluster_answers_until_it_is_stopped() -> None:
    process = rehearse("run", "--stack", "examples/gke-tips.yaml", "--keep")
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    kubeconfig = next(line.split("=", 1)[1] for line in output.splitlines() if "export KUBECONFIG=" in line)
    command = [folder() / "kubectl", "--kubeconfig", kubeconfig, "get", "nodes", "-o", "name"]
    nodes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(nodes) == 1
    stopped, _ = rehearse("stop", "--stack", "examples/gke-tips.yaml").communicate(timeout=60)
    assert "stopped" in stopped
    assert leftovers.processes(REPORTS / "gke-tips") == {}


def _wait_for_world(pid: int) -> int:
    """The pid of the ready world that the command line ``pid`` started."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        for record in REPORTS.glob(f"gke-tips/runs/*-{pid}/world.json"):
            world: int = json.loads(record.read_text())["pid"]
            return world
        time.sleep(0.1)
    raise AssertionError("no world became ready")
