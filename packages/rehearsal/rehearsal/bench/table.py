"""The results as a table: what, how much, the goal, and whether it is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from rehearsal.bench.sample import Sample


@dataclass(frozen=True)
class Goal:
    """One result: a sample in ``unit``, and ``most``, the largest median that meets the goal (none: just a fact)."""

    name: str
    sample: Sample
    unit: str
    most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the median is within the goal; ``None`` when there is none."""
        return None if self.most is None else self.sample.median <= self.most

    def to_json(self) -> dict[str, Any]:
        """The result with its goal."""
        facts = {"name": self.name, "unit": self.unit, "goal": self.most, "met": self.met, "note": self.note}
        return {**facts, **self.sample.to_json()}


def show(console: Console, goals: Sequence[Goal]) -> None:
    """Print the table; medians, with smallest and largest in brackets."""
    table = Table(box=None, pad_edge=False)
    for heading in ("measured", "median (min–max)", "unit", "goal", ""):
        table.add_column(heading, overflow="fold")
    for goal in goals:
        mark = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[goal.met]
        most = "" if goal.most is None else f"≤ {goal.most:g}"
        table.add_row(goal.name, str(goal.sample), goal.unit, most, mark)
    console.print(table)
    for goal in goals:
        if goal.note:
            console.print(f"[dim]{goal.name}: {goal.note}[/]", highlight=False)
