"""A pool of GPU nodes that costs nothing while nobody asks for a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.admin_pool import AdminPool
from components.cluster import Cluster
from components.pools import GpuPoolSpec, as_node_group
from policies.rules.node_groups import ceiling, gpu_taint, zero_minimum


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """``spec`` in ``cluster``, created after ``admin_pool``: clouds add the GPU taint and toleration by themselves only
    when a pool without GPUs exists already, and system pods that find no other node would settle on the GPU pool."""

    cluster: Cluster
    admin_pool: AdminPool
    spec: GpuPoolSpec


class GpuNodePool(pulumi.ComponentResource):
    """An autoscaled GPU pool that starts empty.

    Raises:
        ValueError: the spec keeps nodes (minimum above 0), has no room (maximum below 1) or lacks the GPU taint.
    """

    pool: pulumi.CustomResource

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:GpuNodePool", name, None, opts)
        spec = args.spec
        _require_free_when_idle(args)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.admin_pool])
        self.pool = args.cluster.handle.gpu_node_pool(f"{name}-pool", spec, args.cluster.objects, child)
        self.register_outputs(
            {
                "name": spec.name,
                "gpu": spec.gpu,
                "gpusPerNode": spec.gpus_per_node,
                "maxNodes": spec.max_nodes,
                "spot": spec.spot,
                "taints": [str(taint) for taint in spec.taints],
            }
        )


def _require_free_when_idle(args: GpuNodePoolArgs) -> None:
    group = as_node_group(args.spec, cloud=args.cluster.cloud.name, region=args.cluster.spec.region)
    broken = [*zero_minimum(group), *ceiling(group), *gpu_taint(group)]
    if broken:
        raise ValueError("\n".join(f"{violation.message} {violation.remedy}" for violation in broken))
