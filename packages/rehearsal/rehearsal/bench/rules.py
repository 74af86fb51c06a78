"""What the gate's stack rules cost in a large program, without the engine: their growth with its resources."""

from __future__ import annotations

import time
from typing import Any

from policies.readers import linked, read_stack
from policies.readers.resource import Declared
from policies.rules.table import RULES
from rehearsal.bench.results import Goal, Sample

_FEW, _MANY = 800, 3200
_MOST_SECONDS = 1.0
_MOST_GROWTH = 6.0
"""Linear would be 4; a rule that compares groups with workloads pair by pair has 16."""
_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def measure_rules(repetitions: int) -> list[Goal]:
    """Reading the program, and the slowest of the stack rules on it."""
    reading: dict[int, list[float]] = {_FEW: [], _MANY: []}
    slowest: dict[int, list[float]] = {_FEW: [], _MANY: []}
    named: set[str] = set()
    for _ in range(repetitions):
        for count in (_FEW, _MANY):
            read, rule, judged = _measure(count)
            reading[count].append(read)
            slowest[count].append(judged)
            named.add(rule)
    note = f"slowest: {', '.join(sorted(named))}"
    many, few = Sample(tuple(slowest[_MANY])), Sample(tuple(slowest[_FEW]))
    return [
        Goal(f"the gate reads {_MANY:,} resources", Sample(tuple(reading[_MANY])), "s", _MOST_SECONDS),
        Goal(f"the gate's slowest stack rule, {_MANY:,} resources", many, "s", _MOST_SECONDS, note),
        Goal(f"that rule, {_MANY:,} resources over {_FEW}", many.over(few), "×", _MOST_GROWTH),
    ]


def _measure(count: int) -> tuple[float, str, float]:
    """Seconds of reading ``count`` resources, the slowest rule's id, and its seconds."""
    declared = [_declared(number, count) for number in range(count)]
    begun = time.perf_counter()
    stack = read_stack(linked(declared))
    read = time.perf_counter() - begun
    seconds: dict[str, float] = {}
    for rule in RULES:
        if rule.scope == "stack":
            begun = time.perf_counter()
            rule.check(stack, {})
            seconds[rule.id] = time.perf_counter() - begun
    worst = max(seconds, key=seconds.__getitem__)
    return read, worst, seconds[worst]


def _declared(number: int, count: int) -> Declared:
    """A quarter are GPU pools, all different; the rest are Jobs that each choose one of them and fit there."""
    pools = count // 4
    if number < pools:
        return _resource("gcp:container/nodePool:NodePool", f"pool-{number}", _pool(number))
    return _resource("kubernetes:batch/v1:Job", f"job-{number}", _job(number, number % pools))


def _resource(type: str, name: str, properties: dict[str, Any]) -> Declared:
    return Declared(type, name, f"urn:pulumi:bench::bench::{type}::{name}", properties)


def _pool(number: int) -> dict[str, Any]:
    return {
        "cluster": "ml",
        "location": "europe-west4",
        "autoscaling": {"totalMinNodeCount": 0.0, "totalMaxNodeCount": 4.0},
        "initialNodeCount": 0.0,
        "nodeConfig": {
            "machineType": ("g2-standard-8", "g2-standard-24", "g2-standard-48")[number % 3],
            "labels": {"team": f"team-{number}"},
            "taints": [_TAINT],
        },
    }


def _job(number: int, pool: int) -> dict[str, Any]:
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"team": f"team-{pool}"},
        "tolerations": [_TOLERATION],
        "containers": [container],
    }
    return {"metadata": {"name": f"job-{number}"}, "spec": {"template": {"spec": pod}}}
