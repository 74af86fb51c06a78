"""Kubernetes' cluster-autoscaler on the admin pool: what it may do in the account, and how it decides.

https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.eks import autoscaler_objects, node_tags, policy
from components.clouds.eks.identity import associate, pod_role
from components.clouds.eks.versions import CLUSTER_AUTOSCALERS, kubernetes_minor
from components.clouds.priority_expander import Pool, priorities, priority_config_map
from components.resources import ClusterObjects
from policies.rules.model import POOL_LABEL

if TYPE_CHECKING:
    from components.clouds.eks.cluster import EksCluster

IMAGE: Final = "registry.k8s.io/autoscaling/cluster-autoscaler"

READ_ACTIONS: Final = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
)
"""None of these can be limited to one group."""

WRITE_ACTIONS: Final = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")

UNNEEDED_MINUTES: Final = {"optimize-utilization": 5, "balanced": 10}
"""Profile → how long a node is idle before it goes; 10 is the program's own default."""

DEFAULT_EXPANDER: Final = "priority"

_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def declare(
    name: str,
    cluster: EksCluster,
    pools: Sequence[Pool],
    objects: ClusterObjects,
    parent: pulumi.Resource,
    admin_pool: pulumi.Resource,
) -> None:
    """The role of the autoscaler and its objects in the cluster, which wait for ``admin_pool``."""
    spec = cluster.spec
    role = pod_role(name, "cluster-autoscaler", spec, cluster.account, parent, document=rights(spec.name))
    account = (autoscaler_objects.NAMESPACE, autoscaler_objects.NAME)
    # Credentials are injected when a pod starts, so the association comes before the Deployment.
    identity = associate(f"{name}-identity", role, cluster.name, account, spec, pulumi.ResourceOptions(parent=parent))
    before = [
        objects.declare(f"{name}-{manifest['kind'].lower()}", manifest, parent, admin_pool)
        for manifest in autoscaler_objects.access()
    ]
    if uses_priorities(spec):
        order = priority_config_map(priorities(pools, group_pattern))
        before.append(objects.declare(f"{name}-order", order, parent, admin_pool))
    deployment = autoscaler_objects.deployment(image(spec), flags(spec), spec.region)
    objects.declare(f"{name}-deployment", deployment, parent, admin_pool, identity, *before)
    objects.declare(f"{name}-budget", autoscaler_objects.disruption_budget(), parent, admin_pool)


def rights(cluster_name: str) -> str:
    """The policy: read everything of its kind, change the groups that EKS tagged as this cluster's."""
    ours = {
        "StringEquals": {
            f"aws:ResourceTag/{node_tags.ENABLED}": "true",
            f"aws:ResourceTag/{node_tags.owned(cluster_name)}": "owned",
        }
    }
    return policy.document(
        policy.allow("See", READ_ACTIONS, "*"),
        policy.allow("Scale", WRITE_ACTIONS, "*", ours),
    )


def image(spec: ClusterSpec) -> str:
    """The release that belongs to the cluster's minor version."""
    return f"{IMAGE}:{CLUSTER_AUTOSCALERS[kubernetes_minor(spec.version, spec.channel)]}"


def uses_priorities(spec: ClusterSpec) -> bool:
    """Whether the order of pools decides, as it does unless the stack file names another expander."""
    return (spec.expander or DEFAULT_EXPANDER) == "priority"


def unneeded_minutes(spec: ClusterSpec) -> int:
    """How long a node is idle before it goes, unless its pool says otherwise."""
    return spec.unneeded_minutes or UNNEEDED_MINUTES[spec.autoscaling_profile]


def flags(spec: ClusterSpec) -> list[str]:
    """The command line: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"""
    tags = f"{node_tags.ENABLED},{node_tags.owned(spec.name)}"
    minutes = unneeded_minutes(spec)
    return [
        "--v=2",
        "--stderrthreshold=info",
        "--cloud-provider=aws",
        f"--namespace={autoscaler_objects.NAMESPACE}",
        f"--cluster-name={spec.name}",
        f"--node-group-auto-discovery=asg:tag={tags}",
        # Where priorities are equal (zones of one pool), the node that the pod fills best.
        f"--expander={'priority,least-waste' if uses_priorities(spec) else spec.expander}",
        # The groups of one pool in several zones grow evenly; they differ in the pool's label and nothing else.
        "--balance-similar-node-groups=true",
        f"--balancing-ignore-label={POOL_LABEL}",
        f"--scale-down-unneeded-time={minutes}m",
        f"--scale-down-delay-after-add={minutes}m",
        # An idle GPU node goes; one that computes is never emptied to pack its pods elsewhere.
        "--scale-down-gpu-utilization-threshold=0.001",
        # Pods with an emptyDir, and those of kube-system (which have a home on the admin pool), keep no node alive.
        "--skip-nodes-with-local-storage=false",
        "--skip-nodes-with-system-pods=false",
    ]


def group_pattern(pool: Pool) -> str:
    """The names that EKS gives the Auto Scaling group of a node group: ``eks-<name>-<UUID>``."""
    return f"^eks-{pool.name}-{_UUID}$"
