"""Processes of a run are found and ended; those of others are not touched, whatever their ids."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from packages.rehearsal.tests.simulated_cluster import PATIENCE, alive, eventually
from rehearsal.engine.stack import resolve
from rehearsal.run import rehearsal as run
from rehearsal.sandbox import client

pytestmark = pytest.mark.slow

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.1; done"


@contextmanager
def sleeper(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ignores SIGTERM, with these arguments and environment."""
    command = ["/bin/sh", "-c", STUBBORN, "sh", *arguments]
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def record(run_dir: Path, pid: int) -> None:
    facts = {"pid": pid, "pids": {"etcd": pid}, "plugins": "p", "pulumi_home": "h"}
    (run_dir / "sandbox.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("where", ["command line", "environment"])
def test_a_process_is_identified_by_its_run_directory(tmp_path: Path, where: str) -> None:
    folder = f"{tmp_path}/logs"
    with sleeper("x" if where == "environment" else f"--folder={folder}", WHERE=folder if "env" in where else "") as it:
        commands = {process.pid: command for process, command in client.processes(tmp_path).items()}
        assert "while :" in commands[it.pid]
        assert client.processes(tmp_path / "other") == {}
    assert client.processes(tmp_path) == {}


def test_a_folder_whose_name_begins_alike_is_another(tmp_path: Path) -> None:
    path = f"{tmp_path / 'lab.old'}:{os.environ['PATH']}"
    with sleeper(f"--dir={tmp_path / 'lab-eks'}/sandbox.json", PATH=path) as process:
        assert client.processes(tmp_path / "lab") == {}
        for its in ("lab-eks", "lab.old"):
            assert process.pid in {each.pid for each in client.processes(tmp_path / its)}


def test_a_process_that_does_not_end_is_killed_and_reported(tmp_path: Path) -> None:
    with sleeper(str(tmp_path)) as process:
        killed = client.ended(tmp_path)
        assert any(line.startswith(f"{process.pid} (/bin/sh") for line in killed)
        eventually("it has ended", lambda: not alive(process.pid))
    assert client.ended(tmp_path) == ()


def test_a_sandbox_left_behind_is_ended(tmp_path: Path) -> None:
    with sleeper(str(tmp_path)) as process:
        record(tmp_path, process.pid)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "STOP_TIMEOUT_SECONDS", 0.2)
            assert client.stop_left_behind(tmp_path) == [tmp_path]
        assert not alive(process.pid)
    assert client.stop_left_behind(tmp_path) == [], "its record alone is no sandbox"


def test_a_process_that_only_has_a_recorded_id_is_left_alone(tmp_path: Path) -> None:
    with sleeper("somebody else's") as process:
        record(tmp_path, process.pid)
        assert client.stop_left_behind(tmp_path) == []
        assert psutil.pid_exists(process.pid)
        assert process.poll() is None


def test_a_sandbox_that_ctrl_c_caught_at_its_start_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []

    def start(run_dir: Path, **_: object) -> None:
        started.append(subprocess.Popen(["/bin/sh", "-c", STUBBORN, "sh", str(run_dir)], text=True))
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "SandboxHandle", start)
    options = run.Options(tools=tmp_path, gate=None, build=tmp_path)
    finished = run.Rehearsal(resolve("dev"), options, Console(file=io.StringIO())).run()
    assert finished.record.reasons == ["interrupted during start the sandbox"]
    (process,) = started
    try:
        assert process.wait(PATIENCE) == -signal.SIGKILL
    finally:
        process.kill()
    assert client.processes(tmp_path) == {}
