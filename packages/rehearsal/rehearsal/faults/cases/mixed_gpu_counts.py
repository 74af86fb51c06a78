"""Machines with four GPUs and with one in the same group: the autoscaler plans with four, and gets one."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _mixed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["instanceTypes"] != ["g4dn.12xlarge"]:
        return None
    return {**inputs, "instanceTypes": ["g4dn.12xlarge", "g4dn.xlarge"]}


CASE = Case(
    name="mixed-gpu-counts",
    title="a node group that mixes machines with four GPUs and with one",
    stack="examples/eks-t4.yaml",
    rule="gpu-uniform-sizes",
    check="job:t4-4",
    reason="never ran",
    sabotage=change("aws:eks/nodeGroup:NodeGroup", _mixed),
)
