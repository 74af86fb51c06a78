"""An autoscaled pool without GPUs, beside the admin pool: inference front ends, data preparation, anything else."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.admin_pool import AdminPool
from components.cluster import Cluster
from components.pools import CpuPoolSpec


@dataclass(frozen=True, kw_only=True)
class CpuNodePoolArgs:
    """``spec`` in ``cluster``, created after ``admin_pool`` so that system pods settle there and this one empties."""

    cluster: Cluster
    admin_pool: AdminPool
    spec: CpuPoolSpec


class CpuNodePool(pulumi.ComponentResource):
    """An autoscaled CPU pool."""

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: CpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:CpuNodePool", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.admin_pool])
        self.pool = args.cluster.handle.cpu_node_pool(f"{name}-pool", args.spec, args.cluster.objects, child)
        self.register_outputs(
            {"name": args.spec.name, "minNodes": args.spec.min_nodes, "maxNodes": args.spec.max_nodes}
        )
