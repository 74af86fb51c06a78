"""What pods must and must not do."""

from __future__ import annotations

from typing import Final

from policies.rules import workloads
from policies.rules.model import Stack
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id=workloads.PLACEABLE,
        title="GPU workloads fit a GPU node group",
        why="A pod that no group can take stays Pending, and no node is ever added for it.",
        remedy="Ask for at most the GPUs of one node, select existing labels, tolerate the group's taints.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: workloads.placeable(stack),
    ),
    Rule(
        id=workloads.TOLERATES,
        title="GPU workloads tolerate the GPU taint themselves",
        why="Some clouds add the toleration at admission; on the others the pod stays Pending.",
        remedy="Add the toleration for nvidia.com/gpu to the pod.",
        level="advisory",
        severity="low",
        subjects=(Stack,),
        check=lambda stack, _: workloads.tolerates(stack),
    ),
    Rule(
        id=workloads.DAEMON_SET,
        title="GPU DaemonSets tolerate every taint of their node groups",
        why="A driver installer or device plugin that a taint keeps away leaves paid GPUs that no pod can use.",
        remedy="Give the DaemonSet a toleration for each taint, or `operator: Exists` alone.",
        level="mandatory",
        severity="critical",
        subjects=(Stack,),
        check=lambda stack, _: workloads.daemon_sets(stack),
    ),
    Rule(
        id=workloads.BLANKET,
        title="Only DaemonSets tolerate everything",
        why="A pod that tolerates every taint may settle on a GPU node, which then cannot be removed.",
        remedy="Name the taints that the pod must tolerate.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: workloads.blanket_toleration(stack),
    ),
    Rule(
        id=workloads.RESERVED,
        title="GPU nodes are for pods that ask for GPUs",
        why="A pod without a GPU request on a GPU node keeps it up without using it.",
        remedy="Remove the GPU node selector and tolerations from pods without a GPU request.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: workloads.reserved(stack),
    ),
)
