"""Kubernetes' cluster-autoscaler on the admin pool: its IAM role and its objects in the cluster.

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
from facts.catalog.eks import node_tags
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS
from facts.concepts.pool import POOL_LABEL

IMAGE: Final = "registry.k8s.io/autoscaling/cluster-autoscaler"
_ACCOUNT: Final = ("kube-system", "cluster-autoscaler")
"""Namespace and service account, as in ``cluster-autoscaler.yaml``."""

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
        cluster=settings.cluster_name,
        tags=f"{node_tags.ENABLED},{node_tags.owned(settings.cluster_name)}",
        pool_label=POOL_LABEL,
        minutes=settings.idle_minutes,
        region=settings.region,
    )
    before = [objects.declare(manifest["kind"].lower(), manifest, *objects.home) for manifest in access]
    order = priority_config_map(priorities(pools, group_pattern))
    before.append(objects.declare("order", order, *objects.home))
    objects.declare("deployment", deployment, identity, *before)
    objects.declare("budget", budget, *objects.home)


def group_pattern(pool: Pool) -> str:
    """The names that EKS gives the Auto Scaling group of a node group: ``eks-<name>-<UUID>``."""
    return f"^eks-{pool.name}-{_UUID}$"
