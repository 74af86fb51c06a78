"""Amazon Elastic Kubernetes Service as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from components.clouds.base import Cloud, GpuDaemon
from components.clouds.device_plugin import managed_device_plugin
from components.clouds.eks import access, autoscaling, fabric, joined, joined_groups, neuron
from components.clouds.eks.cluster import EksCluster
from components.clouds.gpu_exporter import gpu_exporter
from facts.concepts.pool import Pool


def _gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """Device plugins for Amazon Linux, whose image has the driver; Bottlerocket has its own plugin. EFA's for both.

    https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin.html
    """
    amazon_linux = [pool for pool in pools if pool.nodes.image == "al2023"]
    return [
        *managed_device_plugin(amazon_linux, makes_so=True),
        *neuron.device_plugin(amazon_linux),
        *fabric.device_plugin(pools),
    ]


CLOUD: Final = Cloud(
    name="eks",
    # EKS runs the ExtendedResourceToleration admission controller:
    # https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    adds_gpu_toleration=True,
    # Karpenter takes empty GPU nodes only, and cluster-autoscaler has a threshold of nearly 0, by its flag
    # (cluster_autoscaler.py), or by tags of the groups where it is somebody else's (facts/catalog/eks/node_tags.py).
    ends_running_pods=False,
    # The toolkit's default, which Amazon Linux has: https://github.com/awslabs/amazon-eks-ami/tree/main/templates/al2023
    gpus_by_variable=lambda _: True,
    cluster=EksCluster,
    gpu_daemons=_gpu_daemons,
    # The runtime of the images gives it the GPUs, Bottlerocket's only to CAP_SYS_ADMIN:
    # https://github.com/bottlerocket-os/bottlerocket/issues/3992
    gpu_exporters=partial(gpu_exporter, strict=("bottlerocket",), by_mounts=True),
    subject=access.subject,
    governance=autoscaling.governance,
    joining={"karpenter": joined.JOINING, "cluster-autoscaler": joined_groups.JOINING},
)
