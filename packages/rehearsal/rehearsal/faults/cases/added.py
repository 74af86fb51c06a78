"""Faults by one object more in the cluster."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE
from facts.concepts.pool import SIZE_KEY
from rehearsal.faults.add import add, system_deployment
from rehearsal.faults.case import Case, Program

_SIZE: Final = 4
_JOB: Final[dict[str, Any]] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "training",
        # The update waits for the job; ten minutes, the default, would prove no more.
        "annotations": {"pulumi.com/timeoutSeconds": "10"},
    },
    "spec": {
        "backoffLimit": 0,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {SIZE_KEY: str(_SIZE)},
                "containers": [
                    {
                        "name": "train",
                        "image": "nvidia/cuda:12.4.1-base-ubuntu22.04",
                        "command": ["nvidia-smi"],
                        "resources": {"limits": {GPU_RESOURCE: str(_SIZE)}},
                    }
                ],
            }
        },
    },
}


def _add_job(program: Program) -> None:
    add(program, "training", _JOB)


# A job pinned to the largest node size without its toleration: it would stay Pending.
_JOB_WITHOUT_TOLERATION = Case(
    name="job-without-toleration",
    title=f"a job for {_SIZE}-GPU nodes that does not tolerate their size",
    stack="examples/gke-per-gpu-type.yaml",
    rule="gpu-workload-placeable",
    check="up",
    reason="training",
    inject=_add_job,
)


_PINNED: Final = system_deployment(
    "gpu-metrics",
    {"cpu": "10m", "memory": "16Mi"},
    nodeSelector={GPU_PRESENT_LABEL: "true"},
    tolerations=[{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
)


def _add_pinned_pod(program: Program) -> None:
    add(program, "gpu-metrics", _PINNED)


# A system pod pinned to the GPU pool: it requests no GPU and keeps a GPU node running.
_PINNED_SYSTEM_POD = Case(
    name="pinned-system-pod",
    title="a Deployment in kube-system pinned to GPU nodes that requests no GPU",
    stack="dev",
    rule="gpu-nodes-for-gpus",
    check="system-pods-off-gpu",
    reason="kube-system/gpu-metrics",
    inject=_add_pinned_pod,
)


# Otherwise the update waits for the pod and fails by itself.
_UNAWAITED: Final = {"pulumi.com/skipAwait": "true"}
_LARGE: Final = system_deployment("metrics", {"cpu": "64", "memory": "64Mi"}, _UNAWAITED)


def _add_large_pod(program: Program) -> None:
    add(program, "metrics", _LARGE)


# A system pod that is too large for every node: everything else works, its own function does not.
_SYSTEM_POD_TOO_LARGE = Case(
    name="system-pod-too-large",
    title="a pod in kube-system that is too large for every node",
    stack="dev",
    rule=None,
    check="system-pods-run",
    reason="kube-system/metrics",
    inject=_add_large_pod,
)

CASES: Final = (
    _JOB_WITHOUT_TOLERATION,
    _PINNED_SYSTEM_POD,
    _SYSTEM_POD_TOO_LARGE,
)
