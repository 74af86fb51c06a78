"""What runs leave behind: processes, told by the run directory in their command line or environment, and folders."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from pathlib import Path
from typing import Final

import psutil

_GRACE_SECONDS: Final = 2.0
_KEPT_RUNS: Final = 3


def processes(run_dir: Path) -> dict[psutil.Process, str]:
    """Living processes of this user that name ``run_dir``, with their command lines; this process is left out."""
    # Not of a folder whose name only begins as this one's.
    named, own, commands = re.compile(rf"{re.escape(str(run_dir))}(?![\w.-])"), psutil.Process(), {}
    # What may not be read, of other users' processes, is None.
    for process in psutil.process_iter(["cmdline", "environ"]):
        command, environment = process.info["cmdline"] or (), process.info["environ"] or {}
        if process != own and any(map(named.search, (*command, *environment.values()))):
            commands[process] = " ".join(command)
    return commands


def ended(run_dir: Path) -> tuple[str, ...]:
    """Give a run's processes a moment to end, then kill what is left; returns those that had to be killed."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := processes(run_dir)) and time.monotonic() < deadline:
        psutil.wait_procs(left, timeout=0.1)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return tuple(f"{process.pid} ({command[:80]})" for process, command in left.items())


def delete_old_runs(runs: Path) -> None:
    """Keep the folders of the last runs only; a run that still has processes is not old."""
    if not runs.is_dir():
        return
    for run in sorted(path for path in runs.iterdir() if path.is_dir())[:-_KEPT_RUNS]:
        if not processes(run):
            shutil.rmtree(run, ignore_errors=True)
