"""Runs the command line's rehearsal and reads its report, for the tests of several files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from rehearsal.engine.stack import ROOT, stack_name
from rehearsal.sandbox import client

REPORTS = ROOT / "build" / "rehearsal"

LONGEST: Final = 1800.0
"""Seconds after which a test gives up on a whole rehearsal; most take one to three minutes."""


def rehearse(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpucluster", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def passes(stack: str, *arguments: str) -> dict[str, Any]:
    """Rehearse a stack that must pass, with further ``arguments``, without changes of its settings unless they ask.

    Its report, after checks that hold for every stack on every cloud.
    """
    if "--day-two" not in arguments:
        arguments = (*arguments, "--day-two", "none")
    before = {path: path.read_bytes() for path in ROOT.glob("*.yaml")}
    process = rehearse("rehearse", stack, *arguments)
    output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report: dict[str, Any] = json.loads((REPORTS / stack_name(Path(stack)) / "report.json").read_text())
    assert report["verdict"] == "pass"
    assert report["reasons"] == []
    assert report["logs"] is None
    assert report["systemPodsOnGpuNodes"] == []
    gpu_pools = [pool for pool in report["pools"] if pool["gpu"]]
    assert gpu_pools
    for pool in gpu_pools:
        sizes = report["overTime"]["nodes"][pool["name"]]
        assert (sizes[0], sizes[-1]) == (0, 0)
        assert 1 <= pool["peak"] <= pool["maxNodes"]
    plain = next(workload for workload in report["workloads"] if workload["id"] == "gpu-pod")
    assert {pod["pool"] for pod in plain["pods"]} <= {
        pool["name"] for pool in gpu_pools if pool["gpusPerNode"] == min(one["gpusPerNode"] for one in gpu_pools)
    } | {None}
    assert report["cost"]["peakHourlyUsd"] > report["cost"]["idleHourlyUsd"] > 0
    assert {path: path.read_bytes() for path in ROOT.glob("*.yaml")} == before
    assert client.processes(REPORTS / stack_name(Path(stack))) == {}
    return report
