"""ComputeClasses: the order in which GKE tries the pools of an entry (docs/adr/0010-capacity-order.md).

https://docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.clouds.base import AdminObjects
from facts.concepts.kubernetes import manifest
from facts.concepts.pool import Pool

API: Final = "cloud.google.com/v1"


def declare(pools: Sequence[Pool], objects: AdminObjects) -> None:
    """The ComputeClasses of ``pools``."""
    for name, spec in specs(pools).items():
        objects.declare(f"class-{name}", manifest(API, "ComputeClass", name, spec=spec))


def specs(pools: Sequence[Pool]) -> Mapping[str, Mapping[str, Any]]:
    """The ``spec`` of each ComputeClass of ``pools``, by name: pools of one preference are equal, whatever their size.

    It creates no pools, and moves no pod back to a better one: a job that runs is not disturbed by what it could have
    waited for.
    """
    classes: dict[str, list[Pool]] = {}
    for pool in pools:
        if pool.scaling.compute_class is not None:
            classes.setdefault(pool.scaling.compute_class, []).append(pool)
    return {name: _spec(own) for name, own in classes.items()}


def _spec(pools: Sequence[Pool]) -> dict[str, Any]:
    preferences = sorted({pool.scaling.preference for pool in pools})
    minutes = pools[0].scaling.unneeded_minutes
    return {
        "priorities": [
            {"nodepools": [pool.name for pool in pools if pool.scaling.preference == preference]}
            for preference in preferences
        ],
        "nodePoolAutoCreation": {"enabled": False},
        "whenUnsatisfiable": "DoNotScaleUp",
        "activeMigration": {"optimizeRulePriority": False},
        **({} if minutes is None else {"autoscalingPolicy": {"consolidationDelayMinutes": minutes}}),
    }
