"""Azure Kubernetes Service as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.aks import access, autoscaling, drivers
from components.clouds.aks.cluster import AksCluster
from components.clouds.base import Cloud, CloudCluster, GpuDaemon, PoolGovernance, Subject
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from components.settings.access import Access
from facts.concepts.pool import Pool


class Aks:
    """The ``Cloud`` of Microsoft."""

    name: str = "aks"

    # AKS runs the ExtendedResourceToleration admission controller: https://learn.microsoft.com/azure/aks/faq
    adds_gpu_toleration: bool = True

    # The profile has no threshold for GPUs, so it is the autoscaler's own half:
    # https://learn.microsoft.com/azure/aks/cluster-autoscaler
    ends_running_pods: bool = True

    def cluster(self, name: str, settings: Settings, parent: pulumi.Resource) -> CloudCluster:
        """A cluster with its own resource group, network and managed identities."""
        return AksCluster(name, settings, parent)

    def gpu_daemons(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """The device plugin, for pools whose driver AKS installs."""
        return drivers.gpu_daemons(pools)

    def gpu_exporters(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's exporter; the runtime of the images gives it the GPUs."""
        return gpu_exporter(pools)

    def subject(self, entry: Access) -> Subject:
        """A group of Entra by its object id."""
        return access.subject(entry)

    def governance(self, pool: Pool, settings: Settings) -> PoolGovernance:
        """How the managed autoscaler treats ``pool``."""
        return autoscaling.governance(pool, settings)


CLOUD: Final[Cloud] = Aks()
