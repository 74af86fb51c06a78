"""Programs that hold only what runs in a cluster: another program declares the cluster and its pools.

The gate's configuration may name those (``POOLS``).
"""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws
from tests.policies.corpus.case import Draft, Program, draft, undecided
from tests.policies.corpus.gke import cluster
from tests.policies.corpus.helm import release
from tests.policies.corpus.kubernetes import (
    BLANKET,
    DAEMON_SET,
    EVERYTHING,
    RESERVED,
    TOLERATION,
    affinity,
    pod,
    template,
)

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
ACCELERATOR: Final = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
ANY_GPU: Final = affinity(key="karpenter.k8s.aws/instance-gpu-name", operator="Exists")
GPU_FAMILY: Final = affinity(key="karpenter.k8s.aws/instance-family", operator="In", values=["g5", "g6"])
SPOT_TAINT: Final = [*aws.TAINTS, {"key": "spot", "value": "true", "effect": "NO_SCHEDULE"}]
EXPORTER: Final = {"containers": [{"name": "main", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3"}]}
NO_GPU_GROUP: Final = "this program declares no GPU node group"


def case(id: str, story: str, rule: str | None = None) -> Draft:
    return draft(f"apps-{id}", story, rule=rule)


def known(id: str, story: str, rule: str | None = None) -> Draft:
    """With the configuration's pools."""
    return draft(f"apps-pools-{id}", story, rule=rule, pools=POOLS)


def beside_cpus(resources: Program) -> Program:
    """The same in a program that declares the cluster and its CPU nodes; its GPU nodes are another program's."""
    return ((aws.CLUSTER, "ml", {"name": "ml"}), aws.cpu_group(), *resources)


def beside_gpus(resources: Program) -> Program:
    """The same beside a GPU pool with a second taint and without the label that node feature discovery sets."""
    return (*beside_cpus(resources), aws.node_group(taints=SPOT_TAINT))


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
    *(
        case(f"labels-{name}", "the GPU taint tolerated, on labels that only GPU nodes have", rule=RESERVED).of(
            deployment(**labels)
        )
        for name, labels in (
            ("accelerator", {"nodeSelector": ACCELERATOR}),
            ("azure", {"nodeSelector": {"kubernetes.azure.com/accelerator": "nvidia"}}),
            ("karpenter", {"affinity": ANY_GPU}),
            ("family", {"affinity": GPU_FAMILY}),
        )
    ),
    case("labels-blanket", "anything tolerated, on GPU nodes", rule=BLANKET).of(
        deployment(tolerations=EVERYTHING, nodeSelector=ACCELERATOR)
    ),
    draft(
        "cpus-gpu-taint", "the cluster and CPU nodes here, GPU nodes elsewhere", rule=RESERVED, around=beside_cpus
    ).of(deployment()),
    draft("cpus-blanket", "likewise, anything tolerated on GPU nodes", rule=BLANKET, around=beside_cpus).of(
        deployment(tolerations=EVERYTHING, nodeSelector=ACCELERATOR)
    ),
    draft("detected-exporter", "an exporter by a detector's label", rule=DAEMON_SET, around=beside_gpus).of(
        template("apps/v1:DaemonSet", {**EXPORTER, "nodeSelector": GPU_NODES, "tolerations": [TOLERATION]})
    ),
    draft("detected-web", "a web server by a detector's label", rule=RESERVED, around=beside_gpus).of(
        deployment(tolerations=EVERYTHING, nodeSelector=GPU_NODES)
    ),
    *(
        draft(f"plugin-by-image-{name}", "known by its image alone", rule=DAEMON_SET, around=beside_gpus).of(
            template("apps/v1:DaemonSet", {"containers": [{"name": "main", "image": image}], "tolerations": []})
        )
        for name, image in (
            ("nvidia", "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"),
            ("google", "gke.gcr.io/nvidia-gpu-device-plugin@sha256:7a"),
        )
    ),
]

UNJUDGED: Final = [
    undecided("apps-own-label", NO_GPU_GROUP, "the GPU taint tolerated, on nodes with a label of the company").of(
        deployment(nodeSelector={"team": "vision"})
    ),
    undecided(
        "cpus-anything", NO_GPU_GROUP, "a cluster of CPU nodes, and an agent anywhere in it", around=beside_cpus
    ).of(deployment(tolerations=EVERYTHING)),
]

ALLOWED: Final = [
    case("labels-job", "a job that asks for its GPU on such nodes").of(
        template("batch/v1:Job", pod(1, nodeSelector=ACCELERATOR))
    ),
    case("labels-without-gpus", "the GPU taint tolerated by a chart's default, on nodes without GPUs").of(
        deployment(nodeSelector={"nvidia.com/gpu.present": "false"})
    ),
    draft("cpus-pinned", "anything tolerated, on the CPU nodes", around=beside_cpus).of(
        deployment(tolerations=EVERYTHING, nodeSelector={"role": "web"})
    ),
    draft("autopilot-anything", "Google sizes all nodes").of(
        cluster(enableAutopilot=True), deployment(tolerations=EVERYTHING)
    ),
    draft("detected-exporter-that-fits", "an exporter by a detector's label", around=beside_gpus).of(
        template("apps/v1:DaemonSet", {**EXPORTER, "nodeSelector": GPU_NODES, "tolerations": EVERYTHING})
    ),
    draft("exporter-anywhere", "an exporter that runs where it may", around=beside_gpus).of(
        template("apps/v1:DaemonSet", {**EXPORTER, "tolerations": []})
    ),
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
