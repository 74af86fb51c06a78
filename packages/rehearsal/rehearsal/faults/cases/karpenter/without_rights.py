"""A Karpenter whose role may see everything, and may not start machines."""

from __future__ import annotations

from typing import Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import without_right

_ACTION: Final = "ec2:CreateFleet"

CASE = Case(
    name="karpenter-without-rights",
    title="a Karpenter that may not start machines",
    stack="examples/eks-karpenter.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    sabotage=without_right(_ACTION),
)
