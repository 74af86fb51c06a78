"""Programs that a hasty rule would refuse: what charts, blueprints and providers do, and what costs nothing."""

from __future__ import annotations

from typing import Any, Final

from concepts.unknown import UNKNOWN
from tests.policies.corpus import azure
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

BLOCKED: Final = [
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
