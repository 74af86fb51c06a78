"""Amazon Elastic Kubernetes Service as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.base import Cloud, CloudCluster, GpuDaemon, PoolGovernance, Subject
from components.clouds.eks import access, autoscaling, drivers
from components.clouds.eks.cluster import EksCluster
from components.clouds.gpu_exporter import gpu_exporter
from components.settings import Settings
from components.settings.access import Access
from facts.concepts.pool import Pool


class Eks:
    """The ``Cloud`` of Amazon."""

    name: str = "eks"

    # EKS runs the ExtendedResourceToleration admission controller:
    # https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    adds_gpu_toleration: bool = True

    # Karpenter takes empty GPU nodes only, and cluster-autoscaler gets a threshold of nearly 0 (cluster_autoscaler.py).
    ends_running_pods: bool = False

    def cluster(self, name: str, settings: Settings, parent: pulumi.Resource) -> CloudCluster:
        """A cluster with its own VPC, identities and encryption key."""
        return EksCluster(name, settings, parent)

    def gpu_daemons(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's device plugin, where the image does not have it."""
        return drivers.gpu_daemons(pools)

    def gpu_exporters(self, pools: Sequence[Pool]) -> Sequence[GpuDaemon]:
        """NVIDIA's exporter; the runtime of the images gives it the GPUs, Bottlerocket's only to CAP_SYS_ADMIN:
        https://github.com/bottlerocket-os/bottlerocket/issues/3992."""
        return gpu_exporter(pools, strict=("bottlerocket",))

    def subject(self, entry: Access) -> Subject:
        """The group that its access entry is in."""
        return access.subject(entry)

    def governance(self, pool: Pool, settings: Settings) -> PoolGovernance:
        """How the autoscaler in the cluster treats ``pool``."""
        return autoscaling.governance(pool, settings)


CLOUD: Final[Cloud] = Eks()
