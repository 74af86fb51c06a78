"""Files that a run leaves next to its report, even if it passed: logs of real programs and their calls to the cloud."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from rehearsal.scenario import cloud_calls

FOLDER: Final = "evidence"
_PATTERNS: Final = ("pods/*.log", cloud_calls.FILES)
"""In the run's ``logs``: the logs of pods whose program really ran, and the calls that a simulated cloud answered."""


def keep(run_dir: Path, folder: Path) -> tuple[Path, ...]:
    """Copy them to ``folder/evidence``, replacing those of the last run; returns the copies."""
    target = folder / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    logs = run_dir / "logs"
    files = sorted(path for pattern in _PATTERNS for path in logs.glob(pattern))
    for path in files:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / path.name)
    return tuple(target / path.name for path in files)
