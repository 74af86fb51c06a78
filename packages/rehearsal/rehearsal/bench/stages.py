"""Where a rehearsal's time goes."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from rehearsal.bench.project import PLACES, stack_with, workspace
from rehearsal.bench.results import Goal, Sample
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal


def measure_clouds(tools: Path) -> list[Goal]:
    """One whole rehearsal of the same stack on every cloud."""
    goals = []
    with workspace("clouds") as folder:
        for cloud in PLACES:
            stages = _rehearse(str(stack_with(folder, f"dev-{cloud}", {}, cloud)), tools, folder)
            goals.append(Goal(f"rehearsal of one stack on {cloud}", Sample((sum(stages.values()),)), "s"))
    return goals


def measure_stages(tools: Path, repetitions: int) -> list[Goal]:
    """Whole rehearsals of dev: the time of each stage, and of all."""
    with workspace("stages") as folder:
        runs = [_rehearse("dev", tools, folder) for _ in range(repetitions)]
    parts = [Goal(f"rehearsal of dev: {name}", Sample(tuple(run[name] for run in runs)), "s") for name in runs[0]]
    return [Goal("rehearsal of dev", Sample(tuple(sum(run.values()) for run in runs)), "s", 60.0), *parts]


def _rehearse(stack_file: str, tools: Path, folder: Path) -> dict[str, float]:
    """Stage → seconds. Raises EngineError if the rehearsal fails."""
    stack = resolve(stack_file)
    options = Options(tools=tools, gate=gate_for(ROOT, stack.name), build=folder)
    finished = Rehearsal(stack, options, Console(file=io.StringIO())).run()
    if not finished.passed:
        raise EngineError(f"the rehearsal of {stack.name} failed: {'; '.join(finished.record.reasons)}")
    return {stage.name: stage.seconds for stage in finished.record.stages}
