"""A GPU pool that keeps one node: the bill of an idle cluster."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import NODE_POOL, Case, is_gpu_pool
from rehearsal.faults.cases.changed import change


def _keep_one(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "initialNodeCount": 1, "autoscaling": {**inputs["autoscaling"], "totalMinNodeCount": 1}}


CASE = Case(
    name="minimum-one",
    title="every GPU pool keeps one node",
    stack="dev",
    rule="gpu-zero-minimum",
    check="starts-at-zero",
    reason="GPU nodes before any pod asked for a GPU",
    sabotage=change(NODE_POOL, _keep_one),
)
