"""Whether a pod would really install NVIDIA's driver or run NVIDIA's device plugin, and what the plugin offers.

The name does not count: a DaemonSet called ``nvidia-driver-installer`` whose image is ``busybox`` installs nothing.
Image, privileges and mounts count. Of the plugin's configuration, time slicing matters here; the file counts only where
the plugin would find it: mounted from a ConfigMap and named by ``CONFIG_FILE`` or ``--config-file``
(https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from rehearsal.cluster.images import Image
from rehearsal.fleet.machine_types import GPU

PLUGIN: Final = "nvidia-device-plugin"
NEURON_PLUGIN: Final = "neuron-device-plugin"
AMD_PLUGIN: Final = "amd-device-plugin"
_VARIABLE: Final = "CONFIG_FILE"
_FLAG: Final = "--config-file"

ConfigMaps = Callable[[str], Mapping[str, Any] | None]
"""Name → a ConfigMap of the pod's namespace, or ``None``."""


class PluginError(Exception):
    """Why a device plugin advertises no ``nvidia.com/gpu``; continues a sentence that names its pod."""


def replicas(pod_spec: Mapping[str, Any], config_maps: ConfigMaps) -> int:
    """As how many GPUs the plugin in this pod advertises each GPU: 1 without time slicing.

    Raises PluginError: the plugin would not start, or would advertise the GPUs under another name.
    """
    content = _config(pod_spec, config_maps)
    if content is None:
        return 1
    try:
        config = yaml.safe_load(content) or {}
        slicing = (config.get("sharing") or {}).get("timeSlicing")
        if slicing is None:
            return 1
        mine = [each for each in slicing["resources"] if each["name"] == GPU]
        if not mine:
            return 1
        renamed = mine[0].get("rename") or (f"{GPU}.shared" if slicing.get("renameByDefault") else GPU)
        count = mine[0]["replicas"]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise PluginError(f"has a configuration file that it cannot read ({type(error).__name__}: {error})") from error
    if renamed != GPU:
        raise PluginError(f"advertises the GPUs as {renamed}, not as {GPU}")
    # https://github.com/NVIDIA/k8s-device-plugin/blob/19d7d8f0d8e43e5b24737788df2b61ac2a77d6ec/api/config/v1/replicas.go
    if not isinstance(count, int) or count < 1:
        raise PluginError(f"has sharing.timeSlicing.resources[].replicas: {count}; at least 1 is needed")
    return count


def _config(pod_spec: Mapping[str, Any], config_maps: ConfigMaps) -> str | None:
    """The configuration file's content; ``None`` for a plugin without one."""
    for container in pod_spec["containers"]:
        path = _config_path(container)
        if path:
            return _mounted(path, container, pod_spec, config_maps)
    return None


def _config_path(container: Mapping[str, Any]) -> str:
    """The flag takes precedence over the variable, as in every urfave/cli program."""
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    for index, word in enumerate(words):
        flag, has_value, value = word.partition("=")
        if flag == _FLAG:
            return value if has_value else " ".join(words[index + 1 : index + 2])
    return next((each.get("value", "") for each in container.get("env") or [] if each["name"] == _VARIABLE), "")


def _mounted(path: str, container: Mapping[str, Any], pod_spec: Mapping[str, Any], config_maps: ConfigMaps) -> str:
    volumes = {volume["name"]: volume for volume in pod_spec.get("volumes") or []}
    for mount in container.get("volumeMounts") or []:
        source = volumes.get(mount["name"], {}).get("configMap")
        if source is None:
            continue
        config_map = config_maps(source["name"])
        if config_map is None:
            # The pod would stay in ContainerCreating.
            raise PluginError(f"mounts the ConfigMap {source['name']}, which does not exist")
        for file, key in _files(mount, source, config_map):
            if posixpath.normpath(file) == posixpath.normpath(path):
                return str(config_map["data"][key])
    raise PluginError(f"reads {path}, but no mounted ConfigMap has this file")


