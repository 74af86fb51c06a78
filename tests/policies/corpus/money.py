"""What programs cost at their maximum and while nobody uses them, on every cloud, by list prices."""

from __future__ import annotations

from typing import Any, Final

from tests.policies.corpus import aws, azure, karpenter, kubernetes
from tests.policies.corpus.case import Case

QUOTAS: Final = "gpu-quotas-kept"
HOURLY: Final = "hourly-cost-ceiling"
IDLE: Final = "idle-cost-ceiling"
EKS: Final = (aws.CLUSTER, "ml", {"name": "ml", "region": "us-west-2"})
AKS: Final = azure.cluster(location="westeurope")


def priced(id: str, story: str, *resources: Any, rule: str | None = None, **limits: float) -> Case:
    return Case(id=f"money-{id}", story=story, resources=resources, rule=rule, limits=limits)


def sized(kinds: list[str], least: int, most: int, name: str = "gpu", **more: Any) -> aws.Resource:
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


def namesake(name: str) -> tuple[aws.Resource, ...]:
    """A cluster with a pool called gpu, of at most ten g5.xlarge ($1.006 an hour each in us-west-2)."""
    cluster = (aws.CLUSTER, name, {"name": name, "region": "us-west-2"})
    group = aws.NODE_GROUP, f"{name}-gpu", {**sized(["g5.xlarge"], 0, 10)[2], "clusterName": name}
    system = aws.NODE_GROUP, f"{name}-cpu", {**aws.cpu_group()[2], "clusterName": name}
    return cluster, group, system


BLOCKED: Final = [
    priced("eks-maximum", "a hundred p5.48xlarge", EKS, sized(["p5.48xlarge"], 0, 100), rule=HOURLY, maxHourlyUsd=50),
    priced(
        "eks-dearest",
        "the second machine of the group costs sixteen times the first",
        EKS,
        sized(["g5.xlarge", "g5.48xlarge"], 0, 4, capacityType="SPOT"),
        rule=HOURLY,
        maxHourlyUsd=20,
    ),
    priced(
        "eks-idle",
        "twenty large machines without GPUs, always on",
        EKS,
        sized(["m6i.32xlarge"], 20, 20, "cpu", taints=None),
        rule=IDLE,
        maxIdleUsd=0.5,
    ),
    priced(
        "eks-namesakes",
        "two clusters with a pool of one name",
        *namesake("a"),
        *namesake("b"),
        rule=HOURLY,
        maxHourlyUsd=15,
    ),
    priced(
        "aks-maximum",
        "a hundred machines with eight GPUs each",
        AKS,
        azure.pool(vmSize="Standard_ND96isr_H100_v5", maxCount=100),
        rule=HOURLY,
        maxHourlyUsd=50,
    ),
    priced(
        "karpenter-maximum",
        "up to 64 GPUs of the dearest kind",
        EKS,
        aws.cpu_group(),
        karpenter.node_pool(
            {"key": karpenter.FAMILY, "operator": "In", "values": ["p5"]}, limits={"nvidia.com/gpu": 64}
        ),
        rule=HOURLY,
        maxHourlyUsd=50,
    ),
    priced(
        "karpenter-small-machines",
        "eight machines with one GPU and many CPUs cost more than one with eight GPUs",
        EKS,
        karpenter.node_pool(
            {"key": karpenter.FAMILY, "operator": "In", "values": ["g5"]}, limits={"nvidia.com/gpu": 8}
        ),
        rule=HOURLY,
        maxHourlyUsd=25,
    ),
    priced(
        "held-for-ever",
        "two pods that hold a GPU of g5.xlarge each ($1.006): no node has to be up by itself",
        EKS,
        sized(["g5.xlarge"], 0, 4),
        serving(2),
        rule=IDLE,
        maxIdleUsd=2,
    ),
    priced(
        "promised-twice",
        "two teams may each have all ten GPUs",
        EKS,
        sized(["g5.xlarge"], 0, 10),
        *quotas(red=10, blue=10),
        rule=QUOTAS,
    ),
    priced(
        "promised-in-part",
        "a quota for pods of one class is a part of the namespace's",
        EKS,
        sized(["g5.xlarge"], 0, 10),
        *quotas(red=11),
        kubernetes.thing(
            "core/v1:ResourceQuota",
            {"hard": {"requests.nvidia.com/gpu": "4"}, "scopeSelector": {"matchExpressions": []}},
            "urgent",
            "red",
        ),
        rule=QUOTAS,
    ),
]

ALLOWED: Final = [
    priced(
        "promised", "two teams share ten GPUs", EKS, sized(["g5.xlarge"], 0, 10), aws.cpu_group(), *quotas(a=5, b=5)
    ),
]
