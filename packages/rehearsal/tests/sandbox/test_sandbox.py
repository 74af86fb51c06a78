"""The background process: it says when it is ready, and nothing of it survives its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import PATIENCE, alive, eventually, tools
from rehearsal.sandbox import client

pytestmark = pytest.mark.rehearsal

ROOT = Path(__file__).parents[4]


def start(run_dir: Path, tools: Path | None) -> subprocess.Popen[bytes]:
    options = {"tools": tools and str(tools), "clouds": ["gcp"]}
    command = [sys.executable, "-m", "rehearsal.sandbox", str(run_dir), json.dumps(options)]
    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / "sandbox.log").open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=ROOT)


@contextmanager
def sandbox(run_dir: Path, *, control_plane: bool = True) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A ready sandbox and what it says about itself; killed at the end if it still runs."""
    process = start(run_dir, tools() if control_plane else None)
    try:
        eventually("the sandbox is ready", lambda: (run_dir / "sandbox.json").exists() or process.poll() is not None)
        assert process.poll() is None, (run_dir / "sandbox.log").read_text()
        yield process, json.loads((run_dir / "sandbox.json").read_text())
    finally:
        process.kill()
        process.communicate()


def children(facts: dict[str, Any]) -> list[int]:
    pids: list[int] = list(facts["pids"].values())
    assert len(pids) >= 5
    return pids


@pytest.mark.parametrize("how", ["input closes", "SIGKILL"])
def test_nothing_survives(tmp_path: Path, how: str) -> None:
    with sandbox(tmp_path) as (process, facts):
        pids = children(facts)
        assert process.stdin is not None
        process.stdin.close() if how == "input closes" else process.kill()
        assert process.wait(PATIENCE) == (-signal.SIGKILL if how == "SIGKILL" else 0)
        eventually("every process has ended", lambda: not any(map(alive, pids)))


def test_a_kept_sandbox_outlives_its_parent_and_ends_on_sigterm(tmp_path: Path) -> None:
    with sandbox(tmp_path) as (process, facts):
        assert process.stdin is not None
        process.stdin.write(b"keep\n")
        process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        assert all(map(alive, children(facts)))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not any(map(alive, children(facts)))


def test_two_sandboxes_side_by_side_share_nothing_and_each_ends_by_a_signal(tmp_path: Path) -> None:
    with sandbox(tmp_path / "one") as (first, one), sandbox(tmp_path / "two") as (second, two):
        assert not set(one["ports"].values()) & set(two["ports"].values())
        assert not set(children(one)) & set(children(two))
        first.terminate()
        assert first.wait(PATIENCE) == 0
        assert not any(map(alive, children(one)))
        assert all(map(alive, children(two)))
        second.send_signal(signal.SIGINT)
        assert second.wait(PATIENCE) == 0
        assert not any(map(alive, children(two)))


def test_a_dead_part_ends_the_sandbox_with_the_reason(tmp_path: Path) -> None:
    with sandbox(tmp_path) as (process, facts):
        os.kill(facts["pids"]["kube-scheduler"], signal.SIGKILL)
        assert process.wait(PATIENCE) == 1
        assert not any(map(alive, children(facts)))
    assert "kube-scheduler ended with signal SIGKILL" in (tmp_path / "sandbox.log").read_text()


def test_a_preview_needs_no_control_plane_and_no_tools(tmp_path: Path) -> None:
    with sandbox(tmp_path, control_plane=False) as (process, facts):
        assert facts["pids"] == {}
        assert facts["kubeconfig"] is None
        assert facts["ports"].keys() == {"gcp", "kubernetes"}
        launchers = Path(facts["pulumi_home"]).rglob("pulumi-resource-*")
        assert {path.name for path in launchers} >= {"pulumi-resource-gcp", "pulumi-resource-kubernetes"}
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_missing_tools_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    process = start(tmp_path / "run", tmp_path)
    assert process.wait(PATIENCE) == 1
    process.communicate()
    text = (tmp_path / "run" / "sandbox.log").read_text()
    assert "make tools" in text
    assert "Traceback" not in text
    assert not (tmp_path / "run" / "sandbox.json").exists()


def test_a_program_that_cannot_start_ends_the_sandbox(tmp_path: Path) -> None:
    broken = tmp_path / "tools"
    shutil.copytree(tools(), broken, copy_function=os.symlink)
    (broken / "etcd").unlink()
    (broken / "etcd").write_text("#!/bin/sh\necho disk full >&2\nexit 1\n")
    (broken / "etcd").chmod(0o755)
    process = start(tmp_path / "run", broken)
    assert process.wait(PATIENCE) == 1
    process.communicate()
    text = (tmp_path / "run" / "sandbox.log").read_text()
    assert "etcd ended with exit code 1" in text
    assert "disk full" in text


def test_calls_that_never_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_TIMEOUT_SECONDS", 0.3)
    handle: Any = SimpleNamespace(_ask=lambda request: {"running": 2, "injected": [], "ids": {}})
    with pytest.raises(client.SandboxError, match="still work on 2 calls after 0 s"):
        client.SandboxHandle.calls(handle)