def _files(
    mount: Mapping[str, Any], source: Mapping[str, Any], config_map: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """(path in the container, key in the ConfigMap) of every mounted file."""
    keys = config_map.get("data") or {}
    names = {item["path"]: item["key"] for item in source.get("items") or []} or {key: key for key in keys}
    for name, key in names.items():
        if key not in keys:
            continue
        if not mount.get("subPath"):
            yield posixpath.join(mount["mountPath"], name), key
        elif mount["subPath"] == name:
            yield mount["mountPath"], key


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
    if not any(map(_privileged, installers)):
        return "is not privileged, so it cannot load the driver's kernel module"
    if not any(path for each in installers for path in _host_paths(each, pod)):
        return "mounts no directory of the node, so the driver would be lost with the pod"
    return None


def partitioner_problem(pod: PodSpec) -> str | None:
    """Why the pod does not install the driver and partition the GPUs of its node; ``None`` if it would.

    Google's device plugin registers no GPU if one of them lacks its partitions, which a container of their own makes:
    https://github.com/GoogleCloudPlatform/container-engine-accelerators/tree/master/partition_gpu
    """
    if any("partition-gpu" in _name(each["image"]) for each in _containers(pod)):
        return installer_problem(pod)
    return installer_problem(pod) or f"partitions no GPU ({_images(pod)})"


def plugin_problem(pod: PodSpec) -> str | None:
    """Why the pod registers no GPU with the kubelet; ``None`` if it would (https://github.com/NVIDIA/k8s-device-plugin)."""
    plugins = [each for each in _containers(pod) if is_plugin(each["image"])]
    if not plugins:
        return f"has no image of NVIDIA's device plugin ({_images(pod)})"
    return _unregistered(plugins, pod)


def _unregistered(plugins: Iterable[Mapping[str, Any]], pod: PodSpec) -> str | None:
    if not any(_covers(path, PLUGIN_SOCKETS) for each in plugins for path in _host_paths(each, pod)):
        return f"does not mount the node's {PLUGIN_SOCKETS}, where the kubelet waits for it"
    return None


def neuron_problem(pod: PodSpec) -> str | None:
    """Why the pod registers no chip of AWS with the kubelet; ``None`` if it would. It reads its node by the API, and
    the driver's files on the node: https://github.com/aws-neuron/neuron-helm-charts/tree/main/charts/neuron-helm-chart
    """
    plugins = [each for each in _containers(pod) if _name(each["image"]) == NEURON_PLUGIN]
    if not plugins:
        return f"has no image of AWS's Neuron device plugin ({_images(pod)})"
    if (problem := _unregistered(plugins, pod)) is not None:
        return problem
    if not pod.get("serviceAccountName") or pod.get("automountServiceAccountToken") is False:
        return "has no service account to read its node"
    return None


def amd_problem(pod: PodSpec) -> str | None:
    """Why the pod registers none of AMD's GPUs with the kubelet; ``None`` if it would. The plugin looks for GPUs once,
    when it starts (https://github.com/ROCm/k8s-device-plugin/blob/master/cmd/k8s-device-plugin/main.go), and AKS's
    image has no driver, which a container before it installs on the node itself. Its health check (``-pulse``) reads
    properties that the kernel shows only to a process that may open the GPU:
    https://github.com/torvalds/linux/blob/v6.8/drivers/gpu/drm/amd/amdkfd/kfd_topology.c
    """
    plugins = [each for each in pod["containers"] if _is_amd(each["image"])]
    if not plugins:
        return f"has no image of AMD's device plugin ({_images(pod)})"
    words = [
        word for each in plugins if not _privileged(each) for key in ("command", "args") for word in each.get(key) or ()
    ]
    if any(word.lstrip("-").startswith("pulse") for word in words):
        return "checks the health of GPUs without being privileged, and so reports all of them as unhealthy"
    installers = [
        each for each in pod.get("initContainers") or () if "amdgpu-dkms" in " ".join(each.get("command") or ())
    ]
    if not installers:
        return "installs no driver before AMD's device plugin starts"
    if not pod.get("hostPID") or not all(map(_privileged, installers)):
        return "is not privileged in the node's namespaces, so it cannot load the driver's kernel module"
    return _unregistered(plugins, pod)


def runs_efa_plugin(pod: PodSpec) -> bool:
    """Whether the pod registers EFA devices with the kubelet.

    https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin
    """
    plugins = [each for each in _containers(pod) if _name(each["image"]) == "aws-efa-k8s-device-plugin"]
    paths = {posixpath.normpath(path) for each in plugins for path in _host_paths(each, pod)}
    return {PLUGIN_SOCKETS, "/dev/infiniband"} <= paths


def is_plugin(image: str) -> bool:
    """Whether an image is NVIDIA's device plugin, or a copy of it that kept its name."""
    name = _name(image)
    return (name == "k8s-device-plugin" and not _is_amd(image)) or (
        "nvidia" in image and name.endswith("device-plugin")
    )


def _is_amd(image: str) -> bool:
    return Image.parse(image).repository.endswith("rocm/k8s-device-plugin")


def _installs(image: str) -> bool:
    name = _name(image)
    return ("nvidia" in name and ("installer" in name or "driver" in name)) or Image.parse(image).repository.endswith(
        "nvidia/driver"
    )


def _privileged(container: Mapping[str, Any]) -> bool:
    return bool((container.get("securityContext") or {}).get("privileged"))


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
