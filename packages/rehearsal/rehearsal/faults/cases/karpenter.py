"""Faults that take from Karpenter what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rehearsal.faults.case import Injection
from rehearsal.faults.cases.changed import NODE_CLASS, change, with_spec, without_right

_ACTION: Final = "ec2:CreateFleet"


def _another_queue(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["name"] != "karpenter":
        return None
    values = inputs["values"]
    return {**inputs, "values": {**values, "settings": {**values["settings"], "interruptionQueue": "another-queue"}}}


INJECTIONS: Final[Mapping[str, Injection]] = {
    # Karpenter's role grants everything except starting instances.
    "karpenter-without-rights": without_right(_ACTION),
    # Karpenter selects subnets by a tag that no subnet of the account has.
    "karpenter-subnets-mistyped": change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, subnetSelectorTerms=[{"tags": {"karpenter.sh/discovery": "another-cluster"}}]),
    ),
    # Karpenter selects an image that does not exist in the account.
    "karpenter-image-missing": change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, amiSelectorTerms=[{"id": "ami-00000000000000000"}], amiFamily="AL2023"),
    ),
    # Karpenter reads an interruption queue that does not exist: it runs, but misses every spot interruption.
    "karpenter-queue-missing": change("kubernetes:helm.sh/v3:Release", _another_queue),
}
