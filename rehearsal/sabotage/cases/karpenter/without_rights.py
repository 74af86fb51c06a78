"""A Karpenter whose role may see everything, and may not start machines."""

from __future__ import annotations

import json
from typing import Any, Final

import pulumi

from rehearsal.sabotage.case import Case
from rehearsal.sabotage.cases.changed import change

_ACTION: Final = "ec2:CreateFleet"


def _look_only(inputs: dict[str, Any]) -> dict[str, Any]:
    return {**inputs, "policy": pulumi.Output.from_input(inputs["policy"]).apply(_without_action)}


def _without_action(policy: str) -> str:
    if _ACTION not in policy:
        return policy
    document = json.loads(policy)
    for statement in document["Statement"]:
        if isinstance(statement["Action"], list):
            statement["Action"] = [each for each in statement["Action"] if each != _ACTION]
    return json.dumps(document)


CASE = Case(
    name="karpenter-without-rights",
    title="a Karpenter that may not start machines",
    stack="examples/eks-karpenter.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    sabotage=change("aws:iam/rolePolicy:RolePolicy", _look_only),
)
