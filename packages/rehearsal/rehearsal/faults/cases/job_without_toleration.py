"""A job pinned to the largest size that does not tolerate it: it would wait for ever."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.pool import SIZE_KEY
from rehearsal.faults.case import Case, Program
from rehearsal.faults.cases.added import add

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


def _sabotage(program: Program) -> None:
    add(program, "training", _JOB)


CASE = Case(
    name="job-without-toleration",
    title=f"a job for {_SIZE}-GPU nodes that does not tolerate their size",
    stack="examples/gke-per-gpu-type.yaml",
    rule="gpu-workload-placeable",
    check="up",
    reason="training",
    sabotage=_sabotage,
)
