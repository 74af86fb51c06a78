"""Azure Kubernetes Service as the components see it."""

from __future__ import annotations

from typing import Final

from components.clouds.aks import access, autoscaling
from components.clouds.aks.cluster import AksCluster
from components.clouds.base import Cloud
from components.clouds.device_plugin import managed_device_plugin
from components.clouds.gpu_exporter import gpu_exporter

CLOUD: Final = Cloud(
    name="aks",
    # AKS runs the ExtendedResourceToleration admission controller: https://learn.microsoft.com/azure/aks/faq
    adds_gpu_toleration=True,
    # The profile has no threshold for GPUs, so it is the autoscaler's own half:
    # https://learn.microsoft.com/azure/aks/cluster-autoscaler
    ends_running_pods=True,
    cluster=AksCluster,
    # AKS installs the driver, the cluster offers the GPUs: https://learn.microsoft.com/azure/aks/use-nvidia-gpu
    gpu_daemons=managed_device_plugin,
    # The runtime of the images gives it the GPUs.
    gpu_exporters=gpu_exporter,
    subject=access.subject,
    governance=autoscaling.governance,
)
