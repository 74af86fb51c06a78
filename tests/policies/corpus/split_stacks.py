"""Programs that hold only what runs in a cluster: another program declares the cluster and its pools.

The gate's configuration may name those (``POOLS``).
"""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws
from tests.policies.corpus.case import Draft, draft
from tests.policies.corpus.helm import release
from tests.policies.corpus.kubernetes import BLANKET, DAEMON_SET, EVERYTHING, RESERVED, TOLERATION, pod, template

PLUGIN: Final = {
    "containers": [{"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"}],
    "volumes": [{"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}],
}
GPU_NODES: Final = {"nvidia.com/gpu.present": "true"}
PLACEABLE: Final = "gpu-workload-placeable"
POOLS: Final = {
    "l4": {"gpusPerNode": 1, "labels": {"pool": "l4"}},
    "h100": {"gpusPerNode": 8, "taints": ["nvidia.com/gpu=present:NoSchedule", "team=ml:NoSchedule"]},
    "web": {"gpusPerNode": 0, "labels": {"pool": "web"}},
}
TEAM: Final = {"key": "team", "operator": "Exists"}


def case(id: str, story: str, rule: str | None = None) -> Draft:
    return draft(f"apps-{id}", story, rule=rule)


def known(id: str, story: str, rule: str | None = None) -> Draft:
    """With the configuration's pools."""
    return draft(f"apps-pools-{id}", story, rule=rule, pools=POOLS)


def deployment(**pod_spec: Any) -> Any:
    return template("apps/v1:Deployment", pod(None, **pod_spec))


BLOCKED: Final = [
    case("blanket", "a Deployment that goes anywhere", rule=BLANKET).of(deployment(tolerations=EVERYTHING)),
    case("gpu-taint", "a web server that tolerates the GPU taint", rule=RESERVED).of(deployment()),
    case("gpu-nodes", "a web server pinned to GPU nodes", rule=RESERVED).of(
        deployment(tolerations=(), nodeSelector=GPU_NODES)
    ),
    case("plugin", "a device plugin that the GPU taint keeps away", rule=DAEMON_SET).of(
        template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": []}, "plugin", "kube-system")
    ),
    case("exporter", "a chart without the toleration", rule=DAEMON_SET).of(release("dcgm-exporter", {})),
    known("large-job", "no pool has sixteen GPUs", rule=PLACEABLE).of(template("batch/v1:Job", pod(16))),
    known("team-taint", "eight GPUs are there, behind a taint", rule=PLACEABLE).of(template("batch/v1:Job", pod(8))),
    known("other-label", "a label that no pool has", rule=PLACEABLE).of(
        template("batch/v1:Job", pod(1, nodeSelector={"pool": "a100"}))
    ),
    known("pinned", "a web server on the GPU pool, by a label that only the configuration knows", rule=RESERVED).of(
        deployment(tolerations=(), nodeSelector={"pool": "l4"})
    ),
    known("plugin", "a device plugin that the second taint of one pool keeps away", rule=DAEMON_SET).of(
        template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": [TOLERATION]}, "plugin", "kube-system")
    ),
    known("blanket", "a Deployment that goes anywhere", rule=BLANKET).of(deployment(tolerations=EVERYTHING)),
    known(
        "beside-a-cluster", "the program declares a cluster and its CPU pool, another one the GPU pools", rule=PLACEABLE
    ).of((aws.CLUSTER, "ml", {"name": "ml"}), aws.cpu_group(), template("batch/v1:Job", pod(8))),
]

ALLOWED: Final = [
    case("job", "a job with a GPU").of(template("batch/v1:Job", pod(1))),
    case("large-job", "eight GPUs: how many a node has is said elsewhere").of(template("batch/v1:Job", pod(8))),
    case("web", "a web server").of(deployment(tolerations=())),
    case("system-web", "eviction tolerated").of(
        deployment(tolerations=[{"operator": "Exists", "effect": "NoExecute"}])
    ),
    case("pinned", "anything tolerated, on nodes of its own").of(
        deployment(tolerations=EVERYTHING, nodeSelector={"role": "x"})
    ),
    case("tolerations-to-be", "tolerations of another resource").of(deployment(tolerations=[UNKNOWN])),
    case("agent", "an agent on every node").of(
        template("apps/v1:DaemonSet", pod(None, tolerations=EVERYTHING), "agent", "monitoring")
    ),
    case("cpu-agent", "an agent on every CPU node").of(
        template("apps/v1:DaemonSet", pod(None, tolerations=(), nodeSelector={"role": "web"}), "agent", "monitoring")
    ),
    case("plugin-that-fits", "a device plugin").of(
        template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": [TOLERATION]})
    ),
    case("operator", "the operator's chart as it is").of(release("gpu-operator", {})),
    known("job", "a job with a GPU").of(template("batch/v1:Job", pod(1, nodeSelector={"pool": "l4"}))),
    known("team-job", "eight GPUs of the team").of(template("batch/v1:Job", pod(8, tolerations=[TOLERATION, TEAM]))),
    known("web", "a web server on its own pool").of(deployment(tolerations=(), nodeSelector={"pool": "web"})),
    known("web-blanket", "anything tolerated, on the CPU pool").of(
        deployment(tolerations=EVERYTHING, nodeSelector={"pool": "web"})
    ),
]
