"""Where a rehearsal's time goes."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from rehearsal.bench.project import PLACES, stack_with, workspace
from rehearsal.bench.sample import Sample
from rehearsal.bench.table import Goal
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal


def measure_clouds(tools: Path) -> list[Goal]:
    """One whole rehearsal of the same stack on every cloud."""
    goals = []
    with workspace("clouds") as folder:
        for cloud in PLACES:
            stack = resolve(str(stack_with(folder, f"dev-{cloud}", {}, cloud)))
            options = Options(tools=tools, gate=gate_for(ROOT, stack.name), build=folder)
            finished = Rehearsal(stack, options, Console(file=io.StringIO())).run()
            if not finished.passed:
                raise EngineError(f"the rehearsal on {cloud} failed: {'; '.join(finished.record.reasons)}")
            seconds = sum(stage.seconds for stage in finished.record.stages)
            goals.append(Goal(f"rehearsal of one stack on {cloud}", Sample((seconds,)), "s"))
    return goals


def measure_stages(tools: Path, repetitions: int) -> list[Goal]:
    """Whole rehearsals of dev: the time of each stage, and of all."""
    stages: dict[str, list[float]] = {}
    totals = []
    with workspace("stages") as folder:
        options = Options(tools=tools, gate=gate_for(ROOT, "dev"), build=folder)
        for _ in range(repetitions):
            finished = Rehearsal(resolve("dev"), options, Console(file=io.StringIO())).run()
            if not finished.passed:
                raise EngineError(f"the rehearsal of dev failed: {'; '.join(finished.record.reasons)}")
            for stage in finished.record.stages:
                stages.setdefault(stage.name, []).append(stage.seconds)
            totals.append(sum(stage.seconds for stage in finished.record.stages))
    parts = [Goal(f"rehearsal of dev: {name}", Sample(tuple(values)), "s") for name, values in stages.items()]
    return [Goal("rehearsal of dev", Sample(tuple(totals)), "s", 60.0), *parts]
