"""Device plugins, for clouds whose node images have none: NVIDIA's, and as a pod in a file those of other makers.

The plugin, its configuration file and the rights it needs: https://github.com/NVIDIA/k8s-device-plugin
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from components.clouds.base import GpuDaemon
from components.resources import documents
from components.settings import Problem
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.parts import SharedGpu
from facts.concepts.pool import Pool, shares_taint

APP: Final = "nvidia-device-plugin"

_SHARED: Final = "shared-"

# https://github.com/NVIDIA/k8s-device-plugin/releases
IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"

_CONFIG_DIRECTORY: Final = "/etc/nvidia-device-plugin"
_CONFIG_FILE: Final = "config.yaml"
_DEVICE_LIST: Final = "/var/run/nvidia-container-devices"
_TOOLKIT: Final = "/etc/nvidia-container-runtime"
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"


def device_plugin(pools: Sequence[Pool], *, by_mounts: bool = False, makes_so: bool = False) -> list[GpuDaemon]:
    """One DaemonSet per way in which ``pools`` divide their GPUs, variant ``whole`` where they do not.

    ``by_mounts``: the machines' container runtime takes the list of a container's GPUs from volume mounts, which only
    the kubelet makes, and not from a variable, which every CUDA image sets to ``all``. ``makes_so``: the plugin sets
    the runtime of a node to that before its first pod with a GPU.
    """
    variants: dict[str, list[Pool]] = defaultdict(list)
    for pool in pools:
        variants[_variant(pool)].append(pool)
    return [
        GpuDaemon(
            app=APP,
            variant=variant,
            pod=plugin_pod(
                f"{APP}-{variant}", mig=members[0].gpus.mig is not None, by_mounts=by_mounts, makes_so=makes_so
            ),
            pools=tuple(members),
            files={_CONFIG_FILE: plugin_config(members[0], by_mounts=by_mounts)},
        )
        for variant, members in sorted(variants.items())
    ]


def managed_device_plugin(pools: Sequence[Pool], *, makes_so: bool = False) -> list[GpuDaemon]:
    """The same for pools of NVIDIA's GPUs with ``drivers: managed``; others leave driver and plugin to their user."""
    managed = [pool for pool in pools if pool.gpus.of_nvidia and pool.gpus.drivers == "managed"]
    return device_plugin(managed, makes_so=makes_so)


def has_software_of_others(pool: Pool) -> bool:
    """Whether its nodes get their device plugin from others alone."""
    return pool.gpus.drivers == "none"


def second_plugin(pool: Pool, plugin: str) -> Problem | None:
    """The problem of a pool that would have ``plugin`` of others beside the program's: a node has one device plugin."""
    if has_software_of_others(pool):
        return None
    text = f"{plugin} would offer the GPUs of {pool.name}, as the program's own device plugin does"
    remedy = "To use it, write drivers: none. To keep it away, write taints that it does not tolerate"
    return Problem(f"{pool.declared_at}.drivers", text, remedy)


def plugin_of_maker(
    pools: Sequence[Pool], resource: str, file: Path, *, app: str, image: str, rules: tuple[Mapping[str, Any], ...] = ()
) -> list[GpuDaemon]:
    """The DaemonSet that offers another maker's devices as ``resource`` on the pools with them and ``drivers:
    managed``; none without any. ``file`` has its pod, ``rules`` are its rights."""
    own = tuple(pool for pool in pools if pool.gpus.resource == resource and pool.gpus.drivers == "managed")
    if not own:
        return []
    (pod,) = documents(file, app=app, image=image)
    return [GpuDaemon(app=app, variant="whole", pod=pod, pools=own, rules=rules)]


def plugin_config(pool: Pool, *, by_mounts: bool = False) -> str:
    """The plugin's configuration file, as JSON (which is YAML).

    With time sharing a pod gets at most one share: several shares of one GPU are no more time than one, so the plugin
    refuses pods that request more. With MIG all slices of a node are equal and are advertised as GPUs.
    """
    config: dict[str, Any] = {
        "version": "v1",
        "flags": {"migStrategy": "none" if pool.gpus.mig is None else "single", "failOnInitError": True},
    }
    if by_mounts:
        config["flags"]["plugin"] = {"deviceListStrategy": "volume-mounts"}
    if pool.gpus.time_sharing is not None:
        config["sharing"] = {
            "timeSlicing": {
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": GPU_RESOURCE, "replicas": pool.gpus.time_sharing.clients_per_gpu}],
            }
        }
    return json.dumps(config, indent=2) + "\n"


def with_all_gpus(pod: dict[str, Any]) -> dict[str, Any]:
    """The system pod with all GPUs of a node whose runtime reads lists of them from mounts.

    The mount's name is the list, its source has to be ``/dev/null``. Pods of people have no host paths.
    https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.18.1/internal/config/image/cuda_image.go
    """
    pod["volumes"].append({"name": "gpus", "hostPath": {"path": "/dev/null", "type": "CharDevice"}})
    mount = {"name": "gpus", "mountPath": f"{_DEVICE_LIST}/all", "readOnly": True}
    pod["containers"][0]["volumeMounts"].append(mount)
    return pod


def plugin_pod(config_map: str, *, mig: bool, by_mounts: bool = False, makes_so: bool = False) -> Mapping[str, Any]:
    """The pod spec without placement; ``config_map`` holds its configuration file."""
    (pod,) = documents(
        Path(__file__).with_name("device-plugin.yaml"),
        app=APP,
        image=IMAGE,
        config=config_map,
        folder=_CONFIG_DIRECTORY,
        file=_CONFIG_FILE,
        sockets=_SOCKETS,
        rights=_MIG_RIGHTS if mig else _NO_RIGHTS,
    )
    if mig:
        pod["containers"][0]["env"].append({"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"})
    if makes_so:
        script = Path(__file__).with_name("gpus_by_mounts.sh").read_text(encoding="utf-8")
        # The image's shell: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.2/deployments/container/Dockerfile
        pod["containers"][0]["command"] = ["/busybox/sh", "-c", script]
        pod["containers"][0]["volumeMounts"].append({"name": "toolkit", "mountPath": _TOOLKIT})
        pod["volumes"].append({"name": "toolkit", "hostPath": {"path": _TOOLKIT, "type": "DirectoryOrCreate"}})
    return with_all_gpus(pod) if by_mounts or makes_so else pod


# Root without any capability can write the kubelet's directory, which is all that whole GPUs need; reading a MIG
# device's capability files is reserved to CAP_SYS_ADMIN. The chart of the plugin grants exactly the same.
_NO_RIGHTS: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_MIG_RIGHTS: Final = {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}


def with_variant(pool: Pool, variant: str) -> Pool:
    """The pool, but with its GPUs divided as a ``variant`` does that no MIG is in, and the taint that it may have."""
    _, _, clients = variant.partition(_SHARED)
    sharing = SharedGpu(clients_per_gpu=int(clients)) if clients else None
    taints = (*pool.nodes.taints, *(shares_taint(sharing.clients_per_gpu) if sharing else ()))
    nodes = replace(pool.nodes, taints=tuple(dict.fromkeys(taints)))
    return replace(pool, gpus=replace(pool.gpus, time_sharing=sharing, mig=None), nodes=nodes)


def _variant(pool: Pool) -> str:
    ways = [
        *(["mig"] if pool.gpus.mig is not None else []),
        *([f"{_SHARED}{pool.gpus.time_sharing.clients_per_gpu}"] if pool.gpus.time_sharing is not None else []),
    ]
    return "-".join(ways) or "whole"
