"""A cluster-autoscaler whose role may look, and may not change the size of a group."""

from __future__ import annotations

import json
from typing import Any, Final

from rehearsal.sabotage.case import Case
from rehearsal.sabotage.cases.changed import change

_ACTION: Final = "autoscaling:SetDesiredCapacity"


def _look_only(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not isinstance(inputs["policy"], str) or _ACTION not in inputs["policy"]:
        return None
    document = json.loads(inputs["policy"])
    for statement in document["Statement"]:
        statement["Action"] = [action for action in statement["Action"] if action != _ACTION]
    return {**inputs, "policy": json.dumps(document)}


CASE = Case(
    name="autoscaler-without-rights",
    title="a cluster-autoscaler that may not change the size of a group",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    sabotage=change("aws:iam/rolePolicy:RolePolicy", _look_only),
)
