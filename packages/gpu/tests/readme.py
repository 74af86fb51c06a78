"""The session with ``gpu`` in docs/workloads.md: its stack, its commands and their output."""

from __future__ import annotations

import re
from typing import Final

from tests.stacks import ROOT

_PAGE: Final = (ROOT / "docs" / "workloads.md").read_text()
_SECTION: Final = _PAGE.partition("## What it looks like")[2].partition("\n## ")[0]
_BLOCKS: Final = re.findall(r"^```\n(\$ .*?)^```$", _SECTION, re.MULTILINE | re.DOTALL)


def _steps(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command.strip(), shown) for command, _, shown in (part.partition("\n") for part in parts)]


STACK: Final = ROOT / re.findall(r"`make rehearse STACK=(\S+) KEEP=1`", _SECTION)[0]

SESSION: Final[list[tuple[str, str]]] = [step for block in _BLOCKS for step in _steps(block)]
"""Commands in their order, each with what it prints."""

# States that following a job may miss.
_TRANSIENT: Final = (
    "no pods created yet",
    "no node fits; waiting for the autoscaler",
    "provisioning a node",
)


def comparable(command: str, printed: str) -> str:
    """The part of a command's output that does not depend on timing.

    Removed: trailing spaces, transient states, whether a node is up when a job is submitted, and what grows while a job
    runs (hours, dollars and the width of their columns).
    """
    lines = [line.rstrip() for line in printed.strip().splitlines() if line not in _TRANSIENT]
    text = "\n".join(lines)
    if command.startswith("gpu cost"):
        text = re.sub(r"\d+\.\d+", "N", re.sub(r" +", " ", text))
    if command.startswith("gpu submit"):
        text = re.sub(r"; (no node|\d+ nodes?) up.*", "", text)
    return text
