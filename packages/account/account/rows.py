"""Lines of a report: what was shown, what failed and what could not be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from facts.concepts.foreign_text import without_controls

Result = Literal["shown", "failed", "warning", "not shown"]
_MARKS: Final[Mapping[Result, str]] = {"shown": "✓", "failed": "✗", "warning": "!", "not shown": "–"}


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """One line. ``detail``: what was observed, or why it was not. ``remedy``: empty if there is nothing to do."""

    id: str
    title: str
    result: Result
    detail: str
    remedy: str = ""


def passed(rows: Sequence[ShownRow]) -> bool:
    """Whether something was shown, and nothing failed."""
    return any(row.result == "shown" for row in rows) and not any(row.result == "failed" for row in rows)


def lines(rows: Sequence[ShownRow]) -> Iterator[str]:
    """The rows as the terminal shows them; texts of others without commands to it."""
    for row in rows:
        unseen = "not shown: " if row.result == "not shown" else ""
        yield without_controls(f"{_MARKS[row.result]} {row.title}: {unseen}{row.detail}")
        if row.remedy:
            yield without_controls(f"    {row.remedy}")
