"""A cluster-autoscaler whose role may look, and may not change the size of a group."""

from __future__ import annotations

from typing import Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import without_right

_ACTION: Final = "autoscaling:SetDesiredCapacity"

CASE = Case(
    name="autoscaler-without-rights",
    title="a cluster-autoscaler that may not change the size of a group",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    sabotage=without_right(_ACTION),
)
