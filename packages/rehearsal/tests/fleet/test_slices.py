"""A group whose nodes start and end together."""

from __future__ import annotations

import time
from typing import Any

import pytest
from typing_extensions import override

from packages.rehearsal.tests.simulated_cluster import CLUSTER, gpu_group
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.fleet.slices import SliceWatcher

TEMPLATE = NodeTemplate(gpu_group("slice", atomic=True, max_nodes=4), ClusterFacts(CLUSTER, "us-east5", "1.34.4"))
POOL = {
    "metadata": {"name": "slice", "uid": "u"},
    "spec": {"template": {"metadata": {"labels": {}, "annotations": {}}}},
}
POOL["spec"]["template"]["spec"] = {"requirements": []}


class Claims(Api):
    """An API server that has NodeClaims, each with its node, and the pods on them."""

    def __init__(self) -> None:
        super().__init__(Kubeconfig({"server": "https://nowhere"}, {"token": "t"}))
        self.claims: list[Object] = []
        self.pods: list[Object] = []
        self.cordoned = False
        self.without_devices: set[str] = set()

    def has(self, count: int) -> None:
        first = len(self.claims)
        self.claims += [{"metadata": {"name": f"node-{number}"}} for number in range(first, first + count)]

    @override
    def find(self, path: str, **query: str) -> Object | None:
        return {"items": [POOL] if "nodepools" in path else [*self.claims]}

    @override
    def list(self, path: str, **query: str) -> list[Object]:
        if path.endswith("pods"):
            return self.pods
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {}}
        spec = {"unschedulable": True} if self.cordoned else {}
        return [
            {"metadata": {"name": name, "labels": self._labels(name)}, "spec": spec, "status": ready}
            for name in (each["metadata"]["name"] for each in self.claims)
        ]

    def _labels(self, name: str) -> dict[str, str]:
        return {} if name in self.without_devices else {"karpenter.sh/initialized": "true"}

    @override
    def create(self, path: str, body: Object, **query: Any) -> Object:
        self.has(1)
        return body

    @override
    def delete(self, path: str, **query: str) -> None:
        self.claims = [each for each in self.claims if each["metadata"]["name"] != path.rpartition("/")[2]]


@pytest.fixture
def api() -> Claims:
    return Claims()


@pytest.mark.parametrize("out_of_service", [False, True])
def test_one_node_becomes_the_whole_slice_and_all_end_when_no_pod_is_left(
    out_of_service: bool, api: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher, clock = SliceWatcher(api, lambda: [TEMPLATE]), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    api.pods = [{"metadata": {"name": "p"}, "spec": {"nodeName": "node-0", "containers": []}, "status": {}}]
    api.has(1)
    for _ in range(3):
        watcher.look()
        clock[0] += 11
    assert len(api.claims) == 4
    api.pods, api.cordoned = [], out_of_service
    watcher.look()
    clock[0] += 11
    watcher.look()
    assert not api.claims


def test_the_end_of_one_node_is_the_end_of_all(api: Claims) -> None:
    watcher = SliceWatcher(api, lambda: [TEMPLATE])
    api.has(4)
    watcher.look()
    api.delete("/node-2")
    watcher.look()
    assert not api.claims


def test_a_slice_whose_pod_waits_for_the_devices_of_its_node_is_not_idle(
    api: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher, clock = SliceWatcher(api, lambda: [TEMPLATE]), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    api.has(4)
    api.without_devices = {"node-3"}
    for _ in range(3):
        watcher.look()
        clock[0] += 11
    assert len(api.claims) == 4
    api.without_devices = set()
    watcher.look()
    clock[0] += 9
    watcher.look()
    assert len(api.claims) == 4
    clock[0] += 2
    watcher.look()
    assert not api.claims
