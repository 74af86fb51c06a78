"""A system pod pinned to the GPU pool: it asks for no GPU, and keeps a GPU node alive for ever."""

from __future__ import annotations

from typing import Final

from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE
from rehearsal.faults.case import Case, Program
from rehearsal.faults.cases.added import add, system_deployment

_DEPLOYMENT: Final = system_deployment(
    "gpu-metrics",
    {"cpu": "10m", "memory": "16Mi"},
    nodeSelector={GPU_PRESENT_LABEL: "true"},
    tolerations=[{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
)


def _sabotage(program: Program) -> None:
    add(program, "gpu-metrics", _DEPLOYMENT)


CASE = Case(
    name="pinned-system-pod",
    title="a Deployment in kube-system pinned to the GPU nodes, asking for no GPU",
    stack="dev",
    rule="gpu-nodes-for-gpus",
    check="system-pods-off-gpu",
    reason="kube-system/gpu-metrics",
    sabotage=_sabotage,
)
