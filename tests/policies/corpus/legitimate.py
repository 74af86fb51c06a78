"""Programs that a hasty rule would refuse: what charts, blueprints and providers do, and what costs nothing."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, karpenter, kubernetes
from tests.policies.corpus.case import allowed, blocked
from tests.policies.corpus.kubernetes import BLANKET, pod, template, thing

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
    blocked(
        "eks-add-ons-alone", "system-pods-home", "add-ons apart, and no group for anything else that is always there"
    ).of(
        (aws.CLUSTER, "ml", {"name": "ml"}),
        (aws.NODE_GROUP, "team", {**aws.cpu_group()[2], "taints": [{**ADD_ONS, "key": "team"}]}),
        aws.node_group(),
    ),
    blocked(
        "eks-static-instance-list-off",
        "autoscaler-permitted",
        "without the list the autoscaler asks EC2, and may not",
        links=aws_scaling.LINKS,
    ).of(
        *aws_scaling.NODES, aws_scaling.scaler(), *aws_scaling.rights(aws_scaling.document(aws_scaling.allow(MINIMAL)))
    ),
    kubernetes.blocked(
        "everything-but-eviction", BLANKET, "every NoSchedule taint tolerated, which is how GPU nodes are closed"
    ).of(template("apps/v1:Deployment", pod(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}]))),
    kubernetes.blocked(
        "eviction-beside-the-gpu-taint", "gpu-nodes-for-gpus", "eviction tolerated, and the GPU taint too"
    ).of(template("apps/v1:Deployment", pod(tolerations=[*EVICTION, {"key": "nvidia.com/gpu", "operator": "Exists"}]))),
    blocked(
        "classic-pool-minimum",
        "gpu-zero-minimum",
        "azurerm starts a pool without a count with its minimum: here one GPU node",
    ).of(azure.cluster(), (azure.CLASSIC, "t4", {**CLASSIC_POOL, "minCount": 1})),
    blocked("classic-pool-with-a-count", "gpu-starts-empty", "one node to begin with").of(
        azure.cluster(), (azure.CLASSIC, "t4", {**CLASSIC_POOL, "nodeCount": 1})
    ),
]

ALLOWED: Final = [
    allowed("aks-system-pool-for-system-pods", "what Microsoft advises: a system pool that takes system pods only").of(
        azure.cluster(agentPoolProfiles=[{**azure.SYSTEM, "nodeTaints": [CRITICAL]}]), azure.pool()
    ),
    allowed("eks-add-ons-apart", "a group for add-ons and Karpenter for all else, as its blueprints have it").of(
        (aws.CLUSTER, "ml", {"name": "ml"}),
        (aws.NODE_GROUP, "add-ons", {**aws.cpu_group()[2], "taints": [ADD_ONS]}),
        karpenter.cpu_pool(name="cpu"),
        karpenter.node_pool(),
    ),
    allowed(
        "eks-static-instance-list",
        "the autoscaler's own list of machine types: EC2 is asked nothing",
        links=aws_scaling.LINKS,
    ).of(
        *aws_scaling.NODES,
        aws_scaling.scaler(aws_scaling.DISCOVERY, "--aws-use-static-instance-list=true"),
        *aws_scaling.rights(aws_scaling.document(aws_scaling.allow(MINIMAL))),
    ),
    kubernetes.allowed("renamed-slice", "a part of a GPU under a name of one's own, on GPU nodes").of(
        template("apps/v1:StatefulSet", pod(containers=[part("nvidia.com/tiny")]))
    ),
    kubernetes.allowed("gpu-for-a-virtual-machine", "a GPU passed through to a virtual machine, by its model").of(
        template("apps/v1:StatefulSet", pod(containers=[part("nvidia.com/TU104GL_Tesla_T4")]))
    ),
    kubernetes.allowed(
        "storage-controller-chart",
        "a CSI controller by its chart: a pod that survives eviction for a while opens no NoSchedule taint",
    ).of(
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
        )
    ),
    kubernetes.allowed(
        "tolerant-but-elsewhere", "an agent that tolerates everything, pinned to the always-on nodes"
    ).of(
        template(
            "apps/v1:Deployment",
            pod(
                tolerations=[{"operator": "Exists"}], nodeSelector={"node.kubernetes.io/instance-type": "e2-standard-2"}
            ),
        )
    ),
    kubernetes.allowed(
        "budget-of-a-deployment-to-be", "a disruption budget whose selector is another resource's output"
    ).of(thing("policy/v1:PodDisruptionBudget", {"selector": UNKNOWN, "maxUnavailable": 1})),
    kubernetes.allowed("budget-with-expressions-to-be", "the same with expressions").of(
        thing("policy/v1:PodDisruptionBudget", {"selector": {"matchExpressions": UNKNOWN}, "maxUnavailable": 1})
    ),
    allowed("classic-pool-without-a-count", "azurerm's usual spelling: bounds, and no count").of(
        azure.cluster(), (azure.CLASSIC, "t4", CLASSIC_POOL)
    ),
    allowed("scale-set-of-none", "a scale set that is empty").of(
        azure.cluster(), (azure.SCALE_SET, "set", {"sku": {"name": "Standard_NC8as_T4_v3", "capacity": 0}})
    ),
]
