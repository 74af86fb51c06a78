"""The job of a rehearsal of own machines: a pod for each GPU, which prints the GPUs that it can open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from facts.concepts.counts import counted
from rehearsal.cluster.api import Api
from rehearsal.lab.software import WORKLOAD_IMAGE
from rehearsal.own_machines.look import GPU, NotSeen

_CONTAINER: Final = {"name": "gpu", "image": WORKLOAD_IMAGE, "imagePullPolicy": "Never", "command": ["gpu-job"]}


def manifest(name: str, pods: int, tolerations: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    """A Job of so many pods with a GPU each."""
    container = {**_CONTAINER, "resources": {"limits": {GPU: 1}, "requests": {"cpu": "10m"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], "tolerations": [*tolerations]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template},
    }


def without_gpu(name: str, node: str) -> dict[str, Any]:
    """A pod on ``node`` that asks for all GPUs as the images of CUDA do, and has no limit of them."""
    container = {**_CONTAINER, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    spec = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def unfinished(user: Api, pods: int) -> str:
    """How many of its pods have ended; empty if all have. Raises NotSeen if one failed."""
    status = user.get("/apis/batch/v1/namespaces/default/jobs/train")["status"]
    if status.get("failed"):
        raise NotSeen(f"A pod of the job failed: {status}")
    done = status.get("succeeded", 0)
    return "" if done == pods else f"{done} of {counted(pods, 'pod')} ended"


def opened(user: Api, pod: str) -> list[str]:
    """The GPUs that a pod of the job could open, as it printed them."""
    # A pod that can open none says so on its error output, which may come first.
    lines = user.text(f"/api/v1/namespaces/default/pods/{pod}/log").splitlines()
    devices: list[str] = json.loads(next(line for line in lines if line.startswith("{")))["opened"]
    return devices
