"""The one pool that never goes away: home of the cluster's own pods, so that none of them keeps a GPU node alive."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.cluster import Cluster
from components.pools import AdminPoolSpec


@dataclass(frozen=True, kw_only=True)
class AdminPoolArgs:
    """``spec`` in ``cluster``."""

    cluster: Cluster
    spec: AdminPoolSpec


class AdminPool(pulumi.ComponentResource):
    """A pool of fixed size without taints; every other pool waits for it (see ``GpuNodePoolArgs.admin_pool``)."""

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: AdminPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:AdminPool", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.pool = args.cluster.handle.admin_pool(f"{name}-pool", args.spec, args.cluster.objects, child)
        self.register_outputs(
            {"name": args.spec.name, "machineType": args.spec.machine_type, "nodes": args.spec.total_nodes}
        )
