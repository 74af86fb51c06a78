"""Whether a pod would really install NVIDIA's driver, or run NVIDIA's device plugin: its image, its rights, its mounts.

A name says nothing: a DaemonSet called ``nvidia-driver-installer`` whose image is ``busybox`` installs nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rehearsal.cluster.images import Image

PLUGIN_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
"""Where a device plugin registers with the kubelet:
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#device-plugin-implementation"""

PodSpec = Mapping[str, Any]


def installer_problem(pod: PodSpec) -> str | None:
    """Why the pod installs no driver on its node; ``None`` if it would.

    Google's installers (``cos-nvidia-installer``, ``gke-nvidia-installer``:
    https://github.com/GoogleCloudPlatform/container-engine-accelerators/tree/master/nvidia-driver-installer) and
    NVIDIA's own image (``nvcr.io/nvidia/driver``: https://github.com/NVIDIA/gpu-operator) load a kernel module and
    write to the node's disk, so all of them are privileged and mount directories of the node.
    """
    installers = [each for each in _containers(pod) if _installs(each["image"])]
    if not installers:
        return f"has no image that installs a driver ({_images(pod)})"
    if not any((each.get("securityContext") or {}).get("privileged") for each in installers):
        return "is not privileged, so it cannot load the driver's kernel module"
    if not any(path for each in installers for path in _host_paths(each, pod)):
        return "mounts no directory of the node, so the driver would be gone with the pod"
    return None


def plugin_problem(pod: PodSpec) -> str | None:
    """Why the pod offers no GPU to the kubelet; ``None`` if it would (https://github.com/NVIDIA/k8s-device-plugin)."""
    plugins = [each for each in _containers(pod) if is_plugin(each["image"])]
    if not plugins:
        return f"has no image of NVIDIA's device plugin ({_images(pod)})"
    if not any(_covers(path, PLUGIN_SOCKETS) for each in plugins for path in _host_paths(each, pod)):
        return f"does not mount the node's {PLUGIN_SOCKETS}, where the kubelet waits for it"
    return None


def is_plugin(image: str) -> bool:
    """Whether an image is NVIDIA's device plugin, or a copy of it that kept its name."""
    name = _name(image)
    return name == "k8s-device-plugin" or ("nvidia" in image and name.endswith("device-plugin"))


def _installs(image: str) -> bool:
    name = _name(image)
    return ("nvidia" in name and ("installer" in name or "driver" in name)) or Image.parse(image).repository.endswith(
        "nvidia/driver"
    )


def _containers(pod: PodSpec) -> Iterator[Mapping[str, Any]]:
    yield from pod.get("initContainers") or ()
    yield from pod["containers"]


def _host_paths(container: Mapping[str, Any], pod: PodSpec) -> Iterator[str]:
    """The node's paths that a container can write to."""
    host = {each["name"]: each["hostPath"]["path"] for each in pod.get("volumes") or () if each.get("hostPath")}
    for mount in container.get("volumeMounts") or ():
        if mount["name"] in host and not mount.get("readOnly"):
            yield host[mount["name"]]


def _covers(path: str, inner: str) -> bool:
    outer = posixpath.normpath(path).rstrip("/")
    return inner == outer or inner.startswith(outer + "/")


def _images(pod: PodSpec) -> str:
    return ", ".join(dict.fromkeys(each["image"] for each in _containers(pod)))


def _name(image: str) -> str:
    return Image.parse(image).repository.rpartition("/")[2]
