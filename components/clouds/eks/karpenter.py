"""Karpenter on the admin pool, in place of cluster-autoscaler: pools are objects in the cluster, and it launches
instances directly. https://karpenter.sh/v1.14/
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pulumi

from components.clouds import node_pools
from components.clouds.base import AdminObjects
from components.clouds.declare import eks as declare
from components.clouds.eks import disk_key, fabric, karpenter_objects, policy
from components.clouds.eks.context import Context
from components.clouds.eks.identity import CallerIdentity, ServiceRole, associate, node_role, role_name
from components.clouds.eks.interruptions import InterruptionQueue, queue_name
from components.clouds.eks.version import release
from components.resources import Chart, CustomResource, documents
from components.settings import Settings
from facts.catalog.eks.versions import KARPENTERS
from facts.concepts.iam import literal
from facts.concepts.pool import ROLE_LABEL, Pool

NODE_POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
"""The type of the resource that is a pool."""

NAMESPACE: Final = "kube-system"
NAME: Final = "karpenter"
"""Of the chart and of the service account."""

_DEFINITIONS: Final = "karpenter-crd"
"""They come first and as a release of their own, because Helm never upgrades those of the other chart:
https://karpenter.sh/v1.14/upgrading/upgrade-guide/#crd-upgrades"""
_HERE: Final = Path(__file__).parent
_INSTALL_SECONDS: Final = 600
_NODES: Final = "karpenter-nodes"
_PROFILE: Final = "aws:iam/instanceProfile:InstanceProfile"

_OF_PLACEMENT: Final = ("AllowPlacementGroupAccessActions", "AllowPlacementGroupReadActions")


def node_role_arn(settings: Settings, account: CallerIdentity) -> pulumi.Output[str]:
    """The ARN of its nodes' role, whether or not it is declared yet.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns
    """
    return pulumi.Output.format("arn:{0}:iam::{1}:role{2}", account.partition, account.id, _node_role(settings))


def _node_role(settings: Settings) -> str:
    """The name, with its path."""
    return f"{settings.security.role_path or '/'}{role_name(settings.cluster_name, _NODES)}"


def _profile_path(name: str, context: Context) -> str:
    """The instance profile's path: another one than before if the role is replaced.

    The provider takes a role that it deletes out of all profiles (``deleteRoleInstanceProfiles`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/iam/role.go), and the new one has the
    same name, so that Pulumi sees no change of the profile. A change of its path replaces it.
    """
    role, profile = (
        context.deployed.outputs(token, f"{name}-node-{end}").get("path")
        for token, end in (("aws:iam/role:Role", "role"), (_PROFILE, "profile"))
    )
    path = context.settings.security.role_path or "/"
    if profile is None or role == path:
        return str(profile or "/")
    return path if path != profile else f"/gpucluster{path}"


def _rights(settings: Settings, partition: str, account: str, pools: Sequence[Pool], disk_keys: Sequence[str]) -> str:
    """The controller's policy document; by names, which are known before the resources exist."""
    statements = policy.statements(
        "karpenter",
        partition=partition,
        account=account,
        region=settings.region,
        cluster=settings.cluster_name,
        queue=queue_name(settings.cluster_name),
        node_role=literal(_node_role(settings)),
    )
    used: dict[str, bool] = dict.fromkeys(_OF_PLACEMENT, any(fabric.is_placed(pool) for pool in pools))
    used["AllowSpotServiceLinkedRole"] = any(pool.scaling.spot for pool in pools)
    needed = (each for each in statements if used.get(each["Sid"], True))
    return policy.document(*needed, *disk_key.uses(disk_keys))


