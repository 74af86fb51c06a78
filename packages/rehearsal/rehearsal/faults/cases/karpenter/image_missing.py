"""Karpenter is to start machines from an image that the account does not see."""

from __future__ import annotations

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import NODE_CLASS, change, with_spec

CASE = Case(
    name="karpenter-image-missing",
    title="a Karpenter that looks for an image which does not exist",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="reached:",
    reason="AMISelector did not match any AMIs",
    sabotage=change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, amiSelectorTerms=[{"id": "ami-00000000000000000"}], amiFamily="AL2023"),
    ),
)
