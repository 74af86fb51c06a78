"""A GPU machine in the AKS system pool, which never has zero nodes."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _with_gpu(inputs: dict[str, Any]) -> dict[str, Any]:
    profiles = [{**profile, "vmSize": "Standard_NC4as_T4_v3"} for profile in inputs["agentPoolProfiles"]]
    return {**inputs, "agentPoolProfiles": profiles}


CASE = Case(
    name="gpu-in-system-pool",
    title="a GPU machine in the system pool of AKS",
    stack="examples/aks-train-infer.yaml",
    rule="gpu-zero-minimum",
    check="starts-at-zero",
    reason="GPU nodes before any pod asked for a GPU",
    sabotage=change("azure-native:containerservice:ManagedCluster", _with_gpu),
)
