"""Azure Kubernetes Service as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.aks import autoscaling, drivers
from components.clouds.aks.cluster import AksCluster
from components.clouds.base import Cloud, CloudCluster, ClusterSpec, GpuDaemon, PoolGovernance
from components.pools import CpuPoolSpec, GpuPoolSpec


class Aks:
    """The ``Cloud`` of Microsoft."""

    name: str = "aks"

    # AKS runs the ExtendedResourceToleration admission controller: https://learn.microsoft.com/azure/aks/faq
    adds_gpu_toleration: bool = True

    def cluster(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> CloudCluster:
        """A cluster with its own resource group, network and managed identities."""
        return AksCluster(name, spec, parent)

    def gpu_daemons(self, pools: Sequence[GpuPoolSpec]) -> Sequence[GpuDaemon]:
        """The device plugin, for pools whose driver AKS installs."""
        return drivers.gpu_daemons(pools)

    def governance(self, pool: GpuPoolSpec | CpuPoolSpec, spec: ClusterSpec) -> PoolGovernance:
        """What the managed autoscaler does with ``pool``."""
        return autoscaling.governance(pool, spec)


CLOUD: Final[Cloud] = Aks()
