"""Programs on nodes whose GPUs MPS shares: which find a GPU."""

from __future__ import annotations

from typing import Any, cast

import pytest

from components.outputs import gpu_job
from facts.concepts.parts import SharedGpu
from rehearsal.cluster.api import Api, Object
from rehearsal.workloads.mps import MpsClients
from tests.components import specs

GPU = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
SHM = [{"name": "shm", "mountPath": "/dev/shm/"}]
JOB = gpu_job(specs.gpu_pool(mps=SharedGpu(clients_per_gpu=4)), "managed")["spec"]["template"]["spec"]


class Node:
    """An API with a node of one label, which records events and failures."""

    def __init__(self, strategy: str) -> None:
        self.labels = {"cloud.google.com/gke-gpu-sharing-strategy": strategy}
        self.events: list[str] = []
        self.failed = self.asked = 0

    def find(self, path: str) -> Object:
        assert path == "/api/v1/nodes/n"
        self.asked += 1
        return {"metadata": {"labels": self.labels}}

    def create(self, _: str, event: Object) -> None:
        self.events.append(event["message"])

    def merge(self, _: str, change: Object) -> None:
        self.failed += change == {"status": {"phase": "Failed"}}


@pytest.mark.parametrize(
    ("strategy", "spec", "words"),
    [
        ("mps", {"containers": [GPU]}, "lacks hostIPC: true"),
        ("mps", {"containers": [{**GPU, "volumeMounts": SHM}], "hostIPC": True}, "a volume at /dev/shm"),
        ("mps", JOB, None),
        ("mps", {"containers": [{"name": "no-gpu"}]}, None),
        ("time-sharing", {"containers": [GPU]}, None),
    ],
)
def test_a_program_that_does_not_meet_the_server_fails_once(
    strategy: str, spec: dict[str, Any], words: str | None
) -> None:
    node = Node(strategy)
    clients = MpsClients(cast(Api, node))
    for phase in ("Pending", "Running", "Running"):
        clients.note(pod("p", spec, phase))
    assert node.failed == len(node.events) == (words is not None)
    assert (words or "") in "".join(node.events)


def test_a_node_is_looked_at_once_however_many_pods_run_there() -> None:
    node = Node("time-sharing")
    clients = MpsClients(cast(Api, node))
    for name in ("a", "b", "c"):
        clients.note(pod(name, {"containers": [GPU]}, "Running"))
    assert node.asked == 1


def pod(name: str, spec: dict[str, Any], phase: str) -> Object:
    about = {"name": name, "uid": name, "namespace": "default"}
    return {"kind": "Pod", "metadata": about, "spec": {**spec, "nodeName": "n"}, "status": {"phase": phase}}
