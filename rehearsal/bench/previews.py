"""What a preview costs, over an empty program's: the program, the gate, a gate that refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rehearsal.bench.project import empty_project, engine_for, preview_world, workspace
from rehearsal.bench.sample import Sample
from rehearsal.bench.table import Goal
from rehearsal.engine import EngineError, Result, gate_for
from rehearsal.sabotage import CASES
from rehearsal.sabotage.runner import sabotaged_project
from rehearsal.stack import ROOT


def measure_previews(tools: Path, repetitions: int) -> list[Goal]:
    """Four previews in turns; every repetition's ratio is to its own empty program."""
    dev, gate = ROOT / "Pulumi.dev.yaml", gate_for(ROOT, "dev")
    with (
        workspace("previews") as folder,
        preview_world(folder, tools) as facts,
        sabotaged_project(CASES["minimum-one"]) as broken,
    ):
        empty = empty_project(folder)
        bare = engine_for("empty", folder, facts, tools, empty, empty / "Pulumi.dev.yaml")
        real = engine_for("dev", folder, facts, tools, ROOT, dev)
        refused = engine_for("refused", folder, facts, tools, broken, dev)
        variants: dict[str, Callable[[], Result]] = {
            "empty": lambda: _must(bare.preview(), True),
            "dev": lambda: _must(real.preview(), True),
            "dev + gate": lambda: _must(real.preview(gate), True),
            "refused": lambda: _must(refused.preview(gate), False),
        }
        # One unmeasured turn: the first start of everything reads from a cold disk.
        for variant in variants.values():
            variant()
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(repetitions):
            for name, variant in variants.items():
                seconds[name].append(variant().seconds)
    samples = {name: Sample(tuple(values)) for name, values in seconds.items()}
    base = samples["empty"]
    return [
        Goal("preview of an empty program", base, "s"),
        Goal("preview of dev", samples["dev"].over(base), "× empty", 2.0),
        Goal("preview of dev with the gate", samples["dev + gate"].over(base), "× empty", 2.5),
        Goal("preview that the gate refuses", samples["refused"].over(base), "× empty", 3.0),
        Goal("the gate adds, when it agrees", samples["dev + gate"].beyond(samples["dev"]), "s", 0.5),
        Goal("the gate adds, when it refuses", samples["refused"].beyond(samples["dev"]), "s", 0.5),
    ]


def _must(result: Result, succeed: bool) -> Result:
    if result.ok is not succeed:
        raise EngineError(f"the preview was expected to {'succeed' if succeed else 'be refused'}: {result.reason}")
    return result
