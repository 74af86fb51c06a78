"""NVIDIA's device plugin on GPU nodes, whose images have the driver.

https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin.html
"""

from __future__ import annotations

from collections.abc import Sequence

from components.clouds.base import GpuDaemon
from components.clouds.device_plugin import device_plugin
from facts.concepts.pool import Pool


def gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """Device plugins for Amazon Linux: Bottlerocket has its own, and ``drivers: none`` leaves it to the user."""
    return device_plugin([pool for pool in pools if pool.gpus.drivers == "managed" and pool.image == "al2023"])
