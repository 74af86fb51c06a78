"""Programs that a hasty rule would refuse: what charts, blueprints and providers do, and what costs nothing."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, karpenter
from tests.policies.corpus.case import Case
from tests.policies.corpus.kubernetes import BLANKET, allowed, blocked, pod, template, thing

EVICTION: Final = [{"operator": "Exists", "effect": "NoExecute"}]
CLASSIC_POOL: Final[dict[str, Any]] = {
    "name": "t4",
    "kubernetesClusterId": "/subscriptions/s/resourceGroups/g/providers/x/managedClusters/ml",
    "vmSize": "Standard_NC4as_T4_v3",
    "autoScalingEnabled": True,
    "minCount": 0,
    "maxCount": 4,
    "nodeTaints": [azure.GPU],
}

CRITICAL: Final = "CriticalAddonsOnly=true:NoSchedule"
ADD_ONS: Final = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NO_SCHEDULE"}
MINIMAL: Final = [action for action in (*aws_scaling.READS, *aws_scaling.WRITES) if not action.startswith("ec2:")]


def part(resource: str) -> dict[str, Any]:
    """A container that asks for one of ``resource``."""
    return {"name": "main", "image": "i", "resources": {"limits": {resource: 1}}}


BLOCKED: Final = [
    Case(
        id="eks-add-ons-alone",
        story="add-ons apart, and no group for anything else that is always there",
        rule="system-pods-home",
        resources=(
            (aws.CLUSTER, "ml", {"name": "ml"}),
            (aws.NODE_GROUP, "team", {**aws.cpu_group()[2], "taints": [{**ADD_ONS, "key": "team"}]}),
            aws.node_group(),
        ),
    ),
    Case(
        id="eks-static-instance-list-off",
        story="without the list the autoscaler asks EC2, and may not",
        rule="autoscaler-permitted",
        resources=(
            *aws_scaling.NODES,
            aws_scaling.scaler(),
            *aws_scaling.rights(aws_scaling.document(aws_scaling.allow(MINIMAL))),
        ),
        links=aws_scaling.LINKS,
    ),
    blocked(
        "everything-but-eviction",
        BLANKET,
        "every NoSchedule taint tolerated, which is how GPU nodes are closed",
        template("apps/v1:Deployment", pod(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}])),
    ),
    blocked(
        "eviction-beside-the-gpu-taint",
        "gpu-nodes-for-gpus",
        "eviction tolerated, and the GPU taint too",
        template("apps/v1:Deployment", pod(tolerations=[*EVICTION, {"key": "nvidia.com/gpu", "operator": "Exists"}])),
    ),
    Case(
        id="classic-pool-minimum",
        story="azurerm starts a pool without a count with its minimum: here one GPU node",
        rule="gpu-zero-minimum",
        resources=(azure.cluster(), (azure.CLASSIC, "t4", {**CLASSIC_POOL, "minCount": 1})),
    ),
    Case(
        id="classic-pool-with-a-count",
        story="one node to begin with",
        rule="gpu-starts-empty",
        resources=(azure.cluster(), (azure.CLASSIC, "t4", {**CLASSIC_POOL, "nodeCount": 1})),
    ),
]

ALLOWED: Final = [
    Case(
        id="aks-system-pool-for-system-pods",
        story="what Microsoft advises: a system pool that takes system pods only",
        resources=(azure.cluster(agentPoolProfiles=[{**azure.SYSTEM, "nodeTaints": [CRITICAL]}]), azure.pool()),
    ),
    Case(
        id="eks-add-ons-apart",
        story="a group for add-ons and Karpenter for all else, as its blueprints have it",
        resources=(
            (aws.CLUSTER, "ml", {"name": "ml"}),
            (aws.NODE_GROUP, "add-ons", {**aws.cpu_group()[2], "taints": [ADD_ONS]}),
            karpenter.cpu_pool(name="cpu"),
            karpenter.node_pool(),
        ),
    ),
    Case(
        id="eks-static-instance-list",
        story="the autoscaler's own list of machine types: EC2 is asked nothing",
        resources=(
            *aws_scaling.NODES,
            aws_scaling.scaler(aws_scaling.DISCOVERY, "--aws-use-static-instance-list=true"),
            *aws_scaling.rights(aws_scaling.document(aws_scaling.allow(MINIMAL))),
        ),
        links=aws_scaling.LINKS,
    ),
    allowed(
        "renamed-slice",
        "a part of a GPU under a name of one's own, on GPU nodes",
        template("apps/v1:StatefulSet", pod(containers=[part("nvidia.com/tiny")])),
    ),
    allowed(
        "gpu-for-a-virtual-machine",
        "a GPU passed through to a virtual machine, by its model",
        template("apps/v1:StatefulSet", pod(containers=[part("nvidia.com/TU104GL_Tesla_T4")])),
    ),
    allowed(
        "storage-controller-chart",
        "a CSI controller by its chart: a pod that survives eviction for a while opens no NoSchedule taint",
        template(
            "apps/v1:Deployment",
            pod(
                tolerations=[
                    {"key": "CriticalAddonsOnly", "operator": "Exists"},
                    {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 300},
                ]
            ),
            "csi-controller",
            "kube-system",
        ),
    ),
    allowed(
        "tolerant-but-elsewhere",
        "an agent that tolerates everything, pinned to the always-on nodes",
        template(
            "apps/v1:Deployment",
            pod(
                tolerations=[{"operator": "Exists"}], nodeSelector={"node.kubernetes.io/instance-type": "e2-standard-2"}
            ),
        ),
    ),
    allowed(
        "budget-of-a-deployment-to-be",
        "a disruption budget whose selector is another resource's output",
        thing("policy/v1:PodDisruptionBudget", {"selector": UNKNOWN, "maxUnavailable": 1}),
    ),
    allowed(
        "budget-with-expressions-to-be",
        "the same with expressions",
        thing("policy/v1:PodDisruptionBudget", {"selector": {"matchExpressions": UNKNOWN}, "maxUnavailable": 1}),
    ),
    Case(
        id="classic-pool-without-a-count",
        story="azurerm's usual spelling: bounds, and no count",
        resources=(azure.cluster(), (azure.CLASSIC, "t4", CLASSIC_POOL)),
    ),
    Case(
        id="scale-set-of-none",
        story="a scale set that is empty",
        resources=(
            azure.cluster(),
            (azure.SCALE_SET, "set", {"sku": {"name": "Standard_NC8as_T4_v3", "capacity": 0}}),
        ),
    ),
]
