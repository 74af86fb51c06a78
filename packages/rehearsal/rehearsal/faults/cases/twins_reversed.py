"""The order of a pool's twins, reversed: on-demand machines first, and the cheaper spot ones when those are full."""

from __future__ import annotations

from typing import Any

import yaml

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _reversed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if "priorities" not in inputs.get("data", {}):
        return None
    order = yaml.safe_load(inputs["data"]["priorities"])
    # The last is for groups that are nobody's: before all others it would leave the order to their prices.
    *own, rest = order.values()
    turned = dict(zip(order, [*reversed(own), rest], strict=True))
    return {**inputs, "data": {**inputs["data"], "priorities": yaml.safe_dump(turned)}}


CASE = Case(
    name="twins-reversed",
    title="on-demand machines before the spot ones, which cost less",
    stack="examples/aks-train-infer.yaml",
    rule=None,
    check="twin:",
    reason="expected training-1-spot",
    sabotage=change("kubernetes:core/v1:ConfigMap", _reversed),
)
