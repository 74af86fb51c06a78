"""The autoscaler of all pools; it declares nothing where the cloud runs the autoscaler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.clouds.base import AdminObjects, NodePools
from components.cluster import Cluster
from facts.concepts.pool import Pool


@dataclass(frozen=True, kw_only=True)
class ClusterAutoscalerArgs:
    """All autoscaled ``pools`` of ``cluster``, declared after it; inside the cluster it runs on ``admin_pool``."""

    cluster: Cluster
    admin_pool: pulumi.Resource
    pools: Sequence[Pool]


class ClusterAutoscaler(pulumi.ComponentResource):
    """The autoscaler of a cluster; ``pools`` describes how each pool scales: the autoscaler, limits and delays.

    ``node_pools`` declares these pools.
    """

    node_pools: NodePools
    pools: Mapping[str, Mapping[str, str | int]]

    def __init__(self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ClusterAutoscaler", name, None, opts)
        cluster = args.cluster
        objects = AdminObjects(name=name, objects=cluster.objects, parent=self, admin_pool=args.admin_pool)
        self.node_pools = cluster.handle.autoscaler(args.pools, objects)
        self.pools = {
            pool.name: cluster.cloud.governance(pool, cluster.settings).as_output(pool) for pool in args.pools
        }
        self.register_outputs({"pools": self.pools})
