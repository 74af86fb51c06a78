"""Kubernetes objects: pods in every wrapping, and what keeps GPU nodes up without using them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.policies.corpus.case import Draft, Program, Resource, draft
from tests.policies.corpus.gke import admin, cluster, pool

TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
EVERYTHING: Final = [{"operator": "Exists"}]
GPU_NODES: Final = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
SPOT: Final = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}


def container(gpus: Any = None, section: str = "limits") -> dict[str, Any]:
    """A container that asks for GPUs, or for none."""
    return {
        "name": "main",
        "image": "i",
        **({"resources": {section: {"nvidia.com/gpu": gpus}}} if gpus is not None else {}),
    }


def pod(gpus: Any = None, tolerations: Any = (TOLERATION,), **more: Any) -> dict[str, Any]:
    """A pod's spec."""
    return {"containers": [container(gpus)], "tolerations": list(tolerations), **more}


def thing(token: str, spec: Any, name: str = "work", namespace: str = "ml") -> Resource:
    """An object with metadata and a spec."""
    return f"kubernetes:{token}", name, {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def kind(token: str, /, **spec: Any) -> Resource:
    """A thing with this specification."""
    return thing(token, spec)


def template(token: str, spec: Mapping[str, Any], name: str = "work", namespace: str = "ml") -> Resource:
    """An object with a pod template."""
    return thing(token, {"template": {"spec": spec}}, name, namespace)


def affinity(**expression: Any) -> dict[str, Any]:
    """A required node affinity of one expression."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def on_t4(resources: Program) -> Program:
    """The same in a stack with an admin pool and a T4 pool, unless it brings pools of its own."""
    pools = () if any(token.startswith("gcp:") for token, _, _ in resources) else (pool(),)
    return (cluster(), admin(), *pools, *resources)


def blocked(id: str, rule: str, story: str) -> Draft:
    """A case on the T4 stack."""
    return draft(f"k8s-{id}", story, rule=rule, around=on_t4)


def allowed(id: str, story: str) -> Draft:
    """Likewise, for what must pass."""
    return draft(f"k8s-{id}", story, around=on_t4)


PLACEABLE: Final = "gpu-workload-placeable"
BLANKET: Final = "no-blanket-toleration"
RESERVED: Final = "gpu-nodes-for-gpus"
DAEMON_SET: Final = "gpu-daemonset-tolerates"

BLOCKED: Final = [
    blocked("pod-too-large", PLACEABLE, "eight GPUs of nodes with one").of(thing("core/v1:Pod", pod(8))),
    blocked("ephemeral-container", PLACEABLE, "a debugging container with GPUs of its own").of(
        thing("core/v1:PodPatch", pod(1, ephemeralContainers=[container(4)]))
    ),
    blocked("pod-list", PLACEABLE, "pods in a list").of(
        ("kubernetes:core/v1:PodList", "pods", {"items": [{"metadata": {"name": "a"}, "spec": pod(2)}]})
    ),
    blocked("selector-of-no-pool", PLACEABLE, "a label that the pool does not carry").of(
        thing("core/v1:Pod", pod(1, nodeSelector={"team": "vision"}))
    ),
    blocked("spot-not-tolerated", PLACEABLE, "the pool's second taint").of(
        pool(
            config={
                "spot": True,
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}, SPOT],
            }
        ),
        thing("core/v1:Pod", pod(1)),
    ),
    blocked("ray-cluster", PLACEABLE, "KubeRay's workers").of(
        kind(
            "ray.io/v1:RayCluster",
            headGroupSpec={"template": {"spec": pod()}},
            workerGroupSpecs=[{"groupName": "gpu", "replicas": 0, "template": {"spec": pod(4)}}],
        )
    ),
    blocked("ray-job", PLACEABLE, "a RayJob brings its own cluster").of(
        kind(
            "ray.io/v1:RayJob", rayClusterSpec={"workerGroupSpecs": [{"groupName": "w", "template": {"spec": pod(2)}}]}
        )
    ),
    blocked("pytorch-job", PLACEABLE, "Kubeflow's replicas").of(
        kind(
            "kubeflow.org/v1:PyTorchJob", pytorchReplicaSpecs={"Worker": {"replicas": 4, "template": {"spec": pod(2)}}}
        )
    ),
    blocked("mpi-job", PLACEABLE, "the same for MPI").of(
        thing("kubeflow.org/v2beta1:MPIJob", {"mpiReplicaSpecs": {"Worker": {"template": {"spec": pod(8)}}}})
    ),
    blocked("volcano-job", PLACEABLE, "Volcano's tasks").of(
        thing("batch.volcano.sh/v1alpha1:Job", {"tasks": [{"name": "train", "template": {"spec": pod(2)}}]})
    ),
    blocked("job-set", PLACEABLE, "a JobSet's replicated jobs").of(
        kind(
            "jobset.x-k8s.io/v1alpha2:JobSet",
            replicatedJobs=[{"name": "w", "template": {"spec": {"template": {"spec": pod(2)}}}}],
        )
    ),
    blocked("leader-worker-set", PLACEABLE, "multi-host inference").of(
        kind("leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", leaderWorkerTemplate={"workerTemplate": {"spec": pod(8)}})
    ),
    blocked("kind-nobody-knows", PLACEABLE, "a company's own operator").of(
        thing("ml.example.com/v1:Training", {"stages": [{"name": "fit", "pod": pod(2)}]})
    ),
    blocked("kube-system-is-no-excuse", BLANKET, "a system Deployment that goes anywhere").of(
        template(
            "apps/v1:Deployment",
            pod(tolerations=EVERYTHING, priorityClassName="system-cluster-critical"),
            "dns",
            "kube-system",
        )
    ),
    blocked("ray-head-tolerates-everything", BLANKET, "a CPU head that may settle on a GPU node").of(
        thing("ray.io/v1:RayCluster", {"headGroupSpec": {"template": {"spec": pod(tolerations=EVERYTHING)}}})
    ),
    blocked("cpu-pod-tolerates-gpus", RESERVED, "the toleration copied into a CPU job").of(
        template("batch/v1:Job", pod())
    ),
    blocked("cpu-pod-on-gpu-nodes", RESERVED, "a web server pinned to GPU nodes").of(
        template("apps/v1:Deployment", pod(nodeSelector=GPU_NODES))
    ),
    blocked("zero-gpus", RESERVED, "a limit of zero is no request").of(
        template("apps/v1:StatefulSet", pod(0, nodeSelector=GPU_NODES))
    ),
    blocked("key-in-environment", "no-static-keys", "a cloud key in a trainer's environment").of(
        thing("core/v1:Pod", pod(1, containers=[{**container(1), "env": [{"name": "K", "value": "AKIA" + "A" * 16}]}]))
    ),
]

ALLOWED: Final = [
    allowed("gpu-job", "a job that fits").of(template("batch/v1:Job", pod(1))),
    allowed("gpu-job-without-toleration", "GKE adds the toleration").of(
        template("batch/v1:Job", pod(1, tolerations=()))
    ),
    allowed("cpu-deployment", "a web server").of(template("apps/v1:Deployment", pod(tolerations=()))),
    allowed("namespace-called-gpu", "a CPU pod in a namespace for GPU work").of(
        thing("core/v1:Pod", pod(tolerations=()), namespace="gpu-test")
    ),
    allowed("pod-in-test-namespace", "a smoke test with one GPU").of(
        thing("core/v1:Pod", pod(1, nodeSelector=GPU_NODES), "smoke", "test")
    ),
    allowed("log-collector", "a DaemonSet on every node").of(
        template("apps/v1:DaemonSet", pod(tolerations=EVERYTHING), "logs", "logging")
    ),
    allowed("driver-everywhere", "an installer that goes wherever GPUs are").of(
        template("apps/v1:DaemonSet", pod(tolerations=EVERYTHING, nodeSelector=GPU_NODES), "drivers", "kube-system")
    ),
    allowed("toleration-of-soft-taints", "every PreferNoSchedule taint tolerated: no door to GPU nodes").of(
        template("apps/v1:Deployment", pod(tolerations=[{"operator": "Exists", "effect": "PreferNoSchedule"}]))
    ),
    allowed("ray-cluster-that-fits", "a CPU head and workers with one GPU").of(
        kind(
            "ray.io/v1:RayCluster",
            headGroupSpec={"template": {"spec": pod(tolerations=())}},
            workerGroupSpecs=[{"groupName": "gpu", "minReplicas": 0, "template": {"spec": pod(1)}}],
        )
    ),
    allowed("kyverno-policy", "a policy's pattern is no pod").of(
        kind(
            "kyverno.io/v1:ClusterPolicy",
            rules=[{"validate": {"pattern": {"spec": {"containers": [container(8)], "tolerations": EVERYTHING}}}}],
        )
    ),
]
