"""On rehearsed clusters, a job for each state in which it may wait (``waiting_jobs.yaml``): ``gpu why`` says why."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typing_extensions import override

from packages.rehearsal.tests.lab import REAL
from packages.rehearsal.tests.rehearsals import LONGEST, ROOT
from packages.rehearsal.tests.rehearsals.waiting_jobs import STACKS, Jobs, play_all, states_of
from packages.rehearsal.tests.retained_cluster import RetainedCluster, variables_of
from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import resolve
from rehearsal.run.options import Options
from rehearsal.run.recorder import RetainedCluster as Environment
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.tools import folder

pytestmark = [pytest.mark.rehearsal]


class WaitingJobs(Rehearsal):
    """Jobs that wait take the place of the scenario, and nothing is destroyed."""

    def __init__(self, cloud: str, build: Path) -> None:
        options = Options(tools=folder(), gate=None, build=build)
        super().__init__(resolve(f"examples/{STACKS[cloud]}"), options, Console(file=io.StringIO(), width=160))
        self.problems = ["not played"]

    @override
    def _scenario(self, engine: Engine) -> None:
        assert self._control_plane is not None
        self._planned(engine)
        prepared = Environment.prepare(engine, self.run_dir, self._control_plane / "kubeconfig")
        cluster = RetainedCluster("", variables_of(prepared.environment))
        states = states_of(self._stack.settings.cloud)
        self.problems = play_all(Jobs(cluster, cluster.as_developer()), states)

    @override
    def _destroy(self, engine: Engine) -> None:
        """The sandbox ends with the rehearsal."""


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("cloud", [cloud for cloud in STACKS if cloud != "kubeadm"])
def test_each_state_is_explained(cloud: str, tmp_path: Path) -> None:
    """On EKS with the cloud's own Karpenter."""
    rehearsal = WaitingJobs(cloud, tmp_path)
    finished = rehearsal.run()
    assert rehearsal.problems == [], finished.record.reasons


@REAL
def test_each_state_of_own_machines_is_explained(tmp_path: Path) -> None:
    """With real kubelets; the shell that a rehearsal opens in the machines' network plays the jobs."""
    answer, shell = tmp_path / "problems.json", tmp_path / "shell"
    play = f"{sys.executable} -m packages.rehearsal.tests.rehearsals.waiting_jobs kubeadm {answer}"
    # The packages' own folders, which have tests too, are on the path of the virtual environment.
    shell.write_text(f"#!/bin/sh\ncd {ROOT} && PYTHONPATH={ROOT} exec {play}\n")
    shell.chmod(0o700)
    command = [sys.executable, "-m", "gpucluster", "rehearse", f"examples/{STACKS['kubeadm']}", "--keep"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "SHELL": str(shell)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert answer.exists(), done.stdout + done.stderr
    assert json.loads(answer.read_text()) == []
