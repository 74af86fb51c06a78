"""Karpenter on the admin pool, in place of cluster-autoscaler: pools are objects in the cluster, machines come one by
one. https://karpenter.sh/docs/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.eks import karpenter_objects
from components.clouds.eks.cluster_autoscaler import unneeded_minutes
from components.clouds.eks.identity import associate, node_role, pod_role, role_name
from components.clouds.eks.interruptions import InterruptionQueue, queue_name
from components.clouds.eks.karpenter_rights import Scope, rights
from components.clouds.eks.versions import KARPENTERS, kubernetes_minor
from components.clouds.priority_expander import Pool
from components.resources import ClusterObjects, CustomResource
from policies.rules.model import ROLE_LABEL

if TYPE_CHECKING:
    from components.clouds.eks.cluster import EksCluster

CHART: Final = "oci://public.ecr.aws/karpenter/karpenter"
NAMESPACE: Final = "kube-system"
NAME: Final = "karpenter"
"""Of the release and of its service account."""

_INSTALL_SECONDS: Final = 600
_NODES: Final = "karpenter-nodes"


class Karpenter:
    """Everything of Karpenter but its pools: the queue of interruptions, three roles' worth of rights, the release, and
    what nodes are made from. ``node_pool`` then declares one pool."""

    def __init__(
        self,
        name: str,
        cluster: EksCluster,
        pools: Sequence[Pool],
        objects: ClusterObjects,
        parent: pulumi.Resource,
        admin_pool: pulumi.Resource,
        replicas: int,
    ) -> None:
        spec = cluster.spec
        self._cluster = cluster
        self._weights = karpenter_objects.weights(pools)
        options = pulumi.ResourceOptions(parent=parent)
        queue = InterruptionQueue(name, spec, parent)
        # EKS admits the role of managed node groups by itself; these nodes are Karpenter's and need their own.
        nodes = node_role(name, spec, cluster.account, parent, purpose=_NODES)
        profile = CustomResource(
            "aws:iam/instanceProfile:InstanceProfile",
            f"{name}-node-profile",
            {"name": role_name(spec.name, _NODES), "role": nodes.role_name, "tags": dict(spec.labels)},
            options,
        )
        entry = CustomResource(
            "aws:eks/accessEntry:AccessEntry",
            f"{name}-node-access",
            {
                "clusterName": cluster.name,
                "principalArn": nodes.arn,
                "type": "EC2_LINUX",
                "tags": dict(spec.labels),
            },
            options,
        )
        document = pulumi.Output.all(cluster.account.partition, cluster.account.id).apply(
            lambda found: rights(
                Scope(
                    partition=found[0],
                    account=found[1],
                    region=spec.region,
                    cluster=spec.name,
                    queue=queue_name(spec.name),
                    node_role=role_name(spec.name, _NODES),
                )
            )
        )
        role = pod_role(name, "karpenter", spec, cluster.account, parent, document=document)
        identity = associate(f"{name}-identity", role, cluster.name, (NAMESPACE, NAME), spec, options)
        self._release = objects.helm_release(
            f"{name}-release",
            self._release_inputs(queue, replicas),
            parent,
            admin_pool,
            identity,
            entry,
            profile,
            *nodes.ready,
            *queue.ready,
        )
        self._classes = self._node_classes(name, pools, profile, objects, parent)

    def node_pool(self, name: str, pool: Pool, objects: ClusterObjects, opts: pulumi.ResourceOptions) -> CustomResource:
        """One pool; on the way down it goes before Karpenter, which ends its machines first."""
        assert opts.parent is not None
        manifest = karpenter_objects.node_pool(
            pool,
            weight=self._weights[pool.name],
            unneeded_minutes=pool.unneeded_minutes or unneeded_minutes(self._cluster.spec),
        )
        made_of = self._classes[karpenter_objects.class_name(pool)]
        return objects.declare(name, manifest, opts.parent, self._release, made_of, owns_cloud_resources=True)

    def _node_classes(
        self,
        name: str,
        pools: Sequence[Pool],
        profile: CustomResource,
        objects: ClusterObjects,
        parent: pulumi.Resource,
    ) -> dict[str, CustomResource]:
        cluster = self._cluster
        # Two pools with the same needs have the same class, whichever of them describes it.
        described = {karpenter_objects.class_name(pool): pool for pool in pools}
        return {
            class_name: objects.declare(
                f"{name}-{class_name}",
                karpenter_objects.node_class(
                    pool,
                    instance_profile=profile.output("name"),
                    subnets=[cluster.network.private_subnets[zone] for zone in cluster.spec.zones],
                    security_group=cluster.security_group,
                    tags=cluster.spec.labels,
                ),
                parent,
                self._release,
                owns_cloud_resources=True,
            )
            for class_name, pool in described.items()
        }

    def _release_inputs(self, queue: InterruptionQueue, replicas: int) -> dict[str, Any]:
        spec = self._cluster.spec
        return {
            "chart": CHART,
            "version": KARPENTERS[kubernetes_minor(spec.version, spec.channel)],
            "name": NAME,
            "namespace": NAMESPACE,
            "timeout": _INSTALL_SECONDS,
            "values": {
                # The chart puts no two on one node, so more than there are nodes would stay pending.
                "replicas": replicas,
                "serviceAccount": {"name": NAME},
                "settings": {
                    "clusterName": spec.name,
                    "clusterEndpoint": self._cluster.cluster.output("endpoint"),
                    "interruptionQueue": queue.queue_name,
                },
                "nodeSelector": {"kubernetes.io/os": "linux", ROLE_LABEL: "admin"},
                "controller": {
                    "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
                },
            },
        }