class Karpenter:
    """Karpenter without its pools: interruption queue, IAM roles, Helm releases and EC2NodeClasses. ``node_pool``
    declares one pool."""

    def __init__(self, context: Context, pools: Sequence[Pool], objects: AdminObjects) -> None:
        settings = context.settings
        name, parent = objects.name, objects.parent
        self._context, self._objects = context, objects.objects
        self._weights = node_pools.weights(pools)
        options = pulumi.ResourceOptions(parent=parent)
        queue = InterruptionQueue(name, settings, parent)
        # EKS admits the role of managed node groups by itself; these nodes are Karpenter's and need their own.
        nodes = node_role(name, settings, context.account, parent, purpose=_NODES)
        profile = declare(
            _PROFILE,
            f"{name}-node-profile",
            {
                "name": role_name(settings.cluster_name, _NODES),
                "path": _profile_path(name, context),
                "role": nodes.role_name,
                "tags": dict(settings.labels),
            },
            pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(delete_before_replace=True)),
        )
        entry = declare(
            "aws:eks/accessEntry:AccessEntry",
            f"{name}-node-access",
            {
                "clusterName": context.name,
                "principalArn": nodes.arn,
                "type": "EC2_LINUX",
                "tags": dict(settings.labels),
            },
            options,
        )
        policy_document = pulumi.Output.all(context.account.partition, context.account.id).apply(
            lambda account: _rights(settings, account[0], account[1], pools, context.disk_keys)
        )
        role = ServiceRole(f"{name}-role", "karpenter", settings, context.account, parent, document=policy_document)
        identity = associate(f"{name}-identity", role, context.name, (NAMESPACE, NAME), settings, options)
        # An association takes seconds to have an effect, and none on pods that are there already, so another release is
        # between it and Karpenter: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
        definitions = self._objects.helm_release(f"{name}-definitions", self._chart(_DEFINITIONS), parent, identity)
        self._release = self._objects.helm_release(
            f"{name}-release",
            self._release_inputs(queue),
            parent,
            *objects.home,
            definitions,
            entry,
            profile,
            *nodes.ready,
            *queue.ready,
        )
        self._classes = self._node_classes(name, pools, profile, parent)

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
        """One pool; on destroy it is deleted before Karpenter, which terminates its instances first."""
        assert opts.parent is not None
        manifest = karpenter_objects.node_pool(
            pool,
            weight=self._weights[pool.name],
            unneeded_minutes=pool.scaling.unneeded_minutes or self._context.settings.idle_minutes,
            maintenance=self._context.settings.maintenance,
        )
        node_class = self._classes[karpenter_objects.class_name(pool)]
        return self._objects.declare(name, manifest, opts.parent, node_class, owns_cloud_resources=True)

    def _node_classes(
        self, name: str, pools: Sequence[Pool], profile: CustomResource, parent: pulumi.Resource
    ) -> dict[str, CustomResource]:
        context = self._context
        options = pulumi.ResourceOptions(parent=parent)
        groups = {
            pool.name: group
            for pool in pools
            if (group := fabric.placement_group(context, f"{name}-{pool.name}", pool, options)) is not None
        }
        return {
            karpenter_objects.class_name(pool): self._objects.declare(
                f"{name}-{karpenter_objects.class_name(pool)}",
                karpenter_objects.node_class(
                    pool,
                    instance_profile=profile.outputs["name"],
                    # More of them make no node drift: https://karpenter.sh/docs/concepts/disruption/#drift
                    subnets=[
                        context.network.private_subnets[zone]
                        for zone in context.settings.node_zones
                        if zone in context.network.private_subnets
                    ],
                    security_group=context.security_group,
                    tags=context.settings.labels,
                    disk_key=context.settings.security.disk_key,
                    placement_group=groups[pool.name].outputs["name"] if fabric.is_placed(pool) else None,
                ),
                parent,
                self._release,
                *([groups[pool.name]] if pool.name in groups else []),
                owns_cloud_resources=True,
            )
            for pool in pools
        }

    def _chart(self, name: str) -> dict[str, Any]:
        return Chart(
            repository="oci://public.ecr.aws/karpenter",
            name=name,
            version=release(KARPENTERS, self._context.minor),
            namespace=NAMESPACE,
            install_seconds=_INSTALL_SECONDS,
        ).where

    def _release_inputs(self, queue: InterruptionQueue) -> dict[str, Any]:
        settings = self._context.settings
        (values,) = documents(
            _HERE / "karpenter-values.yaml",
            name=NAME,
            replicas=min(2, settings.admin_pool.scaling.min_nodes),
            cluster=settings.cluster_name,
            endpoint=self._context.control_plane.outputs["endpoint"],
            queue=queue.queue_name,
            role_label=ROLE_LABEL,
        )
        return {**self._chart(NAME), "skipCrds": True, "values": values}
