"""Measures this project against baselines of the same run: ratios, so that a slow machine does not matter.

What is measured: previews over an empty program's on every cloud, a preview's growth with the number of pools, the
gate's with that of resources, where a rehearsal's time goes, one stack's rehearsal on every cloud, and how much longer
1,000 GPU pods take on our pools than on the same pools given straight to the autoscaler.
Variants take turns within every repetition, so that a busy minute hits all of them.
"""

from __future__ import annotations

import os
import platform
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from rehearsal.bench.previews import measure_previews, measure_slope
from rehearsal.bench.project import PLACES
from rehearsal.bench.results import Goal, show
from rehearsal.bench.rules import measure_rules
from rehearsal.bench.scheduling import measure_scheduling
from rehearsal.bench.stages import measure_clouds, measure_stages
from rehearsal.engine.stack import ROOT
from rehearsal.report.report import write_atomically

REPORT = ROOT / "build" / "bench" / "report.json"
SCHEMA_VERSION = 1


def run_bench(console: Console, *, tools: Path, quick: bool, faulty_project: AbstractContextManager[Path]) -> None:
    """Measure everything (20 minutes or so; ``quick``: 3), print one table, write ``build/bench/report.json``.

    ``faulty_project`` is a copy of the project that the gate refuses.
    """
    repetitions = 1 if quick else 5
    machine = _machine(tools)
    console.print(", ".join(f"{name} {value}" for name, value in machine.items()), highlight=False)
    goals: list[Goal] = []
    console.print(f"previews, {repetitions} repetitions …")
    goals += measure_previews(tools, repetitions, faulty_project)
    console.print("the gate on a large program …")
    goals += measure_rules(repetitions)
    console.print("previews of 1 to 50 pools …")
    for cloud in PLACES:
        goals += measure_slope(tools, cloud, (1, 10) if quick else (1, 25, 50), 1 if quick else 3)
    console.print("rehearsals of dev …")
    goals += measure_stages(tools, 1 if quick else 3)
    console.print("a rehearsal on every cloud …")
    goals += measure_clouds(tools)
    pods = 20 if quick else 1000
    console.print(f"scheduling {pods} pods …")
    # Each side takes minutes, and one pair says little: of the same code, one said 0.84 and the next 1.16.
    goals += measure_scheduling(tools, pods, 1 if quick else 2)
    show(console, goals)
    write_atomically(
        REPORT,
        {"schemaVersion": SCHEMA_VERSION, "machine": machine, "results": [goal.to_json() for goal in goals]},
    )
    console.print(f"Report: {REPORT}", highlight=False, soft_wrap=True)


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
