"""What ``make`` hands down: its variables, which are options of the commands; and the list of its targets.

Runs before ``.venv`` exists, on the standard library alone.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLES: Final = (
    "ACCOUNT", "ALL", "APPLY", "ARGS", "BASE", "CASE", "CHARTS", "CLIENT", "CLUSTER", "CLUSTER_AUTOSCALER", "DAYTWO",
    "EVENTS", "FROM", "JOBS", "KEEP", "N", "NODES", "OBJECTS", "PACK", "PLUGINS", "PROGRAM", "PYTHON", "REFRESH",
    "SECONDS", "SECRETS", "SEED", "STACK", "STACKS", "TRACE", "UPDATE", "VERSION", "WORKERS",
)  # fmt: skip
"""Those that an option of a command reads, and ``PYTHON``, which the Makefile itself reads."""

SWITCHES: Final = ("ALL", "KEEP", "OBJECTS", "REFRESH", "SECRETS", "UPDATE")
_VALUES: Final = ("1", "yes", "true", "0", "no", "false", "")

_OTHERS: Final = re.compile(r"GPUCLUSTER_\w+|SHELL|MAKE\w*|\.\w+")
_WORD: Final = re.compile(r"(?:\\.|[^\s\\])+")
_TARGET: Final = re.compile(r"^([a-z-]+):.*?## (.*)$", re.MULTILINE)


class UnknownVariable(Exception):
    """A misspelt variable, which make would ignore in silence, or a value that a switch does not have."""


def written(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables on make's command line; none outside of make. Raises UnknownVariable.

    They follow ``--`` in MAKEFLAGS, with a backslash before each blank and backslash, and ``$`` twice:
    https://www.gnu.org/software/make/manual/html_node/Options_002fRecursion.html
    """
    _, _, assignments = f" {environment.get('MAKEFLAGS', '')}".partition(" -- ")
    words = (re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in _WORD.findall(assignments))
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    for name, value in variables.items():
        if name not in VARIABLES and not _OTHERS.fullmatch(name):
            close = difflib.get_close_matches(name.upper(), VARIABLES, n=1)
            advice = f"Did you mean {close[0]}?" if close else f"There are {', '.join(VARIABLES)}"
            raise UnknownVariable(f"make has no variable {name}. {advice}")
        if name in SWITCHES and value not in _VALUES:
            raise UnknownVariable(f"{name}={value}: write one of {' '.join(_VALUES).strip()}")
    return variables


def targets(makefile: Path, width: int = 80) -> str:
    """The targets with what they do, as lines of at most ``width`` columns."""
    return "\n".join(
        textwrap.fill(
            text, width, initial_indent=f"make {name:16} ", subsequent_indent=" " * 22, break_on_hyphens=False
        )
        for name, text in _TARGET.findall(makefile.read_text(encoding="utf-8"))
    )


def main() -> int:
    """Print the targets; 2 if a variable is misspelt."""
    try:
        written(os.environ)
    except UnknownVariable as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{targets(Path('Makefile'))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
