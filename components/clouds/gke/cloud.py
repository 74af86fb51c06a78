"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.clouds.base import Cloud, CloudCluster, ClusterSpec, PoolGovernance
from components.clouds.gke import autoscaling, drivers
from components.clouds.gke.cluster import GkeCluster
from components.pools import CpuPoolSpec, DriverVersion, GpuPoolSpec, Image


class Gke:
    """The ``Cloud`` of Google."""

    name: str = "gke"

    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration: bool = True

    def cluster(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> CloudCluster:
        """A private Standard cluster with its own VPC and node identity."""
        return GkeCluster(name, spec, parent)

    def driver_pod(self, image: Image, version: DriverVersion) -> Mapping[str, Any]:
        """The installer that Google preloads on its node images."""
        return drivers.driver_pod(image, version)

    def governance(self, pool: GpuPoolSpec | CpuPoolSpec, profile: str) -> PoolGovernance:
        """What the managed autoscaler does with ``pool``."""
        return autoscaling.governance(pool, profile)


CLOUD: Final[Cloud] = Gke()
