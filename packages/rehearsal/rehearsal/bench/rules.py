"""What the gate's stack rules cost in a large program, without the engine: their growth with its resources."""

from __future__ import annotations

import time
from typing import Any, Final

from policies.offline import OfflineGate, view_of
from policies.readers.resource import Declared
from rehearsal.bench.project import Goal, Sample
from rehearsal.engine.stack import ROOT

_GATE: Final = OfflineGate.of_file(ROOT / "policies" / "config" / "default.json")
_FEW: Final = 800
_MANY: Final = 3200
_TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def measure_rules(repetitions: int) -> list[Goal]:
    """Reading the program, and the slowest of the stack rules: four times as many resources should take it four times
    as long."""
    _, few, _ = zip(*(_measure(_FEW) for _ in range(repetitions)), strict=True)
    read, many, rules = zip(*(_measure(_MANY) for _ in range(repetitions)), strict=True)
    slowest, note = Sample(many), f"slowest: {', '.join(sorted(set(rules)))}"
    return [
        Goal(f"the gate reads {_MANY:,} resources", Sample(read), "s", 1.0),
        Goal(f"the gate's slowest stack rule, {_MANY:,} resources", slowest, "s", 1.0, note),
        # A rule that compares groups with workloads pair by pair has 16.
        Goal(f"that rule, {_MANY:,} resources over {_FEW}", slowest.over(Sample(few)), "×", 6.0),
    ]


def _measure(count: int) -> tuple[float, float, str]:
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
        return _resource("gcp:container/nodePool:NodePool", number, _pool(number, labels))
    return _resource("kubernetes:batch/v1:Job", number, _job(number, labels))


def _resource(type: str, number: int, properties: dict[str, Any]) -> Declared:
    return Declared(type, f"r{number}", f"urn:pulumi:bench::bench::{type}::r{number}", properties)


def _pool(number: int, labels: dict[str, str]) -> dict[str, Any]:
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
