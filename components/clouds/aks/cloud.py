"""Azure Kubernetes Service as the components see it."""

from __future__ import annotations

from typing import Final

from components.clouds.aks import access, autoscaling, drivers
from components.clouds.aks.cluster import AksCluster
from components.clouds.base import Cloud
from components.clouds.gpu_exporter import gpu_exporter


class Aks:
    """The ``Cloud`` of Microsoft."""

    name: str = "aks"

    # AKS runs the ExtendedResourceToleration admission controller: https://learn.microsoft.com/azure/aks/faq
    adds_gpu_toleration: bool = True

    # The profile has no threshold for GPUs, so it is the autoscaler's own half:
    # https://learn.microsoft.com/azure/aks/cluster-autoscaler
    ends_running_pods: bool = True

    admits_strangers: bool = False

    cluster = AksCluster
    # The device plugin, for pools whose driver AKS installs.
    gpu_daemons = staticmethod(drivers.gpu_daemons)
    # The runtime of the images gives it the GPUs.
    gpu_exporters = staticmethod(gpu_exporter)
    subject = staticmethod(access.subject)
    governance = staticmethod(autoscaling.governance)


CLOUD: Final[Cloud] = Aks()
