"""How a preview grows with the number of GPU pools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rehearsal.bench.project import engine_for, preview_sandbox, stack_with, workspace
from rehearsal.bench.sample import Sample, slope
from rehearsal.bench.table import Goal
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT


def measure_slope(tools: Path, cloud: str, sizes: tuple[int, ...], repetitions: int) -> list[Goal]:
    """Previews with the gate of stacks with so many pools; one line fitted per repetition, milliseconds per pool."""
    slopes, fits = [], []
    with workspace("slope") as folder, preview_sandbox(folder, tools) as facts:
        engines = {}
        for size in sizes:
            pools = [_pool(number) for number in range(size)]
            file = stack_with(folder, f"pools-{size}", {"gpuPools": pools}, cloud)
            engines[size] = engine_for(str(size), folder, facts, tools, ROOT, file)
        for _ in range(repetitions):
            points = []
            for size, engine in engines.items():
                result = engine.preview(gate_for(ROOT, engine.stack))
                if not result.ok:
                    raise EngineError(f"the preview of {size} pools failed: {result.reason}")
                points.append((float(size), result.seconds * 1000))
            rise, fit = slope(points)
            slopes.append(rise)
            fits.append(fit)
    straight = f"R² of the fitted lines: {', '.join(f'{fit:.3f}' for fit in fits)}"
    name = f"preview's growth per pool on {cloud}, {sizes[0]} to {sizes[-1]} pools"
    return [Goal(name, Sample(tuple(slopes)), "ms per pool", 15.0, straight)]


def _pool(number: int) -> dict[str, Any]:
    return {"name": f"p{number:03}", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 1}
