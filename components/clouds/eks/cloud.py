"""Amazon Elastic Kubernetes Service as the components see it."""

from __future__ import annotations

from functools import partial
from typing import Final

from components.clouds.base import Cloud
from components.clouds.eks import access, autoscaling, drivers
from components.clouds.eks.cluster import EksCluster
from components.clouds.gpu_exporter import gpu_exporter


class Eks:
    """The ``Cloud`` of Amazon."""

    name: str = "eks"

    # EKS runs the ExtendedResourceToleration admission controller:
    # https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    adds_gpu_toleration: bool = True

    # Karpenter takes empty GPU nodes only, and cluster-autoscaler gets a threshold of nearly 0 (cluster_autoscaler.py).
    ends_running_pods: bool = False

    admits_strangers: bool = False

    cluster = EksCluster
    # NVIDIA's device plugin, where the image does not have it.
    gpu_daemons = staticmethod(drivers.gpu_daemons)
    # The runtime of the images gives it the GPUs, Bottlerocket's only to CAP_SYS_ADMIN:
    # https://github.com/bottlerocket-os/bottlerocket/issues/3992
    gpu_exporters = staticmethod(partial(gpu_exporter, strict=("bottlerocket",)))
    subject = staticmethod(access.subject)
    governance = staticmethod(autoscaling.governance)


CLOUD: Final[Cloud] = Eks()
