"""Finds processes that belong to a run, by the run directory in their command line or environment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

_GRACE_SECONDS: Final = 2.0


def processes(run_dir: Path) -> dict[int, str]:
    """Living processes of this user that name ``run_dir``, with their command lines; this process is left out."""
    found = _from_proc(run_dir) if Path("/proc/self/environ").exists() else _from_ps(run_dir)
    found.pop(os.getpid(), None)
    return found


def ended(run_dir: Path) -> tuple[str, ...]:
    """Give a run's processes a moment to end, then kill what is left; returns those that had to be killed."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := processes(run_dir)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return tuple(f"{pid} ({command[:80]})" for pid, command in left.items())


def _from_proc(run_dir: Path) -> dict[int, str]:
    needle, found = str(run_dir).encode(), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # Other users' processes are unreadable, and any process may end while it is read.
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if needle in command or needle in (entry / "environ").read_bytes():
                found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def _from_ps(run_dir: Path) -> dict[int, str]:
    listed = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, text=True, check=False).stdout
    rows = (line.strip().split(None, 1) for line in listed.splitlines())
    return {int(row[0]): row[1] for row in rows if len(row) == 2 and str(run_dir) in row[1]}
