"""What `prove` prints on the page, and the part of it that depends on no names of nodes and on no times."""

from __future__ import annotations

import re
from typing import Final

from packages.gpu.tests.readme import Session, session

PAGE: Final[Session] = session("proving.md", "What it looks like")
_VARIES: Final = (
    (re.compile(r"\n  (?:    )?(?! )"), " "),
    (re.compile(r"\b(on|node) t4-[a-z0-9-]+"), r"\1 NODE"),
    (re.compile(r"[\d.]+ (?:s|min)\b"), "N s"),
    (re.compile(r"0/\d+ nodes are available: .*"), "0/N nodes are available"),
    (re.compile(r"at most \$[\d.]+( at list|\. Report)"), r"at most $N\1"),
    (re.compile(r"(Differences from the rehearsal): \d+"), r"\1: N"),
)
_PROGRESS: Final = re.compile(r"\S+: (?:node NODE|the job) .*")


def comparable(printed: str) -> list[str]:
    """The lines, unwrapped; progress, which comes in any order, at their end."""
    for pattern, text in _VARIES:
        printed = pattern.sub(text, printed)
    lines = printed.strip().splitlines()
    progress = [line for line in lines if _PROGRESS.fullmatch(line)]
    return [line for line in lines if line not in progress] + sorted(progress)
