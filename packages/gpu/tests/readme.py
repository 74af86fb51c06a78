"""The sessions with ``gpu`` in docs/: the stack of each, its commands and their output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.stacks import ROOT


@dataclass(frozen=True)
class Session:
    """A section of a page: the stack that it is rehearsed on, and commands in their order, with what each prints."""

    stack: Path
    steps: tuple[tuple[str, str], ...]


def session(page: str, heading: str) -> Session:
    """The session below a heading of a page."""
    section = (ROOT / "docs" / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (stack,) = re.findall(r"`make rehearse STACK=(\S+) KEEP=1`", section)
    blocks = re.findall(r"^```\n(\$ .*?)^```$", section, re.MULTILINE | re.DOTALL)
    return Session(ROOT / stack, tuple(step for block in blocks for step in _steps(block)))


def _steps(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command.strip(), shown) for command, _, shown in (part.partition("\n") for part in parts)]


README: Final = session("workloads.md", "What it looks like")
CLOUDS: Final = {cloud: session("gpu-on-each-cloud.md", cloud.upper()) for cloud in ("gke", "eks", "aks")}

ASKS: Final = ("pools", "fit", "why", "list", "cost")
"""What changes nothing: asked again until the answer is the one that the page shows."""

# States that following a job may miss.
_TRANSIENT: Final = re.compile(
    "no pods created yet|no node fits; waiting for the autoscaler|provisioning a node|its node [a-z0-9.-]+ "
    "(?:has joined and is not ready yet|waits for its GPU driver|is ready; the scheduler has not placed the pod there|"
    "is ready and other pods are there; waiting for the autoscaler)"
)


def comparable(command: str, printed: str) -> str:
    """The part of a command's output that does not depend on timing.

    Removed: trailing spaces, transient states, whether a node is up when a job is submitted, the random ends of pods'
    names, and what grows while a job is there (age, hours, dollars and the width of their columns).
    """
    lines = [line.rstrip() for line in printed.strip().splitlines() if not _TRANSIENT.fullmatch(line)]
    text = "\n".join(lines)
    if command.startswith("gpu cost"):
        text = re.sub(r"\d+\.\d+", "N", re.sub(r" +", " ", text))
    if command.startswith("gpu list"):
        text = re.sub(r" \d+[smhd] ", " N ", re.sub(r" +", " ", text))
    if command.startswith("gpu stop"):
        text = re.sub(r"\$\d+\.\d+ so far", "$N so far", text)
    if command.startswith(("gpu submit", "gpu dev")):
        text = re.sub(r"; (no node|\d+ nodes?) up.*", "", text)
    return re.sub(r"(pods?/?\S*/dev)-[a-z0-9]{5}\b", r"\1-…", text)
