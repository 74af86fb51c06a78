"""All rules of the gate, in the order in which they are documented."""

from __future__ import annotations

from typing import Final

from policies.rules import clusters, credentials, money, node_groups, regions, workloads
from policies.rules.model import Cluster, Credential, NodeGroup, Stack
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
    Rule(
        id=clusters.PRIVATE_NODES,
        title="Nodes are private",
        why="A node with a public address can be reached, and scanned, from anywhere.",
        remedy="Enable private nodes, with a NAT gateway for outgoing traffic.",
        level="advisory",
        severity="medium",
        subjects=(Cluster, NodeGroup),
        check=lambda subject, _: clusters.private_nodes(subject),
    ),
    Rule(
        id=clusters.SECRETS,
        title="Kubernetes Secrets are encrypted with your key",
        why="A key of your own can be rotated, audited and taken away.",
        remedy="Set a KMS key for Secrets.",
        level="advisory",
        severity="low",
        subjects=(Cluster,),
        check=lambda cluster, _: clusters.secrets_encryption(cluster),
    ),
    Rule(
        id=clusters.DISKS,
        title="Node disks are encrypted",
        why="Training data and checkpoints end up on node disks.",
        remedy="Encrypt node disks; with customerKey, with a key of your own.",
        level="advisory",
        severity="medium",
        subjects=(NodeGroup,),
        check=lambda group, limits: clusters.disk_encryption(group, limits["customerKey"]),
        schema={
            "customerKey": {
                "type": "boolean",
                "default": False,
                "description": "Whether the cloud's own encryption key is not enough.",
            }
        },
    ),
    Rule(
        id=credentials.STATIC_KEYS,
        title="No static keys",
        why="A key in a program or its state works for whoever finds it, until somebody remembers to revoke it.",
        remedy="Use workload identity, OIDC or an exec credential plugin.",
        level="mandatory",
        severity="critical",
        subjects=(Credential,),
        check=lambda credential, _: credentials.no_static_keys(credential),
    ),
    Rule(
        id=money.COST,
        title="The stack's hourly cost has a ceiling",
        why="The maximum of all node groups together is what a bad night costs.",
        remedy="Lower a node group's maximum, or raise the ceiling on purpose.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, limits: money.hourly_cost(stack, limits["maxHourlyUsd"]),
        schema={
            "maxHourlyUsd": {
                "type": ["number", "null"],
                "minimum": 0,
                "default": None,
                "description": "Most US dollars an hour with all node groups at their maximum; null for no limit.",
            }
        },
    ),
    Rule(
        id=regions.ALLOWED,
        title="Only allowed regions",
        why="Data residency, quota and reservations are per region.",
        remedy="Use an allowed region, or add the region to the list.",
        level="mandatory",
        severity="medium",
        subjects=(Cluster, NodeGroup),
        check=lambda subject, limits: regions.allowed(subject, limits["regions"]),
        schema={
            "regions": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "Regions that may be used; empty for all.",
            }
        },
    ),
    Rule(
        id=regions.LOW_CARBON,
        title="A region with clean energy",
        why="GPUs draw hundreds of watts; the same job emits ten times more CO2 in one region than in another.",
        remedy="Choose a region with a high share of carbon-free energy where latency and quota allow.",
        level="advisory",
        severity="low",
        subjects=(Cluster,),
        check=lambda cluster, limits: regions.low_carbon(
            cluster, limits["minCarbonFreePercent"], limits["maxGramsPerKwh"]
        ),
        schema={
            "minCarbonFreePercent": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100,
                "default": 75,
                "description": "Share of carbon-free energy from which a region counts as clean.",
            },
            "maxGramsPerKwh": {
                "type": "number",
                "minimum": 0,
                "default": 200,
                "description": "Grid emissions (gCO2eq/kWh) up to which a region counts as clean.",
            },
        },
    ),
)

BY_ID: Final = {rule.id: rule for rule in RULES}
