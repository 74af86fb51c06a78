"""What governs the size of every pool. On clouds that manage the autoscaler there is nothing to install."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.clouds.base import PoolGovernance
from components.cluster import Cluster
from components.pools import CpuPoolSpec, GpuPoolSpec


@dataclass(frozen=True, kw_only=True)
class ClusterAutoscalerArgs:
    """All autoscaled ``pools`` of ``cluster``."""

    cluster: Cluster
    pools: Sequence[GpuPoolSpec | CpuPoolSpec]


class ClusterAutoscaler(pulumi.ComponentResource):
    """The autoscaler of a cluster; ``pools`` says per pool who decides its size, between which limits and when."""

    pools: Mapping[str, PoolGovernance]

    def __init__(self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ClusterAutoscaler", name, None, opts)
        cloud, profile = args.cluster.cloud, args.cluster.spec.autoscaling_profile
        self.pools = {pool.name: cloud.governance(pool, profile) for pool in args.pools}
        self.register_outputs({"pools": {pool: governance.as_output() for pool, governance in self.pools.items()}})
