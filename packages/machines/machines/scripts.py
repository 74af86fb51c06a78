"""The phases: POSIX scripts that run on a machine, fed on standard input with their variables before them."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).with_name("scripts")


@dataclass(frozen=True)
class Phase:
    """One script. ``seconds``: after which the session is given up; ``writes``: whether it may change the machine."""

    name: str
    seconds: int
    writes: bool = True


FACTS: Final = Phase("facts", 300, writes=False)
PREPARE: Final = Phase("prepare", 1800)
DRIVER: Final = Phase("driver", 3600)
INIT: Final = Phase("init", 1800)
JOIN: Final = Phase("join", 900)
TOKEN: Final = Phase("token", 120, writes=False)
USER: Final = Phase("user", 120, writes=False)
NODE: Final = Phase("node", 4500, writes=False)
UPGRADE: Final = Phase("upgrade", 3600)
RESET: Final = Phase("reset", 900)
RESTORE: Final = Phase("restore", 1800)

VERSION: Final = 4
"""Of what the phases make of a machine, as in ``common.sh``: machines of an earlier one are brought in order."""


@functools.cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name}.sh").read_text(encoding="utf-8")


def on_machine(name: str) -> str:
    """The text of a command that stays on a machine."""
    return (_FOLDER / "on_machine" / f"{name}.sh").read_text(encoding="utf-8").rstrip("\n")


def compose(phase: Phase, variables: Mapping[str, str]) -> str:
    """What goes to ``sh -s``. The whole phase is one function, so that nothing in it reads the script as its input."""
    assignments = "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items()))
    return f"# phase: {phase.name}\n{assignments}{_text('common')}{_text(phase.name)}\nmain </dev/null\n"


def answer(output: str) -> dict[str, Any] | None:
    """The last line of a phase's output, its JSON object; None if it gave none."""
    lines = output.strip().splitlines()
    try:
        value = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
