"""Project directories and stacks to measure, in a folder that goes away. And repeated measurements of one
thing, their goals, and the table of the results.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console
from rich.table import Table

from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import ROOT
from rehearsal.providers import CLOUD_PLUGINS
from rehearsal.sandbox.client import SandboxFacts, SandboxHandle

_EMPTY_PROJECT = {"name": "empty", "runtime": {"name": "python", "options": {"virtualenv": ".venv"}}}

PLACES: Final[dict[str, dict[str, Any]]] = {
    "gke": {"gcp:project": "bench-project", "gpucluster:region": "us-central1", "gpucluster:zones": ["us-central1-a"]},
    "eks": {"aws:region": "us-west-2", "gpucluster:region": "us-west-2", "gpucluster:zones": ["us-west-2a"]},
    "aks": {
        "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000",
        "gpucluster:region": "eastus",
        "gpucluster:zones": ["eastus-1"],
    },
}
"""Cloud → where the measured stacks are; the rest of them is the same on every cloud."""


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A fresh folder below ``build/bench``, removed afterwards."""
    parent = ROOT / "build" / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def preview_sandbox(folder: Path, tools: Path) -> Iterator[SandboxFacts]:
    """The simulated providers without a control plane, shared by all previews of a measurement."""
    with SandboxHandle(folder / "sandbox", tools=tools, clouds=CLOUD_PLUGINS, control_plane=False) as sandbox:
        yield sandbox.ready()


def empty_project(folder: Path) -> Path:
    """A project whose program does nothing: what every preview costs at least."""
    project = folder / "empty"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(_EMPTY_PROJECT))
    (project / "Pulumi.dev.yaml").write_text("config: {}\n")
    (project / "__main__.py").write_text("")
    (project / ".venv").symlink_to(ROOT / ".venv")
    return project


def engine_for(name: str, folder: Path, facts: SandboxFacts, tools: Path, project: Path, stack_file: Path) -> Engine:
    """An engine with a stack of its own, named after the stack file."""
    engine = Engine.create(
        project=project,
        stack=stack_file.stem.removeprefix("Pulumi."),
        stack_file=stack_file,
        run_dir=folder / f"engine-{name}",
        path=(tools,),
    )
    return replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools))


def stack_with(folder: Path, name: str, changes: dict[str, Any], cloud: str = "gke") -> Path:
    """The dev stack on ``cloud``, with some keys of the namespace ``gpucluster`` replaced."""
    content = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    del content["config"]["gcp:project"]
    content["config"].update({"gpucluster:cloud": cloud, **PLACES[cloud]})
    content["config"].update({f"gpucluster:{key}": value for key, value in changes.items()})
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


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
