"""Programs that hold only what runs in a cluster: another program declares the cluster and its pools."""

from __future__ import annotations

from typing import Any, Final

from concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case
from tests.policies.corpus.helm import release
from tests.policies.corpus.kubernetes import BLANKET, DAEMON_SET, EVERYTHING, RESERVED, TOLERATION, pod, template

PLUGIN: Final = {
    "containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"}],
    "volumes": [{"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
}
GPU_NODES: Final = {"nvidia.com/gpu.present": "true"}


def case(id: str, story: str, *resources: Any, rule: str | None = None) -> Case:
    return Case(id=f"apps-{id}", story=story, resources=resources, rule=rule)


def deployment(**pod_spec: Any) -> Any:
    return template("apps/v1:Deployment", pod(None, **pod_spec))


BLOCKED: Final = [
    case("blanket", "a Deployment that goes anywhere", deployment(tolerations=EVERYTHING), rule=BLANKET),
    case("gpu-taint", "a web server that tolerates the GPU taint", deployment(), rule=RESERVED),
    case(
        "gpu-nodes",
        "a web server pinned to GPU nodes",
        deployment(tolerations=(), nodeSelector=GPU_NODES),
        rule=RESERVED,
    ),
    case(
        "plugin",
        "a device plugin that the GPU taint keeps away",
        template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": []}, "plugin", "kube-system"),
        rule=DAEMON_SET,
    ),
    case("exporter", "a chart without the toleration", release("dcgm-exporter", {}), rule=DAEMON_SET),
]

ALLOWED: Final = [
    case("job", "a job with a GPU", template("batch/v1:Job", pod(1))),
    case("large-job", "eight GPUs: how many a node has is said elsewhere", template("batch/v1:Job", pod(8))),
    case("web", "a web server", deployment(tolerations=())),
    case("system-web", "eviction tolerated", deployment(tolerations=[{"operator": "Exists", "effect": "NoExecute"}])),
    case(
        "pinned",
        "anything tolerated, on nodes of its own",
        deployment(tolerations=EVERYTHING, nodeSelector={"role": "x"}),
    ),
    case("tolerations-to-be", "tolerations of another resource", deployment(tolerations=[UNKNOWN])),
    case(
        "agent",
        "an agent on every node",
        template("apps/v1:DaemonSet", pod(None, tolerations=EVERYTHING), "agent", "monitoring"),
    ),
    case(
        "cpu-agent",
        "an agent on every CPU node",
        template("apps/v1:DaemonSet", pod(None, tolerations=(), nodeSelector={"role": "web"}), "agent", "monitoring"),
    ),
    case("plugin-that-fits", "a device plugin", template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": [TOLERATION]})),
    case("operator", "the operator's chart as it is", release("gpu-operator", {})),
]
