"""What a node group and a cluster's set of node groups must be."""

from __future__ import annotations

from typing import Final

from policies.rules import clusters, node_groups
from policies.rules.model import NodeGroup, Stack
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id=node_groups.ZERO_MINIMUM,
        title="GPU nodes have the minimum zero",
        why="A GPU node that stays up while nobody uses it is the most expensive idle machine in the cluster.",
        remedy="Set the autoscaler's minimum of every GPU node group to 0.",
        level="mandatory",
        severity="critical",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.zero_minimum(group),
    ),
    Rule(
        id=node_groups.STARTS_EMPTY,
        title="GPU node groups start without nodes",
        why="Nodes made at creation are paid for before the first job, and a fixed count works against the autoscaler.",
        remedy="Set the initial node count to 0 and declare no fixed node count.",
        level="mandatory",
        severity="high",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.starts_empty(group),
    ),
    Rule(
        id=node_groups.AUTOSCALED,
        title="GPU node groups are autoscaled",
        why="Only an autoscaler removes idle nodes and adds them when a pod asks for a GPU.",
        remedy="Enable autoscaling on the group, with a minimum of 0 and a maximum.",
        level="mandatory",
        severity="critical",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.autoscaled(group),
    ),
    Rule(
        id=node_groups.CEILING,
        title="GPU node groups have a ceiling",
        why="A job that asks for a thousand GPUs by mistake must not get them.",
        remedy="Set the autoscaler's maximum of every GPU node group.",
        level="mandatory",
        severity="high",
        subjects=(NodeGroup,),
        check=lambda group, limits: node_groups.ceiling(group, limits["maxGpus"]),
        schema={
            "maxGpus": {
                "type": ["integer", "null"],
                "minimum": 1,
                "default": None,
                "description": "Most GPUs one node group may grow to; null for no limit but the group's own maximum.",
            }
        },
    ),
    Rule(
        id=node_groups.TAINT,
        title="GPU nodes carry the GPU taint",
        why="Without it system pods and CPU jobs land on GPU nodes, and the autoscaler can never remove these.",
        remedy="Declare the taint nvidia.com/gpu=present:NoSchedule on every GPU node group.",
        level="mandatory",
        severity="critical",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.gpu_taint(group),
        remediable=True,
    ),
    Rule(
        id=node_groups.LABEL,
        title="GPU nodes carry the label of GPU nodes",
        why="NVIDIA's charts select it; without it, and without a node feature discovery, no pod gets a GPU.",
        remedy="Declare the label nvidia.com/gpu.present=true on every GPU node group.",
        level="advisory",
        severity="low",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.present_label(group),
        remediable=True,
    ),
    Rule(
        id=node_groups.UNIFORM,
        title="GPU node groups have one size",
        why="The autoscaler takes all nodes of a group for alike; a mix wakes nodes that a pod does not fit or fill.",
        remedy="Make one node group for each number of GPUs per node.",
        level="mandatory",
        severity="high",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.uniform_sizes(group),
    ),
    Rule(
        id=node_groups.MODELS,
        title="GPU node groups have one GPU model",
        why="A job that fits one model's memory may fail on the other, and no label tells which one it gets.",
        remedy="Make one node group for each GPU model.",
        level="mandatory",
        severity="high",
        subjects=(NodeGroup,),
        check=lambda group, _: node_groups.uniform_models(group),
    ),
    Rule(
        id=clusters.NOT_ALONE,
        title="GPU node groups are not a cluster's only ones",
        why="Some clouds taint GPU nodes only beside a CPU group, and DNS should not need a GPU node.",
        remedy="Add a small CPU node group.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: clusters.not_alone(stack),
    ),
    Rule(
        id=clusters.SYSTEM_HOME,
        title="System pods have a home",
        why="With no always-on, untainted CPU node, system pods wait forever or keep a GPU node up.",
        remedy="Keep one small CPU node group at a minimum of 1 node, without taints.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: clusters.system_pods_home(stack),
    ),
)
