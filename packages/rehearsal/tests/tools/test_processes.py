"""The installer as processes: interrupted, killed, and two at a time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packages.rehearsal.tests.fake_go import FakeGo
from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually

_PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def go(tmp_path: Path) -> FakeGo:
    return FakeGo.make(tmp_path / "go")


@pytest.fixture
def start(tmp_path: Path, go: FakeGo) -> Callable[..., subprocess.Popen[str]]:
    def run(**variables: str) -> subprocess.Popen[str]:
        environ = {**os.environ, "PATH": str(go.folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache")}
        environ |= {"GPUCLUSTER_TOOLS_FROM": "source", **variables}
        command, pipe = [sys.executable, "-m", "rehearsal.tools", "actionlint"], subprocess.PIPE
        return subprocess.Popen(command, cwd=_PROJECT, env=environ, text=True, stdout=pipe, stderr=pipe)

    return run


def _temporary(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").glob("tmp-*")]


def test_the_last_line_is_the_folder(start: Callable[[], subprocess.Popen[str]], tmp_path: Path) -> None:
    output, errors = start().communicate(timeout=PATIENCE)
    folder = Path(output.splitlines()[-1])
    assert folder.parent == tmp_path / "cache"
    assert (folder / "actionlint").exists()
    assert "tools: ready after" in errors


def test_a_failed_build_is_exit_code_1(start: Callable[[], subprocess.Popen[str]], go: FakeGo) -> None:
    go.steer("fail", "undefined: frobnicate")
    process = start()
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (1, "")
    assert "undefined: frobnicate" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(
    start: Callable[[], subprocess.Popen[str]], go: FakeGo, tmp_path: Path, number: signal.Signals
) -> None:
    go.steer("hang")
    process = start()
    eventually("the build hangs", (go.folder / "hanging").exists)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)  # returns only when Go, which holds the pipe, has ended too
    assert process.returncode == 130
    assert "Nothing is half-installed" in errors
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


@pytest.mark.skipif(sys.platform != "linux", reason="archives are pinned for Linux alone")
def test_an_interrupted_download_leaves_nothing(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mirror = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = start(GPUCLUSTER_TOOLS_FROM="auto", GPUCLUSTER_TOOLS_MIRROR=mirror, no_proxy="127.0.0.1")
        silent.settimeout(PATIENCE)
        with silent.accept()[0] as connection:
            assert connection.recv(1000).startswith(b"GET /github.com/rhysd/actionlint/releases/download/v")
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Nothing is half-installed" in errors
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_a_killed_builds_files_go(start: Callable[[], subprocess.Popen[str]], go: FakeGo, tmp_path: Path) -> None:
    go.steer("hang")
    killed = start()
    eventually("the build hangs", (go.folder / "hanging").exists)
    killed.kill()
    killed.wait()
    (left,) = _temporary(tmp_path)
    go.release("hang")
    output, errors = start().communicate(timeout=PATIENCE)
    assert f"removed what an interrupted run left: {left}" in errors
    assert _temporary(tmp_path) == []
    assert (Path(output.strip()) / "actionlint").exists()


def test_of_two_at_once_the_second_uses_the_result(start: Callable[[], subprocess.Popen[str]], go: FakeGo) -> None:
    go.steer("hang")
    first = start()
    eventually("the build hangs", (go.folder / "hanging").exists)
    second = start()
    assert second.stderr is not None
    assert f"waiting for process {first.pid}" in second.stderr.readline()
    go.release("hang")
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in (first, second)]
    assert outputs[0] == outputs[1]
    assert len(go.calls("build")) == 1


def test_an_unknown_module_lists_the_known_ones(start: Callable[[], subprocess.Popen[str]], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rehearsal.tools", "kubernets"]
    answer = subprocess.run(command, cwd=_PROJECT, text=True, capture_output=True)
    assert answer.returncode == 1
    assert "no module called kubernets; there are kubernetes, karpenter, kwok" in answer.stderr
