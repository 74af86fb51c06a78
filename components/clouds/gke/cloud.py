"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.base import Cloud, CloudCluster, GpuDaemon, PoolGovernance, Subject
from components.clouds.gke import access, autoscaling, drivers
from components.clouds.gke.cluster import GkeCluster
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from components.settings.access import Access
from facts.concepts.pool import Pool


class Gke:
    """The ``Cloud`` of Google."""

    name: str = "gke"

    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration: bool = True

    # A node that is less than half used is drained if its pods fit elsewhere:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    ends_running_pods: bool = True

    def cluster(self, name: str, settings: Settings, parent: pulumi.Resource) -> CloudCluster:
        """A private Standard cluster with its own VPC and node identity."""
        return GkeCluster(name, settings, parent)

    def gpu_daemons(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """The installer that Google preloads on its node images, for pools whose driver GKE does not install."""
        return drivers.gpu_daemons(pools)

    def gpu_exporters(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's exporter with the driver of the host, as Google's own example has it:
        https://github.com/GoogleCloudPlatform/prometheus-engine/tree/main/examples/nvidia-dcgm."""
        return gpu_exporter(pools, driver=drivers.HOST_FOLDER)

    def subject(self, entry: Access) -> Subject:
        """Groups and accounts by their addresses, as Google's credentials name them."""
        return access.subject(entry)

    def governance(self, pool: Pool, settings: Settings) -> PoolGovernance:
        """How the managed autoscaler treats ``pool``."""
        return autoscaling.governance(pool, settings.autoscaling_profile)


CLOUD: Final[Cloud] = Gke()
