"""Programs that hold only what runs in a cluster: another program declares the cluster and its pools.

The gate's configuration may name those (``POOLS``).
"""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws
from tests.policies.corpus.case import Case
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


def case(id: str, story: str, *resources: Any, rule: str | None = None) -> Case:
    return Case(id=f"apps-{id}", story=story, resources=resources, rule=rule)


def known(id: str, story: str, *resources: Any, rule: str | None = None) -> Case:
    """With the configuration's pools."""
    return Case(id=f"apps-pools-{id}", story=story, resources=resources, rule=rule, pools=POOLS)


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
    known("large-job", "no pool has sixteen GPUs", template("batch/v1:Job", pod(16)), rule=PLACEABLE),
    known("team-taint", "eight GPUs are there, behind a taint", template("batch/v1:Job", pod(8)), rule=PLACEABLE),
    known(
        "other-label",
        "a label that no pool has",
        template("batch/v1:Job", pod(1, nodeSelector={"pool": "a100"})),
        rule=PLACEABLE,
    ),
    known(
        "pinned",
        "a web server on the GPU pool, by a label that only the configuration knows",
        deployment(tolerations=(), nodeSelector={"pool": "l4"}),
        rule=RESERVED,
    ),
    known(
        "plugin",
        "a device plugin that the second taint of one pool keeps away",
        template("apps/v1:DaemonSet", {**PLUGIN, "tolerations": [TOLERATION]}, "plugin", "kube-system"),
        rule=DAEMON_SET,
    ),
    known("blanket", "a Deployment that goes anywhere", deployment(tolerations=EVERYTHING), rule=BLANKET),
    known(
        "beside-a-cluster",
        "the program declares a cluster and its CPU pool, another one the GPU pools",
        (aws.CLUSTER, "ml", {"name": "ml"}),
        aws.cpu_group(),
        template("batch/v1:Job", pod(8)),
        rule=PLACEABLE,
    ),
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
    known("job", "a job with a GPU", template("batch/v1:Job", pod(1, nodeSelector={"pool": "l4"}))),
    known("team-job", "eight GPUs of the team", template("batch/v1:Job", pod(8, tolerations=[TOLERATION, TEAM]))),
    known("web", "a web server on its own pool", deployment(tolerations=(), nodeSelector={"pool": "web"})),
    known(
        "web-blanket",
        "anything tolerated, on the CPU pool",
        deployment(tolerations=EVERYTHING, nodeSelector={"pool": "web"}),
    ),
]
