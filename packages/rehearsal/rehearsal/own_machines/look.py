"""What a rehearsal of own machines looks at: nodes and pods of the cluster, its job, and traces on the
machines."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.counts import counted
from rehearsal.cluster.api import Api, ApiError, Object, UnreachableError, condition
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import LabMachine
from rehearsal.lab.software import WORKLOAD_IMAGE

GPU: Final = "nvidia.com/gpu"
_NOT_READY: Final = "node.kubernetes.io/not-ready"
PATIENCE_SECONDS: Final = 300.0
"""Seconds after which a state that does not come is a failure. A node counts as lost 40 s after its last sign."""

_TRACES: Final[Mapping[str, str]] = yaml.safe_load(
    Path(__file__).parent.joinpath("files", "traces.yaml").read_text(encoding="utf-8")
)


class NotSeen(Exception):
    """A state that was waited for did not come; the message says what was there instead."""


def wait(condition: Callable[[], str], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once ``condition`` returns an empty string; else what it says is missing becomes a NotSeen."""
    deadline, missing = time.monotonic() + seconds, "nothing was looked at"
    while time.monotonic() < deadline:
        try:
            missing = condition()
        except (ApiError, UnreachableError) as error:
            missing = str(error)
        if not missing:
            return
        time.sleep(1)
    raise NotSeen(missing)


@dataclass(frozen=True)
class ClusterView:
    """The cluster as its administrator sees it."""

    api: Api

    def nodes(self) -> dict[str, Object]:
        """Node name → node."""
        return {node["metadata"]["name"]: node for node in self.api.list("/api/v1/nodes")}

    def cordoned(self) -> list[str]:
        """Names of the nodes that take no pods."""
        return [name for name, node in self.nodes().items() if node["spec"].get("unschedulable")]

    def not_ready(self, names: Sequence[str], gpus: Mapping[str, int]) -> str:
        """What is missing until exactly these nodes are ready with their GPUs; empty if nothing is."""
        nodes = self.nodes()
        if sorted(nodes) != sorted(names):
            return f"the nodes are {', '.join(sorted(nodes)) or 'none'}"
        for name, node in sorted(nodes.items()):
            # The node controller removes its taint a moment after kubelet reports the node as ready.
            if not condition(node, "Ready") or _NOT_READY in {each["key"] for each in node["spec"].get("taints") or ()}:
                return f"{name} is not ready"
            offered = int(node["status"]["allocatable"].get(GPU, 0))
            if offered != gpus.get(name, 0):
                return f"{name} offers {offered} of {gpus.get(name, 0)} GPUs"
        return ""

    def pods(self, label: str, namespace: str = "default") -> list[Object]:
        """Pods with a label, ``key=value``."""
        return self.api.list(f"/api/v1/namespaces/{namespace}/pods", labelSelector=label)

    def system_pods_waiting(self) -> str:
        """System pods that do not run; empty if all do."""
        waiting = [
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']} {pod['status']['phase']}{_why(pod)}"
            for pod in self.api.list("/api/v1/pods")
            if pod["metadata"]["namespace"] != "default" and pod["status"]["phase"] not in ("Running", "Succeeded")
        ]
        return ", ".join(waiting)

    def join_tokens(self) -> list[str]:
        """Names of the secrets by which machines join: tokens, and the certificates of control planes."""
        secrets = self.api.list("/api/v1/namespaces/kube-system/secrets")
        types = {each["metadata"]["name"]: each["type"] for each in secrets}
        return [name for name in types if name == "kubeadm-certs" or types[name] == "bootstrap.kubernetes.io/token"]


def _why(pod: Mapping[str, Any]) -> str:
    for status in (*pod["status"].get("initContainerStatuses", ()), *pod["status"].get("containerStatuses", ())):
        waiting = status.get("state", {}).get("waiting")
        if waiting:
            return f" ({waiting.get('reason')})"
    return ""


def traces(machine: LabMachine) -> dict[str, str]:
    """What the machine has of everything that the program might leave behind."""
    return {what: machine.run(["sh", "-c", command]) for what, command in _TRACES.items()}


def left_behind(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """How a machine differs from before, in words."""
    differences = []
    for what, text in before.items():
        missing = sorted(set(text.splitlines()) - set(after[what].splitlines()))
        new = sorted(set(after[what].splitlines()) - set(text.splitlines()))
        if missing or new:
            differences.append(
                f"{what}: {', '.join([*(f'+{line}' for line in new[:5]), *(f'-{line}' for line in missing[:5])])}"
            )
    return differences


def logins(machine: LabMachine) -> int:
    """How often somebody has logged in by SSH since its last start."""
    journal = machine.run(["journalctl", "-b", "-q", "-o", "cat", "-u", "ssh.service"], check=False)
    return len(re.findall(r"^Accepted publickey", journal, re.MULTILINE))


def versions(lab: Lab, node: Mapping[str, Any], machine: str) -> str:
    """What of a node is real, in one line."""
    info = node["status"]["nodeInfo"]
    runc = lab.machine(machine).run(["runc", "--version"], check=False).split("\n")[0]
    return (
        f"kubelet {info['kubeletVersion']}, {info['containerRuntimeVersion']}, {runc}, {info['osImage']}, "
        f"Linux {info['kernelVersion']}"
    )


_CONTAINER: Final = {"name": "gpu", "image": WORKLOAD_IMAGE, "imagePullPolicy": "Never", "command": ["gpu-job"]}


def job_manifest(name: str, pods: int, tolerations: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
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
    """A pod on ``node`` that asks for all GPUs as the images of CUDA do, and has no limit of them.

    Only administrators may name a pod's node, outside of the users' namespaces.
    """
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


def opened(user: Api, pod: str, namespace: str = "default") -> list[str]:
    """The GPUs that a pod of the job could open, as it printed them."""
    # A pod that can open none says so on its error output, which may come first.
    lines = user.text(f"/api/v1/namespaces/{namespace}/pods/{pod}/log").splitlines()
    return json.loads(next(line for line in lines if line.startswith("{")))["opened"]


END_JOB: Final = 'for each in $(pgrep -f "[-]e /lab-go"); do touch "/proc/$each/root/lab-go"; done'
"""Users' pods mount nothing of their machine, so the file is made in the container, from outside."""


def job_until_told(node: str, tolerations: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    """A Job of one GPU pod on ``node``, which ends when its container has a file ``/lab-go`` (``END_JOB``)."""
    manifest = job_manifest("train", 1, tolerations)
    spec = manifest["spec"]["template"]["spec"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    spec["containers"][0]["command"] = ["sh", "-c", "until [ -e /lab-go ]; do sleep 1; done"]
    return manifest


def job_state(cluster: ClusterView, phase: str = "") -> str:
    """The phases of the job's pods; empty if that is ``phase``."""
    phases = " ".join(pod["status"]["phase"] for pod in cluster.pods("job-name=train")) or "none"
    return "" if phases == phase else phases
