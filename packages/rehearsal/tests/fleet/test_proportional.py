"""System Deployments that have more replicas in a larger cluster, as their autoscalers' ConfigMaps say."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.proportional import Proportional, replicas, targets
from rehearsal.providers.gke.system import system_objects


class Recorded(Api):
    """An API server with GKE's ConfigMaps, which records the replicas of each Deployment."""

    def __init__(self) -> None:
        self.replicas: dict[str, int] = {}

    def get(self, path: str, **query: str) -> Object:
        name = path.rpartition("/")[2]
        return next(each for each in system_objects({}) if each["kind"] == "ConfigMap" and named(each, name))

    def merge(self, path: str, body: Object) -> Object:
        self.replicas[path.rpartition("/")[2]] = body["spec"]["replicas"]
        return {}


def named(each: Object, name: str) -> bool:
    return bool(each["metadata"]["name"] == name)


def node(name: str, cpu: str = "2") -> Any:
    return {"metadata": {"name": name}, "status": {"capacity": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("nodes", "cores", "dns", "konnectivity"),
    [(1, 2, 1, 1), (2, 6, 2, 2), (9, 70, 2, 6), (10, 70, 2, 8), (33, 200, 3, 8), (5, 600, 3, 5), (100, 400, 7, 12)],
)
def test_replicas_go_by_nodes_and_by_cores(nodes: int, cores: int, dns: int, konnectivity: int) -> None:
    data = {each["metadata"]["name"]: each["data"] for each in system_objects({}) if each["kind"] == "ConfigMap"}
    assert replicas(data["kube-dns-autoscaler"], nodes, cores) == dns
    assert replicas(data["konnectivity-agent-autoscaler-config"], nodes, cores) == konnectivity


def test_each_node_that_comes_or_goes_counts_and_the_first_ones_count_together() -> None:
    api = Recorded()
    watch = Proportional(api, list(targets(system_objects({}))))
    watch.listed([node("admin")])
    assert api.replicas == {"kube-dns": 1, "konnectivity-agent": 1}
    watch.notice("ADDED", node("gpu", cpu="600"))
    assert api.replicas == {"kube-dns": 3, "konnectivity-agent": 2}
    api.replicas.clear()
    watch.notice("MODIFIED", node("gpu", cpu="600"))
    assert not api.replicas, "a heartbeat is no change"
    watch.notice("DELETED", node("gpu", cpu="600"))
    assert api.replicas == {"kube-dns": 1, "konnectivity-agent": 1}


def test_an_autoscaler_without_flags_scales_nothing() -> None:
    objects = [each for each in system_objects({}) if each["kind"] == "Deployment"]
    assert [each.deployment.rpartition("/")[2] for each in targets(objects)] == ["kube-dns", "konnectivity-agent"]
    for each in objects:
        each["spec"]["template"]["spec"]["containers"][0].pop("args", None)
    assert not list(targets(objects))
