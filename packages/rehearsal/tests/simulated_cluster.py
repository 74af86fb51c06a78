"""What the tests of the control plane, the fleet and the sandbox share: pods, jobs, groups, waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from rehearsal.cluster.api import Api, Object
from rehearsal.simulation import NodeShape, SimulatedNodeGroup
from rehearsal.tools import folder
from tests.components.specs import changed

PATIENCE: Final = 600.0
"""Seconds after which a test gives up on another process or thread: machines may be loaded. What works waits less."""

CLUSTER = "demo"
ZONES = ("us-central1-a", "us-central1-b")
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def tools() -> Path:
    """The folder with the real programs."""
    return folder(os.environ)


def size_taint(size: int) -> Taint:
    return Taint("gpucluster.dev/gpus-per-node", str(size), "NoSchedule")


def gpu_group(name: str, gpus: int = 1, **changes: Any) -> SimulatedNodeGroup:
    """A GPU group that starts empty, in one zone, at most 3 nodes."""
    group = SimulatedNodeGroup(
        name,
        CLUSTER,
        machine=NodeShape(4, 15, gpus, "nvidia-tesla-t4"),
        nodes=Nodes(
            machine_types=("n1-standard-4",),
            zones=ZONES[:1],
            labels={"gpucluster.dev/pool": name},
            taints=(GPU_TAINT,),
            hourly_usd=0.5 * gpus,
        ),
        scaling=Scaling(max_nodes=3),
    )
    return changed(group, **changes)


def pod_spec(gpus: int = 0, **fields: Any) -> Object:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    container = {"name": "main", "image": "example.com/image", "resources": resources}
    return {"restartPolicy": "Never", "containers": [container], **fields}


def pod(name: str, gpus: int = 0, seconds: float = 3, **fields: Any) -> Object:
    annotations = {"rehearsal.gpucluster.dev/seconds": str(seconds)}
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(gpus, **fields)}


def job(name: str, pods: int, gpus: int = 1, seconds: float = 1, **fields: Any) -> Object:
    template = {
        "metadata": {"annotations": {"rehearsal.gpucluster.dev/seconds": str(seconds)}},
        "spec": pod_spec(gpus, **fields),
    }
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def daemon_set(name: str, **fields: Any) -> Object:
    """A DaemonSet in kube-system whose pods carry their name as ``k8s-app``."""
    labels = {"k8s-app": name}
    container = {"name": "main", "image": "example.com/image"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **fields}},
        },
    }


def plugin_pod(config_map: str | None, **fields: Any) -> Object:
    """The pod spec of a device plugin that reads ``config.yaml`` from a ConfigMap, or is told of no file."""
    sockets = "/var/lib/kubelet/device-plugins"
    container: Object = {"name": "plugin", "image": "nvidia/k8s-device-plugin:1.11"}
    container["volumeMounts"] = [{"name": "sockets", "mountPath": sockets}]
    volumes: list[Object] = [{"name": "sockets", "hostPath": {"path": sockets}}]
    if config_map is not None:
        container["env"] = [{"name": "CONFIG_FILE", "value": "/config/config.yaml"}]
        container["volumeMounts"].append({"name": "config", "mountPath": "/config"})
        volumes.append({"name": "config", "configMap": {"name": config_map}})
    return {"containers": [container], "volumes": volumes, **fields}


def installer_pod(**fields: Any) -> Object:
    """The pod spec of a driver installer."""
    container = {
        "name": "installer",
        "image": "cos-nvidia-installer:fixed",
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "root", "mountPath": "/root"}],
    }
    return {"containers": [container], "volumes": [{"name": "root", "hostPath": {"path": "/"}}], **fields}


def eventually(what: str, condition: Callable[[], object], seconds: float = PATIENCE) -> Any:
    """The first true value of ``condition``."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return value


def nodes(api: Api, group: str) -> list[Object]:
    return api.list("/api/v1/nodes", labelSelector=f"gpucluster.dev/pool={group}")


def group_of(api: Api, pod_name: str) -> str | None:
    """The group whose node the pod was bound to, or ``None`` while it is Pending."""
    name = api.get(f"{PODS}/{pod_name}")["spec"].get("nodeName")
    if name is None:
        return None
    group: str = api.get(f"/api/v1/nodes/{name}")["metadata"]["labels"]["gpucluster.dev/pool"]
    return group


def events(api: Api, reason: str) -> list[Object]:
    return [event for event in api.list("/api/v1/events") if event.get("reason") == reason]


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def taint_set(taints: list[Mapping[str, str]]) -> set[tuple[str, str, str]]:
    return {(taint["key"], taint.get("value", ""), taint["effect"]) for taint in taints}
