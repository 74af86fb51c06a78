"""Karpenter listens to a queue that nobody made: it runs on, and never hears that a spot machine is about to go."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _another_queue(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["name"] != "karpenter":
        return None
    values = inputs["values"]
    return {**inputs, "values": {**values, "settings": {**values["settings"], "interruptionQueue": "another-queue"}}}


CASE = Case(
    name="karpenter-queue-missing",
    title="a Karpenter that listens to a queue which does not exist",
    stack="examples/eks-karpenter.yaml",
    rule=None,
    check="cloud-calls-allowed",
    reason="another-queue",
    sabotage=change("kubernetes:helm.sh/v3:Release", _another_queue),
)
