"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from typing import Any, Final, Mapping

import pulumi

from components.clouds.base import AutoscalingProfile, Cloud, CloudCluster, ClusterSpec, PoolGovernance
from components.clouds.gke import autoscaling, drivers
from components.clouds.gke.cluster import GkeCluster
from components.pools import CpuPoolSpec, DriverVersion, GpuPoolSpec, Image


class Gke:
    """The ``Cloud`` of Google."""

    name: Final = "gke"

    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration: Final = True

    def cluster(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> CloudCluster:
        return GkeCluster(name, spec, parent)

    def driver_pod(self, image: Image, version: DriverVersion) -> Mapping[str, Any]:
        return drivers.driver_pod(image, version)

    def governance(self, pool: GpuPoolSpec | CpuPoolSpec, profile: AutoscalingProfile) -> PoolGovernance:
        return autoscaling.governance(pool, profile)


CLOUD: Final[Cloud] = Gke()
