"""The DaemonSets that install the NVIDIA driver where the pool says ``drivers: daemonset``; pods: ``drivers.yaml``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from components.clouds.base import GpuDaemon
from components.resources import documents
from facts.concepts.parts import DriverVersion, Image
from facts.concepts.pool import Pool

INSTALLER: Final = "nvidia-driver-installer"

HOST_FOLDER: Final = "/home/kubernetes/bin/nvidia"
"""Where a node has its driver."""

# As Google's daemonset-preloaded-latest.yaml does: a driver in use cannot be installed over (the pod starts again when
# its DaemonSet changes), and without the mode only root could use the libraries
# (https://github.com/2i2c-org/infrastructure/pull/3478).
_INSTALL: Final = (
    "lsmod | grep -q '^nvidia ' || "
    "{{ /cos-gpu-installer install{version} && chmod 755 /root/home/kubernetes/bin/nvidia; }}"
)


def gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """One installer per node image and driver version in use."""
    variants: dict[tuple[Image, DriverVersion], list[Pool]] = defaultdict(list)
    for pool in pools:
        if pool.gpus.drivers == "daemonset":
            variants[pool.nodes.image, pool.gpus.driver_version].append(pool)
    return [
        GpuDaemon(app=INSTALLER, variant=f"{image}-{version}", pod=driver_pod(image, version), pools=tuple(pools))
        for (image, version), pools in sorted(variants.items())
    ]


def driver_pod(image: Image, version: DriverVersion) -> Mapping[str, Any]:
    """The pod spec that puts the driver on a node running ``image``, without placement.

    Raises:
        ValueError: ``latest`` on Ubuntu, whose installer is used as it is preloaded.
    """
    if (image, version) == ("ubuntu", "latest"):
        raise ValueError(
            "driverVersion: on Ubuntu nodes the preloaded driver is installed; write 'default', or image 'cos'"
        )
    (pods,) = documents(Path(__file__).with_name("drivers.yaml"))
    pod: dict[str, Any] = pods[image]
    if image == "cos":
        latest = " --version=latest" if version == "latest" else ""
        pod["initContainers"][0]["command"] = ["bash", "-c", _INSTALL.format(version=latest)]
    return pod
