"""Azure Kubernetes Service as the components see it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from components.clouds.aks import access, autoscaling, joined
from components.clouds.aks.cluster import AksCluster
from components.clouds.aks.workloads.share import DRIVER
from components.clouds.base import Cloud, GpuDaemon
from components.clouds.device_plugin import managed_device_plugin, plugin_of_maker
from components.clouds.gpu_exporter import gpu_exporter
from facts.concepts.kubernetes import RESOURCES
from facts.concepts.pool import Pool

# https://github.com/ROCm/k8s-device-plugin/releases
AMD_PLUGIN: Final = "docker.io/rocm/k8s-device-plugin:1.31.0.10"


def _gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """The plugins that offer the GPUs. NVIDIA's driver is AKS's (https://learn.microsoft.com/azure/aks/use-nvidia-gpu);
    of AMD's GPUs AKS installs neither: https://learn.microsoft.com/azure/aks/use-amd-gpus"""
    file = Path(__file__).with_name("amd-plugin.yaml")
    amd = plugin_of_maker(pools, RESOURCES["amd"], file, app="amd-device-plugin", image=AMD_PLUGIN)
    return [*managed_device_plugin(pools, makes_so=True), *amd]


CLOUD: Final = Cloud(
    name="aks",
    # AKS runs the ExtendedResourceToleration admission controller: https://learn.microsoft.com/azure/aks/faq
    adds_gpu_toleration=True,
    # The profile has no threshold for GPUs, so it is the autoscaler's own half:
    # https://learn.microsoft.com/azure/aks/cluster-autoscaler
    ends_running_pods=True,
    # Shares by NFS are open to the network in which their endpoint is:
    # https://learn.microsoft.com/azure/storage/files/storage-files-networking-overview
    open_share=DRIVER,
    # The drivers put the volumes of a class into one storage account, and its key into a Secret beside each claim:
    # https://github.com/kubernetes-sigs/azurefile-csi-driver/blob/82608b8/pkg/azurefile/controllerserver.go
    classes_with_one_key=(
        *("azurefile", "azurefile-csi", "azurefile-csi-premium", "azurefile-premium"),
        "azureblob-fuse-premium",
    ),
    # The toolkit's default, which the image has: https://github.com/Azure/aks-gpu/blob/main/install.sh
    gpus_by_variable=lambda _: True,
    cluster=AksCluster,
    gpu_daemons=_gpu_daemons,
    # The runtime of the images gives it the GPUs, by a variable or by mounts.
    gpu_exporters=partial(gpu_exporter, by_mounts=True),
    subject=access.subject,
    governance=autoscaling.governance,
    joining=joined.JOINING,
)
