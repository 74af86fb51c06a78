"""What programs cost at their maximum and while nobody uses them, on every cloud, by list prices."""

from __future__ import annotations

from typing import Any, Final

from tests.policies.corpus import aws, azure, karpenter, kubernetes
from tests.policies.corpus.case import Draft, Program, Resource, draft

QUOTAS: Final = "gpu-quotas-kept"
HOURLY: Final = "hourly-cost-ceiling"
IDLE: Final = "idle-cost-ceiling"
EKS: Final = (aws.CLUSTER, "ml", {"name": "ml", "region": "us-west-2"})
AKS: Final = azure.cluster(location="westeurope")


def priced(id: str, story: str, rule: str | None = None, **limits: float) -> Draft:
    return draft(f"money-{id}", story, rule=rule, limits=limits)


def sized(kinds: list[str], least: int, most: int, name: str = "gpu", **more: Any) -> Resource:
    sizes = {"minSize": least, "maxSize": most, "desiredSize": least}
    return aws.node_group(name, instanceTypes=kinds, scalingConfig=sizes, **more)


def serving(replicas: int) -> Any:
    """Pods that hold a GPU each."""
    spec = {"replicas": replicas, "template": {"spec": kubernetes.pod(1)}}
    return kubernetes.thing("apps/v1:Deployment", spec, "serve")


def quotas(**gpus: int) -> list[Any]:
    """A quota of GPUs for each namespace."""
    return [
        kubernetes.thing("core/v1:ResourceQuota", {"hard": {"requests.nvidia.com/gpu": str(count)}}, name, name)
        for name, count in gpus.items()
    ]


def namesake(name: str) -> Program:
    """A cluster with a pool called gpu, of at most ten g5.xlarge ($1.006 an hour each in us-west-2)."""
    cluster = (aws.CLUSTER, name, {"name": name, "region": "us-west-2"})
    group = aws.NODE_GROUP, f"{name}-gpu", {**sized(["g5.xlarge"], 0, 10)[2], "clusterName": name}
    system = aws.NODE_GROUP, f"{name}-cpu", {**aws.cpu_group()[2], "clusterName": name}
    return cluster, group, system


BLOCKED: Final = [
    priced("eks-maximum", "a hundred p5.48xlarge", rule=HOURLY, maxHourlyUsd=50).of(
        EKS, sized(["p5.48xlarge"], 0, 100)
    ),
    priced(
        "eks-dearest", "the second machine of the group costs sixteen times the first", rule=HOURLY, maxHourlyUsd=20
    ).of(EKS, sized(["g5.xlarge", "g5.48xlarge"], 0, 4, capacityType="SPOT")),
    priced("eks-idle", "twenty large machines without GPUs, always on", rule=IDLE, maxIdleUsd=0.5).of(
        EKS, sized(["m6i.32xlarge"], 20, 20, "cpu", taints=None)
    ),
    priced("eks-namesakes", "two clusters with a pool of one name", rule=HOURLY, maxHourlyUsd=15).of(
        *namesake("a"), *namesake("b")
    ),
    priced("aks-maximum", "a hundred machines with eight GPUs each", rule=HOURLY, maxHourlyUsd=50).of(
        AKS, azure.pool(vmSize="Standard_ND96isr_H100_v5", maxCount=100)
    ),
    priced("karpenter-maximum", "up to 64 GPUs of the dearest kind", rule=HOURLY, maxHourlyUsd=50).of(
        EKS,
        aws.cpu_group(),
        karpenter.node_pool(
            {"key": karpenter.FAMILY, "operator": "In", "values": ["p5"]}, limits={"nvidia.com/gpu": 64}
        ),
    ),
    priced(
        "karpenter-small-machines",
        "eight machines with one GPU and many CPUs cost more than one with eight GPUs",
        rule=HOURLY,
        maxHourlyUsd=25,
    ).of(
        EKS,
        karpenter.node_pool(
            {"key": karpenter.FAMILY, "operator": "In", "values": ["g5"]}, limits={"nvidia.com/gpu": 8}
        ),
    ),
    priced(
        "held-for-ever",
        "two pods that hold a GPU of g5.xlarge each ($1.006): no node has to be up by itself",
        rule=IDLE,
        maxIdleUsd=2,
    ).of(EKS, sized(["g5.xlarge"], 0, 4), serving(2)),
    priced("promised-twice", "two teams may each have all ten GPUs", rule=QUOTAS).of(
        EKS, sized(["g5.xlarge"], 0, 10), *quotas(red=10, blue=10)
    ),
    priced("promised-in-part", "a quota for pods of one class is a part of the namespace's", rule=QUOTAS).of(
        EKS,
        sized(["g5.xlarge"], 0, 10),
        *quotas(red=11),
        kubernetes.thing(
            "core/v1:ResourceQuota",
            {"hard": {"requests.nvidia.com/gpu": "4"}, "scopeSelector": {"matchExpressions": []}},
            "urgent",
            "red",
        ),
    ),
]

ALLOWED: Final = [
    priced("promised", "two teams share ten GPUs").of(
        EKS, sized(["g5.xlarge"], 0, 10), aws.cpu_group(), *quotas(a=5, b=5)
    )
]
