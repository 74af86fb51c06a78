"""Karpenter looks for the subnets of another cluster: by a tag that none of the account's has."""

from __future__ import annotations

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import NODE_CLASS, change, with_spec

CASE = Case(
    name="karpenter-subnets-mistyped",
    title="a Karpenter that looks for another cluster's subnets",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="reached:",
    reason="SubnetSelector did not match any Subnets",
    sabotage=change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, subnetSelectorTerms=[{"tags": {"karpenter.sh/discovery": "another-cluster"}}]),
    ),
)
