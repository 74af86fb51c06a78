"""Faults by one object more in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE
from facts.concepts.pool import SIZE_KEY
from rehearsal.faults.add import add, system_deployment
from rehearsal.faults.case import Injection, Program

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


_PINNED: Final = system_deployment(
    "gpu-metrics",
    {"cpu": "10m", "memory": "16Mi"},
    nodeSelector={GPU_PRESENT_LABEL: "true"},
    tolerations=[{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
)


def _add_pinned_pod(program: Program) -> None:
    add(program, "gpu-metrics", _PINNED)


# Otherwise the update waits for the pod and fails by itself.
_UNAWAITED: Final = {"pulumi.com/skipAwait": "true"}
_LARGE: Final = system_deployment("metrics", {"cpu": "64", "memory": "64Mi"}, _UNAWAITED)


def _add_large_pod(program: Program) -> None:
    add(program, "metrics", _LARGE)


INJECTIONS: Final[Mapping[str, Injection]] = {
    # A job pinned to the largest node size without its toleration: it would stay Pending.
    "job-without-toleration": _add_job,
    # A system pod pinned to the GPU pool: it requests no GPU and keeps a GPU node running.
    "pinned-system-pod": _add_pinned_pod,
    # A system pod that is too large for every node: everything else works, its own function does not.
    "system-pod-too-large": _add_large_pod,
}
