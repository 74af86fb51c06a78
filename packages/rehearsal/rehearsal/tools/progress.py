"""Runs the programs that set-up needs, explains a failure, and shows stages with their times on stderr.

That is a line that updates itself on a terminal, a line now and then in a log.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

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


_LOG_SECONDS: Final = 30.0
_TERMINAL_SECONDS: Final = 1.0


@dataclass
class RunningStage:
    """A running stage; ``detail`` is shown beside the elapsed time and may be set from the work's own loop."""

    detail: str = ""


class Progress:
    """Prints what happens, and how long each stage took, to ``out`` (default: stderr)."""

    def __init__(self, out: TextIO | None = None, interval: float | None = None) -> None:
        self._out = out or sys.stderr
        self._terminal = self._out.isatty()
        self._interval = interval or (_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS)

    def say(self, text: str) -> None:
        """Print a line at once."""
        print(text, file=self._out, flush=True)

    @contextlib.contextmanager
    def stage(self, name: str, expect: str = "") -> Iterator[RunningStage]:
        """Announce ``name`` with what to ``expect``, show the elapsed time meanwhile and the time taken at the end."""
        stage, done, start = RunningStage(), threading.Event(), time.monotonic()
        self.say(f"{name}{f' ({expect})' if expect else ''} …")
        ticker = threading.Thread(target=self._tick, args=(name, stage, done, start), daemon=True)
        ticker.start()
        outcome = "failed after"
        try:
            yield stage
            outcome = "done in"
        finally:
            done.set()
            ticker.join()
            self._erase()
            self.say(f"{name}: {outcome} {duration(time.monotonic() - start)}")

    def _tick(self, name: str, stage: RunningStage, done: threading.Event, start: float) -> None:
        while not done.wait(self._interval):
            detail = f", {stage.detail}" if stage.detail else ""
            line = f"  {name}: {duration(time.monotonic() - start)}{detail}"
            if self._terminal:
                self._erase()
                # A wrapped line could not be erased.
                print(line[: shutil.get_terminal_size().columns - 1], end="", file=self._out, flush=True)
            else:
                self.say(line)

    def _erase(self) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=self._out, flush=True)


def duration(seconds: float) -> str:
    """``4.2 s`` or ``3 min 07 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
