"""Kubernetes' cluster-autoscaler on the admin pool: its IAM role, its objects in the cluster and its command line.

https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pulumi

from components.clouds.base import AdminObjects
from components.clouds.eks.context import Context
from components.clouds.eks.identity import ServiceRole, associate
from components.clouds.eks.version import release
from components.clouds.priority_expander import Pool, priorities, priority_config_map
from components.resources import documents
from components.settings import Settings
from facts.catalog.eks import node_tags
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS
from facts.concepts.pool import POOL_LABEL

IMAGE: Final = "registry.k8s.io/autoscaling/cluster-autoscaler"
_ACCOUNT: Final = ("kube-system", "cluster-autoscaler")
"""Namespace and service account, as in ``cluster-autoscaler.yaml``."""

# EKS's labels that differ between groups; by default the autoscaler ignores only ``nodegroup``:
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/processors/nodegroupset/aws_nodegroups.go
_LABELS_OF_A_GROUP: Final = tuple(
    f"eks.amazonaws.com/{name}" for name in ("sourceLaunchTemplateId", "sourceLaunchTemplateVersion", "nodegroup-image")
)

_UUID: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def declare(context: Context, pools: Sequence[Pool], objects: AdminObjects) -> None:
    """The autoscaler's IAM role and its objects in the cluster."""
    settings, name, parent = context.settings, objects.name, objects.parent
    document = context.account.document("cluster-autoscaler", region=settings.region, cluster=settings.cluster_name)
    role = ServiceRole(f"{name}-role", "cluster-autoscaler", settings, context.account, parent, document=document)
    # Credentials are injected when a pod starts, so the association comes before the Deployment.
    identity = associate(
        f"{name}-identity", role, context.name, _ACCOUNT, settings, pulumi.ResourceOptions(parent=parent)
    )
    *access, deployment, budget = documents(
        Path(__file__).with_name("cluster-autoscaler.yaml"),
        image=f"{IMAGE}:{release(CLUSTER_AUTOSCALERS, context.minor)}",
        command=["./cluster-autoscaler", *flags(settings)],
        region=settings.region,
    )
    before = [objects.declare(manifest["kind"].lower(), manifest, objects.admin_pool) for manifest in access]
    order = priority_config_map(priorities(pools, group_pattern))
    before.append(objects.declare("order", order, objects.admin_pool))
    objects.declare("deployment", deployment, identity, *before)
    objects.declare("budget", budget, objects.admin_pool)


def flags(settings: Settings) -> list[str]:
    """The command line: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"""
    tags = f"{node_tags.ENABLED},{node_tags.owned(settings.cluster_name)}"
    minutes = settings.idle_minutes
    return [
        "--v=2",
        "--stderrthreshold=info",
        "--cloud-provider=aws",
        f"--namespace={_ACCOUNT[0]}",
        f"--cluster-name={settings.cluster_name}",
        f"--node-group-auto-discovery=asg:tag={tags}",
        # Among equal priorities (zones of one pool), the node with the least waste.
        "--expander=priority,least-waste",
        # The groups of one pool in several zones grow evenly; they differ in the pool's label and in what EKS adds.
        "--balance-similar-node-groups=true",
        *(f"--balancing-ignore-label={label}" for label in (POOL_LABEL, *_LABELS_OF_A_GROUP)),
        f"--scale-down-unneeded-time={minutes}m",
        f"--scale-down-delay-after-add={minutes}m",
        # Per group: otherwise a steady stream of jobs for one pool keeps the idle nodes of all pools.
        # https://github.com/kubernetes/autoscaler/issues/3071
        "--scale-down-delay-type-local=true",
        # Idle GPU nodes are removed; a busy one is never drained to pack its pods elsewhere.
        "--scale-down-gpu-utilization-threshold=0.001",
        # Pods with an emptyDir, and those of kube-system (which fit on the admin pool), keep no node alive.
        "--skip-nodes-with-local-storage=false",
        "--skip-nodes-with-system-pods=false",
    ]


def group_pattern(pool: Pool) -> str:
    """The names that EKS gives the Auto Scaling group of a node group: ``eks-<name>-<UUID>``."""
    return f"^eks-{pool.name}-{_UUID}$"
