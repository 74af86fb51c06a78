"""Pools that the stack file calls spot, of machines at the full price."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import NODE_POOL, Case, is_gpu_pool
from rehearsal.faults.cases.changed import change


def _on_demand(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "spot": False}}


CASE = Case(
    name="spot-forgotten",
    title="spot pools whose nodes are bought at the full price",
    stack="dev",
    rule=None,
    check="nodes-as-declared",
    reason="is on-demand, declared spot",
    sabotage=change(NODE_POOL, _on_demand),
)
