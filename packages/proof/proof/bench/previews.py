"""What a preview costs, over an empty program's: each cloud, the gate, a gate that refuses, the number of pools.

And what the gate's stack rules cost in a large program, without the engine: their growth with its resources.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from policies.offline import OfflineGate, view_of
from policies.readers.resource import Declared
from proof.bench.project import (
    PLACES,
    Goal,
    Sample,
    empty_project,
    engine_for,
    preview_sandbox,
    slope,
    stack_with,
    workspace,
)
from rehearsal.engine.engine import CommandResult, EngineError, gate_for
from rehearsal.engine.stack import ROOT
from rehearsal.faults.injections import CASES
from rehearsal.faults.runner import faulty_project


def measure_previews(tools: Path, repetitions: int) -> list[Goal]:
    """All previews in turns, one of them refused by the gate; every repetition's ratio is to its own empty program."""
    dev, refused_case = ROOT / "Pulumi.dev.yaml", faulty_project(CASES["minimum-one"])
    with workspace("previews") as folder, preview_sandbox(folder, tools) as facts, refused_case as faulty:
        empty = empty_project(folder)
        bare = engine_for("empty", folder, facts, tools, empty, empty / "Pulumi.dev.yaml")
        refused = engine_for("refused", folder, facts, tools, faulty, dev)
        variants: dict[str, Callable[[], CommandResult]] = {
            "empty": lambda: _must(bare.preview(), True),
            "refused": lambda: _must(refused.preview(gate_for(ROOT, "dev")), False),
        }
        for cloud in PLACES:
            real = engine_for(cloud, folder, facts, tools, ROOT, stack_with(folder, f"dev-{cloud}", {}, cloud))
            variants[cloud] = lambda engine=real: _must(engine.preview(), True)
            # Not dev's own levels: they ask for what its cloud has by default and another has when asked for.
            gate = gate_for(ROOT, real.stack)
            variants[f"{cloud} + gate"] = lambda engine=real, gate=gate: _must(engine.preview(gate), True)
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
        *(goal for cloud in PLACES for goal in _of_cloud(cloud, samples[cloud], samples[f"{cloud} + gate"], base)),
        Goal("preview that the gate refuses", samples["refused"].over(base), "× empty", 3.0),
        Goal("the gate adds, when it refuses", samples["refused"].beyond(samples["gke"]), "s", 0.5),
    ]


def _of_cloud(cloud: str, alone: Sample, gated: Sample, base: Sample) -> tuple[Goal, ...]:
    return (
        Goal(f"preview of dev on {cloud}", alone.over(base), "× empty", 2.0),
        Goal(f"preview of dev on {cloud} with the gate", gated.over(base), "× empty", 2.5),
        Goal(f"the gate adds on {cloud}", gated.beyond(alone), "s", 0.5),
    )


def _must(result: CommandResult, succeed: bool) -> CommandResult:
    if result.ok is not succeed:
        raise EngineError(f"the preview was expected to {'succeed' if succeed else 'be refused'}: {result.reason}")
    return result


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


_GATE: Final = OfflineGate.of_file(ROOT / "policies" / "config" / "default.json")
_FEW: Final = 800
_MANY: Final = 3200
_TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def measure_rules(repetitions: int) -> list[Goal]:
    """Reading the program, and the slowest of the stack rules: four times as many resources should take it four times
    as long."""
    _, few, _ = zip(*(_timed(_FEW) for _ in range(repetitions)), strict=True)
    read, many, rules = zip(*(_timed(_MANY) for _ in range(repetitions)), strict=True)
    slowest, note = Sample(many), f"slowest: {', '.join(sorted(set(rules)))}"
    return [
        Goal(f"the gate reads {_MANY:,} resources", Sample(read), "s", 1.0),
        Goal(f"the gate's slowest stack rule, {_MANY:,} resources", slowest, "s", 1.0, note),
        # A rule that compares groups with workloads pair by pair has 16.
        Goal(f"that rule, {_MANY:,} resources over {_FEW}", slowest.over(Sample(few)), "×", 6.0),
    ]


def _timed(count: int) -> tuple[float, float, str]:
    """Seconds of reading ``count`` resources, the slowest rule's seconds, and its id."""
    declared = [_declared(number, count // 4) for number in range(count)]
    begun = time.perf_counter()
    stack = view_of(declared).stack
    read = time.perf_counter() - begun
    times = []
    for rule, limits, _ in (each for each in _GATE.rules if each[0].scope == "stack"):
        begun = time.perf_counter()
        rule.check(stack, limits)
        times.append((time.perf_counter() - begun, rule.id))
    return read, *max(times)


def _declared(number: int, pools: int) -> Declared:
    """The first are GPU pools, all different; the rest are Jobs that each choose one of them and fit there."""
    labels = {"team": f"team-{number % pools}"}
    if number < pools:
        return _resource("gcp:container/nodePool:NodePool", number, _node_pool(number, labels))
    return _resource("kubernetes:batch/v1:Job", number, _job(number, labels))


def _resource(type: str, number: int, properties: dict[str, Any]) -> Declared:
    return Declared(type, f"r{number}", f"urn:pulumi:bench::bench::{type}::r{number}", properties)


def _node_pool(number: int, labels: dict[str, str]) -> dict[str, Any]:
    machine = ("g2-standard-8", "g2-standard-24", "g2-standard-48")[number % 3]
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    return {
        "cluster": "ml",
        "location": "europe-west4",
        "autoscaling": {"totalMinNodeCount": 0.0, "totalMaxNodeCount": 4.0},
        "initialNodeCount": 0.0,
        "nodeConfig": {"machineType": machine, "labels": labels, "taints": [taint]},
    }


def _job(number: int, labels: dict[str, str]) -> dict[str, Any]:
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = {"restartPolicy": "Never", "nodeSelector": labels, "tolerations": [_TOLERATION], "containers": [container]}
    return {"metadata": {"name": f"job-{number}"}, "spec": {"template": {"spec": pod}}}
