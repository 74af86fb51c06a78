"""Measures this project against baselines of the same run: ratios, so that a slow machine does not matter.

What is measured: previews over an empty program's on every cloud, a preview's growth with the number of pools, the
gate's with that of resources, where a rehearsal's time goes, one stack's rehearsal on every cloud, and how much longer
1,000 GPU pods take on our pools than on the same pools given straight to the autoscaler.
Variants take turns within every repetition, so that a busy minute hits all of them.
"""

from __future__ import annotations

import io
import os
import platform
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from proof.bench.previews import measure_previews, measure_rules, measure_slope
from proof.bench.project import PLACES, Goal, Sample, show, stack_with, workspace
from proof.bench.scheduling import measure_scheduling
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.report.report import write_atomically
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.sandbox.client import SandboxError

REPORT = ROOT / "build" / "bench" / "report.json"
SCHEMA_VERSION = 1


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


def run_bench(console: Console, *, tools: Path, quick: bool) -> list[EngineError | SandboxError]:
    """Measure everything (20 minutes or so; ``quick``: 3), print each table, write ``build/bench/report.json``.

    Returns the errors of measurements that failed; the others are measured nevertheless.
    """
    repetitions = 1 if quick else 5
    pools = (1, 10) if quick else (1, 25, 50)
    pods = 20 if quick else 1000
    measurements: dict[str, Callable[[], list[Goal]]] = {
        f"previews, {repetitions} repetitions": lambda: measure_previews(tools, repetitions),
        "the gate on a large program": lambda: measure_rules(repetitions),
        **{
            f"previews of {pools[0]} to {pools[-1]} pools on {cloud}": partial(
                measure_slope, tools, cloud, pools, 1 if quick else 3
            )
            for cloud in PLACES
        },
        "rehearsals of dev": lambda: measure_stages(tools, 1 if quick else 3),
        "a rehearsal on every cloud": lambda: measure_clouds(tools),
        # Each side takes minutes, and one pair says little: of the same code, one said 0.84 and the next 1.16.
        f"scheduling {pods} pods": lambda: measure_scheduling(tools, pods, 1 if quick else 2),
    }
    machine = _machine(tools)
    console.print(", ".join(f"{name} {value}" for name, value in machine.items()), highlight=False)
    goals, errors = measure_all(console, measurements)
    write_atomically(
        REPORT, {"schemaVersion": SCHEMA_VERSION, "machine": machine, "results": [goal.to_json() for goal in goals]}
    )
    console.print(f"Report: {REPORT}", highlight=False, soft_wrap=True)
    return errors


def measure_all(
    console: Console, measurements: Mapping[str, Callable[[], list[Goal]]]
) -> tuple[list[Goal], list[EngineError | SandboxError]]:
    """Run each measurement and print its table; one that fails is reported and does not stop the others."""
    goals: list[Goal] = []
    errors: list[EngineError | SandboxError] = []
    for title, measure in measurements.items():
        console.print(f"{title} …", highlight=False)
        try:
            results = measure()
        except (EngineError, SandboxError) as error:
            errors.append(error)
            console.print(f"[red]failed:[/] {escape(str(error))}", highlight=False)
            continue
        show(console, results)
        goals += results
    return goals, errors


def _machine(tools: Path) -> dict[str, str]:
    """Cores, memory, load before the run, and the versions that matter."""
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pulumi-sdk": version("pulumi"),
        "tools": tools.name,
    }
