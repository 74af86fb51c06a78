"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from functools import partial
from typing import Final

from components.clouds.base import Cloud
from components.clouds.gke import access, autoscaling, drivers
from components.clouds.gke.cluster import GkeCluster
from components.clouds.gpu_exporter import gpu_exporter


class Gke:
    """The ``Cloud`` of Google."""

    name: str = "gke"

    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration: bool = True

    # A node that is less than half used is drained if its pods fit elsewhere:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    ends_running_pods: bool = True

    # Every Google account: https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac
    admits_strangers: bool = True

    cluster = GkeCluster
    # The installer that Google preloads on its node images, for pools whose driver GKE does not install.
    gpu_daemons = staticmethod(drivers.gpu_daemons)
    # With the driver of the host, as Google's own example has it:
    # https://github.com/GoogleCloudPlatform/prometheus-engine/tree/main/examples/nvidia-dcgm
    gpu_exporters = staticmethod(partial(gpu_exporter, driver=drivers.HOST_FOLDER))
    subject = staticmethod(access.subject)
    governance = staticmethod(autoscaling.governance)


CLOUD: Final[Cloud] = Gke()
