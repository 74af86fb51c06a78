"""Faults that take from Karpenter what it needs."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.faults.case import Case
from rehearsal.faults.change import NODE_CLASS, change, with_spec, without_right

_ACTION: Final = "ec2:CreateFleet"

# Karpenter's role grants everything except starting instances.
_WITHOUT_RIGHTS = Case(
    name="karpenter-without-rights",
    title="Karpenter without the permission to start instances",
    stack="examples/eks-karpenter.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    inject=without_right(_ACTION),
)


# Karpenter selects subnets by a tag that no subnet of the account has.
_SUBNETS_MISTYPED = Case(
    name="karpenter-subnets-mistyped",
    title="Karpenter selects another cluster's subnets",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="reached:",
    reason="SubnetSelector did not match any Subnets",
    inject=change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, subnetSelectorTerms=[{"tags": {"karpenter.sh/discovery": "another-cluster"}}]),
    ),
)


# Karpenter selects an image that does not exist in the account.
_IMAGE_MISSING = Case(
    name="karpenter-image-missing",
    title="Karpenter selects an image that does not exist",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="reached:",
    reason="AMISelector did not match any AMIs",
    inject=change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, amiSelectorTerms=[{"id": "ami-00000000000000000"}], amiFamily="AL2023"),
    ),
)


def _another_queue(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["name"] != "karpenter":
        return None
    values = inputs["values"]
    return {**inputs, "values": {**values, "settings": {**values["settings"], "interruptionQueue": "another-queue"}}}


# Karpenter reads an interruption queue that does not exist: it runs, but misses every spot interruption.
_QUEUE_MISSING = Case(
    name="karpenter-queue-missing",
    title="Karpenter reads an interruption queue that does not exist",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="cloud-calls-allowed",
    reason="another-queue",
    inject=change("kubernetes:helm.sh/v3:Release", _another_queue),
)

CASES: Final = (
    _WITHOUT_RIGHTS,
    _SUBNETS_MISTYPED,
    _IMAGE_MISSING,
    _QUEUE_MISSING,
)
