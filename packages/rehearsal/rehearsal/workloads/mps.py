"""Programs on nodes whose GPUs NVIDIA's MPS shares: one that does not meet the server of its node finds no GPU.

GKE: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus. Client and server exchange messages in
``/dev/shm`` (``updateResponseForMPS`` in https://github.com/NVIDIA/k8s-device-plugin/blob/main/internal/plugin/server.go).
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, Final

from facts.concepts.kubernetes import gpu_limit
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object, pod_path, warn
from rehearsal.simulation import PROGRAM_FAILED

_LABEL: Final = "cloud.google.com/gke-gpu-sharing-strategy"


class MpsClients:
    """Fails the pods whose program would find no GPU."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._noted: set[str] = set()
        self._shared: dict[str, bool] = {}

    def note(self, pod: Object) -> None:
        """Judge a pod with GPUs once, when it runs."""
        uid = pod["metadata"]["uid"]
        if uid in self._noted or (pod.get("status") or {}).get("phase") != "Running" or not gpu_limit(pod["spec"]):
            return
        self._noted.add(uid)
        if self._is_shared(pod["spec"]["nodeName"]) and (reason := problem(pod["spec"])) is not None:
            warn(self._api, pod, PROGRAM_FAILED, f"finds no GPU: {reason}")
            self._api.merge(f"{pod_path(pod)}/status", {"status": {"phase": "Failed"}})

    def _is_shared(self, node: str) -> bool:
        """Asked once for each node: another strategy makes another node pool."""
        if node not in self._shared:
            machine = self._api.find(resource_path("v1", "nodes", node))
            if machine is None:
                return False
            self._shared[node] = (machine["metadata"].get("labels") or {}).get(_LABEL) == "mps"
        return self._shared[node]


def problem(spec: Mapping[str, Any]) -> str | None:
    """Why a program of the pod does not meet the server of MPS; ``None`` if it does."""
    if not spec.get("hostIPC"):
        return "MPS shares the GPUs of its node, and the pod lacks hostIPC: true"
    mounts = (mount["mountPath"] for each in spec["containers"] for mount in each.get("volumeMounts") or ())
    if any(posixpath.normpath(path) == "/dev/shm" for path in mounts):
        return "a volume at /dev/shm hides the shared memory of its node, which MPS uses"
    return None
