"""A cluster with a working cluster-autoscaler in data, for tests that break one part of it each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import (
    READS,
    WRITES,
    ClusterSnapshot,
    Installation,
    cluster_autoscaler,
)
from rehearsal.providers.eks.nodes import DeclaredGroup
from rehearsal.simulation import NodeShape, SimulatedNodeGroup

CLUSTER: Final = "demo"
REGION: Final = "us-west-2"
ASG: Final = "eks-gpu-1-0a1b2c3d"
ROLE: Final = "arn:aws:iam::123456789012:role/demo-autoscaler"
TEMPLATE: Final = "k8s.io/cluster-autoscaler/node-template/"
ENABLED: Final = "k8s.io/cluster-autoscaler/enabled"
OWN: Final = f"k8s.io/cluster-autoscaler/{CLUSTER}"
FLAGS: Final = ("--cloud-provider=aws", f"--node-group-auto-discovery=asg:tag={ENABLED},{OWN}")
EKS_TAGS: Final = {"eks:cluster-name": CLUSTER, "eks:nodegroup-name": "gpu-1", ENABLED: "true", OWN: "owned"}
LABELS: Final = {"nvidia.com/gpu.present": "true", "gpucluster.dev/pool": "gpu"}
TAINT: Final = Taint("nvidia.com/gpu", "present", "NoSchedule")
TEMPLATE_TAGS: Final = {
    **{f"{TEMPLATE}label/{key}": value for key, value in LABELS.items()},
    f"{TEMPLATE}taint/nvidia.com/gpu": "present:NoSchedule",
}
CONTEXT: Final = {"aws:RequestedRegion": REGION}


def deployment(
    *flags: str, image: str = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0", ready: int = 1
) -> dict[str, Any]:
    """The autoscaler's Deployment as the API server answers it; without ``flags``, with those that work."""
    container = {"name": "main", "image": image, "command": ["./cluster-autoscaler", *(flags or FLAGS)]}
    pod = {"serviceAccountName": "cluster-autoscaler", "containers": [container]}
    labels = {"app": "cluster-autoscaler"}
    return {
        "metadata": {"namespace": "kube-system", "name": "cluster-autoscaler"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        "status": {"readyReplicas": ready} if ready else {},
    }


def policy(*, reads: tuple[str, ...] = READS, writes: tuple[str, ...] = WRITES, **condition: Any) -> dict[str, Any]:
    """The autoscaler's policy; ``condition`` is that of its writes."""
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": [*reads, "eks:DescribeNodegroup"], "Resource": "*"},
        {"Effect": "Allow", "Action": list(writes), "Resource": "*", "Condition": condition},
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def trust(service: str = "pods.eks.amazonaws.com") -> dict[str, Any]:
    """A role's trust policy for an AWS service."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": ["sts:AssumeRole", "sts:TagSession"]}
    return {"Version": "2012-10-17", "Statement": [statement]}


def role(document: Mapping[str, Any] | None = None) -> Role:
    """The autoscaler's role with that policy, or with one that suffices."""
    return Role(ROLE, trust(), {"autoscaler": document or policy()})


def installed(*flags: str, **more: Any) -> Installation:
    """The Deployment as the autoscaler simulation reads it."""
    autoscaler = cluster_autoscaler([deployment(*flags, **more)])
    assert autoscaler is not None
    return autoscaler


def snapshot(**changes: Any) -> ClusterSnapshot:
    """Everything as it must be, with ``changes``."""
    return replace(ClusterSnapshot(installed(), role(), {}, CONTEXT), **changes)


def declared(**changes: Any) -> DeclaredGroup:
    """A group of one-GPU machines between 0 and 4."""
    base = SimulatedNodeGroup(
        name="gpu-1",
        cluster=CLUSTER,
        machine=NodeShape(4, 16, gpus=1, gpu_name="nvidia-l4"),
        nodes=Nodes(
            machine_types=("g6.xlarge",),
            zones=("us-west-2a",),
            labels={**LABELS, "node.kubernetes.io/instance-type": "g6.xlarge", "eks.amazonaws.com/nodegroup": "gpu-1"},
            taints=(TAINT,),
            hourly_usd=0.8,
        ),
        scaling=Scaling(autoscaled=False, max_nodes=0),
        gpus_advertised_by="device-plugin",
    )
    arn = f"arn:aws:autoscaling:{REGION}:123456789012:autoScalingGroup:0a1b:autoScalingGroupName/{ASG}"
    asg = (arn, ("us-west-2a",), {**EKS_TAGS, **TEMPLATE_TAGS})
    return replace(DeclaredGroup(ASG, base, 0, 4, 0, LABELS, {}, *asg), **changes)
