"""Processes of a run are found and ended; those of others are not touched, whatever their ids."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from rehearsal import leftovers, world_client
from tests.rehearsal.simulated_cluster import alive, eventually

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
    (run_dir / "world.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("where", ["command line", "environment"])
def test_a_process_is_found_by_its_run_directory(tmp_path: Path, where: str) -> None:
    folder = f"{tmp_path}/logs"
    with sleeper("x" if where == "environment" else f"--folder={folder}", WHERE=folder if "env" in where else "") as it:
        found = {process.pid: command for process, command in leftovers.processes(tmp_path).items()}
        assert "while :" in found[it.pid]
        assert leftovers.processes(tmp_path / "other") == {}
    assert leftovers.processes(tmp_path) == {}


def test_what_does_not_end_by_itself_is_killed_and_told(tmp_path: Path) -> None:
    with sleeper(str(tmp_path)) as process:
        told = leftovers.ended(tmp_path)
        assert any(line.startswith(f"{process.pid} (/bin/sh") for line in told)
        eventually("it has ended", lambda: not alive(process.pid))
    assert leftovers.ended(tmp_path) == ()


def test_a_world_left_behind_is_ended(tmp_path: Path) -> None:
    with sleeper(str(tmp_path)) as process:
        record(tmp_path, process.pid)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world_client, "STOP_TIMEOUT_SECONDS", 0.2)
            assert world_client.stop_left_behind(tmp_path) == [tmp_path]
        assert not alive(process.pid)
    assert world_client.stop_left_behind(tmp_path) == [], "its record alone is no world"


def test_a_process_that_only_has_a_recorded_id_is_left_alone(tmp_path: Path) -> None:
    with sleeper("somebody else's") as process:
        record(tmp_path, process.pid)
        assert world_client.stop_left_behind(tmp_path) == []
        assert psutil.pid_exists(process.pid)
        assert process.poll() is None
