"""GPU nodes of a larger machine than the stack file's pool has: nothing fails, everything costs more."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import NODE_POOL, Case, is_gpu_pool
from rehearsal.faults.cases.changed import change


def _larger(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "machineType": "n1-standard-32"}}


CASE = Case(
    name="other-machine",
    title="GPU nodes of a larger machine than their pool's",
    stack="dev",
    rule=None,
    check="nodes-as-declared",
    reason="is a n1-standard-32, declared",
    sabotage=change(NODE_POOL, _larger),
)
