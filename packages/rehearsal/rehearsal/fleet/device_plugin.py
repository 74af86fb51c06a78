"""GPUs that NVIDIA's device plugin would advertise, read from its DaemonSet, pod and configuration file.

``installers.py`` recognises it. Only time slicing is read from its configuration; the file counts only where
the plugin would find it: mounted from a ConfigMap and named by ``CONFIG_FILE`` or ``--config-file``
(https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import yaml

from rehearsal.fleet.capacity import GPU

PLUGIN: Final = "nvidia-device-plugin"
_VARIABLE: Final = "CONFIG_FILE"
_FLAG: Final = "--config-file"

ConfigMaps = Callable[[str], Mapping[str, Any] | None]
"""Name → a ConfigMap of the pod's namespace, or ``None``."""


class PluginError(Exception):
    """Why a device plugin advertises no ``nvidia.com/gpu``; continues a sentence that names its pod."""


def replicas(pod_spec: Mapping[str, Any], config_maps: ConfigMaps) -> int:
    """As how many GPUs the plugin in this pod advertises each GPU: 1 without time slicing.

    Raises:
        PluginError: the plugin would not start, or would advertise the GPUs under another name.
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
