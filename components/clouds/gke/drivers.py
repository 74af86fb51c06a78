"""The pods that install the NVIDIA driver where the pool says ``drivers: daemonset``.

GKE preloads one installer image per node image and runs the device plugin by itself in this mode as well, so an init
container on the node is all there is. Image names, host paths and variables:
https://github.com/GoogleCloudPlatform/container-engine-accelerators/tree/master/nvidia-driver-installer
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.clouds.base import GpuDaemon
from facts.concepts.pool import DriverVersion, Image, Pool

INSTALLER: Final = "nvidia-driver-installer"

HOST_FOLDER: Final = "/home/kubernetes/bin/nvidia"
"""Where a node has its driver."""

_PAUSE_IMAGE: Final = "registry.k8s.io/pause:3.10"


@dataclass(frozen=True)
class _Mount:
    """A host directory in the installer; the variables tell the installer both paths."""

    volume: str
    host_path: str
    path: str
    host_variable: str | None = None
    path_variable: str | None = None


_COS_MOUNTS: Final = (
    _Mount("dev", "/dev", "/dev"),
    _Mount("root", "/", "/root", path_variable="ROOT_MOUNT_DIR"),
    _Mount(
        "driver",
        HOST_FOLDER,
        "/usr/local/nvidia",
        "NVIDIA_INSTALL_DIR_HOST",
        "NVIDIA_INSTALL_DIR_CONTAINER",
    ),
    _Mount(
        "vulkan",
        "/home/kubernetes/bin/nvidia/vulkan/icd.d",
        "/etc/vulkan/icd.d",
        "VULKAN_ICD_DIR_HOST",
        "VULKAN_ICD_DIR_CONTAINER",
    ),
    _Mount("cos-tools", "/var/lib/cos-tools", "/build/cos-tools", "COS_TOOLS_DIR_HOST", "COS_TOOLS_DIR_CONTAINER"),
)
# As Google's daemonset-preloaded-latest.yaml does: a driver in use cannot be installed over, and without the mode only
# root could use the libraries (https://github.com/2i2c-org/infrastructure/pull/3478).
_INSTALL_LATEST: Final = (
    "lsmod | grep -q '^nvidia ' || "
    "{ /cos-gpu-installer install --version=latest && chmod 755 /root/home/kubernetes/bin/nvidia; }"
)
_UBUNTU_MOUNTS: Final = (
    _Mount("dev", "/dev", "/dev"),
    _Mount("root", "/", "/root"),
    _Mount("boot", "/boot", "/boot"),
)


def gpu_daemons(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """One installer per node image and driver version in use."""
    variants: dict[tuple[Image, DriverVersion], list[Pool]] = defaultdict(list)
    for pool in pools:
        if pool.gpus.drivers == "daemonset":
            variants[pool.image, pool.gpus.driver_version].append(pool)
    return [
        GpuDaemon(app=INSTALLER, variant=f"{image}-{version}", pod=driver_pod(image, version), pools=tuple(pools))
        for (image, version), pools in sorted(variants.items())
    ]


def driver_pod(image: Image, version: DriverVersion) -> Mapping[str, Any]:
    """The pod spec that puts the driver on a node running ``image``, without placement.

    Raises:
        ValueError: ``latest`` on Ubuntu, whose installer is used as it is preloaded.
    """
    if image == "ubuntu":
        if version == "latest":
            raise ValueError(
                "driverVersion: on Ubuntu nodes the preloaded driver is installed; write 'default', or image 'cos'"
            )
        return _pod("gke-nvidia-installer:fixed", _UBUNTU_MOUNTS)
    pod = _pod("cos-nvidia-installer:fixed", _COS_MOUNTS)
    if version == "latest":
        pod["initContainers"][0]["command"] = ["bash", "-c", _INSTALL_LATEST]
    # The installer of COS talks to the metadata server of the machine and inspects processes of the host.
    return {**pod, "hostNetwork": True, "hostPID": True}


def _pod(installer_image: str, mounts: tuple[_Mount, ...]) -> dict[str, Any]:
    installer: dict[str, Any] = {
        "name": INSTALLER,
        "image": installer_image,
        # The image is part of the node's own image; there is no registry to pull it from.
        "imagePullPolicy": "Never",
        "securityContext": {"privileged": True},
        "resources": {"requests": {"cpu": "150m"}},
        "volumeMounts": [{"name": mount.volume, "mountPath": mount.path} for mount in mounts],
    }
    environment = [
        {"name": variable, "value": path}
        for mount in mounts
        for variable, path in ((mount.host_variable, mount.host_path), (mount.path_variable, mount.path))
        if variable is not None
    ]
    if environment:
        installer["env"] = environment
    return {
        "initContainers": [installer],
        "containers": [
            {
                "name": "pause",
                "image": _PAUSE_IMAGE,
                "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}},
                "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 65535},
            }
        ],
        "volumes": [{"name": mount.volume, "hostPath": {"path": mount.host_path}} for mount in mounts],
    }
