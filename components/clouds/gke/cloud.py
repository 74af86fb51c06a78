"""Google Kubernetes Engine as the components see it."""

from __future__ import annotations

from functools import partial
from typing import Final

from components.clouds.base import Cloud
from components.clouds.gke import access, autoscaling, drivers
from components.clouds.gke.cluster import GkeCluster
from components.clouds.gpu_exporter import gpu_exporter

CLOUD: Final = Cloud(
    name="gke",
    # GKE runs the ExtendedResourceToleration admission controller:
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    adds_gpu_toleration=True,
    # Every Google account: https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac
    admits_strangers=True,
    # A node that is less than half used is drained if its pods fit elsewhere:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    ends_running_pods=True,
    cluster=GkeCluster,
    # The installer that Google preloads on its node images, for pools whose driver GKE does not install.
    gpu_daemons=drivers.gpu_daemons,
    # With the driver of the host, as Google's own example has it:
    # https://github.com/GoogleCloudPlatform/prometheus-engine/tree/main/examples/nvidia-dcgm
    gpu_exporters=partial(gpu_exporter, driver=drivers.HOST_FOLDER),
    subject=access.subject,
    governance=autoscaling.governance,
)
