"""Runs the programs that set-up needs and turns a failure into an explanation."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from typing import Final

LAST_LINES: Final = 20


class ToolsError(Exception):
    """Installing failed; the message says what happened and what to do."""


class ToolsMissing(ToolsError):
    """The binaries are not installed."""

    def __init__(self, where: str, missing: list[str]) -> None:
        super().__init__(
            f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. "
            "Run `make tools` (the first time a few minutes; about 20 on 2 cores where all is compiled)."
        )
        self.missing = tuple(missing)


class NoSpace(ToolsError):
    """A disk has too little room left for a build."""


def run(command: Sequence[str], what: str, advice: str) -> None:
    """Run ``command`` quietly. Raises ToolsError saying ``what`` failed, the command, its last lines and ``advice``."""
    answer = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if answer.returncode:
        what = f"{what} failed with exit code {answer.returncode}"
        raise ToolsError(explanation(what, shlex.join(command), answer.stdout.splitlines(), advice))


def explanation(what: str, command: str, lines: Sequence[str], advice: str) -> str:
    """A failure in four parts, for the terminal."""
    heading = "  its last lines:" if lines else "  it printed nothing"
    last = [f"    {line}" for line in lines[-LAST_LINES:]]
    return "\n".join([f"{what}.", f"  command: {command}", heading, *last, f"  what to try: {advice}"])
