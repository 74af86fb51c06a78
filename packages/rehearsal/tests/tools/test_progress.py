"""What is shown while a stage runs, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.tools.progress import Progress, duration


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _run_stage(out: io.StringIO) -> str:
    with Progress(out, interval=0.01).stage("etcd: build", "about 6 s") as stage:
        stage.detail = "7 packages compiled, " * 40
        eventually("its detail is shown", lambda: "7 packages" in out.getvalue())
    return out.getvalue()


def test_a_log_gets_whole_lines() -> None:
    first, *between, last = _run_stage(io.StringIO()).splitlines()
    assert first == "etcd: build (about 6 s) …"
    assert between
    assert all(line.startswith("  etcd: build: 0") for line in between)
    assert last.startswith("etcd: build: done in 0")


def test_a_terminal_gets_one_line_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = _run_stage(_Terminal())
    assert shown.count("\n") == 2
    updates = shown.split("\r\x1b[K")[1:-1]
    assert any("7 packages" in update for update in updates)
    assert all(len(update) < 60 for update in updates)


def test_a_failed_stage_says_so() -> None:
    out = io.StringIO()
    with pytest.raises(ValueError, match="broken"), Progress(out).stage("etcd: build"):
        raise ValueError("broken")
    assert "etcd: build: failed after 0 s" in out.getvalue()


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.12, 12, 187)] == ["0.1 s", "12 s", "3 min 07 s"]
