"""Repeated measurements of one thing, their goals, and the table of the results."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Sample:
    """Seconds, one value per repetition; at least one."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The value that is quoted."""
        return statistics.median(self.values)

    def over(self, baseline: Sample) -> Sample:
        """Ratios to a baseline measured in the same repetitions, pair by pair."""
        return Sample(tuple(mine / base for mine, base in zip(self.values, baseline.values, strict=True)))

    def beyond(self, baseline: Sample) -> Sample:
        """Differences to a baseline measured in the same repetitions, pair by pair."""
        return Sample(tuple(mine - base for mine, base in zip(self.values, baseline.values, strict=True)))

    def to_json(self) -> dict[str, Any]:
        """Median, extremes and every value."""
        rounded = [round(value, 3) for value in self.values]
        return {"median": round(self.median, 3), "min": min(rounded), "max": max(rounded), "values": rounded}

    def __str__(self) -> str:
        return f"{self.median:.2f} ({min(self.values):.2f}–{max(self.values):.2f})"


def slope(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Least squares through (x, y) points: the slope, and R² (1: the points are on a line)."""
    xs, ys = zip(*points, strict=True)
    return statistics.linear_regression(xs, ys).slope, statistics.correlation(xs, ys) ** 2


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
