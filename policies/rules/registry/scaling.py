"""What node autoscalers need to know, and to be allowed."""

from __future__ import annotations

from typing import Final

from policies.rules import autoscaler, scale_down, sharing
from policies.rules.model import Stack
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id=autoscaler.PRESENT,
        title="Something scales the nodes",
        why="Where the cloud runs no autoscaler, a minimum of 0 means that no GPU node ever comes.",
        remedy="Deploy cluster-autoscaler or Karpenter with the cluster.",
        level="advisory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: autoscaler.present(stack),
    ),
    Rule(
        id=autoscaler.SEES,
        title="The autoscaler sees every GPU node group",
        why="A group that no autoscaler finds keeps its size: none, or idle for ever.",
        remedy="Give the group the tags by which the autoscaler discovers groups.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: autoscaler.sees_each_group(stack),
    ),
    Rule(
        id=autoscaler.TEMPLATE,
        title="The autoscaler knows the nodes of an empty group",
        why="It plans the first node of a group by tags; what they leave out, no pod can ask for, or runs into.",
        remedy="Put every label and taint of the group as a node-template tag on its Auto Scaling group.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: autoscaler.knows_each_template(stack),
    ),
    Rule(
        id=autoscaler.PERMITTED,
        title="The autoscaler may do its work",
        why="One missing right, and the groups keep their size: pods wait, or idle nodes stay.",
        remedy="Allow the autoscaler's role every action that it needs, on the groups of this cluster.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: autoscaler.permitted(stack),
    ),
    Rule(
        id=scale_down.EVICTABLE,
        title="System pods may leave a node",
        why="The cluster autoscaler keeps a node for one kube-system pod that no disruption budget lets go.",
        remedy="Add a PodDisruptionBudget for it, or keep it on nodes that are always on.",
        level="advisory",
        severity="medium",
        subjects=(Stack,),
        check=lambda stack, _: scale_down.system_pods_evictable(stack),
    ),
    Rule(
        id=sharing.VISIBLE,
        title="The autoscaler sees how GPUs are shared",
        why="GPUs that a device plugin multiplies show only on existing nodes: from zero, too many nodes come or none.",
        remedy="Declare the sharing on the node group where the cloud offers that, or give each pod a whole GPU.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: sharing.visible(stack),
    ),
)
