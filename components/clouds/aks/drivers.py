"""What makes GPUs usable: AKS installs the driver, the cluster offers the GPUs.

https://learn.microsoft.com/azure/aks/use-nvidia-gpu
"""

from __future__ import annotations

from collections.abc import Sequence

from components.clouds.base import GpuDaemon
from components.clouds.device_plugin import device_plugin
from facts.concepts.pool import Pool


def gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """NVIDIA's device plugin for pools with AKS's driver; pools without leave both to the user."""
    return device_plugin([pool for pool in pools if pool.gpus.drivers == "managed"])
