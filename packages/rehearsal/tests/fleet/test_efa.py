"""EFA devices: counted from the template, planned from the tags, offered once AWS's plugin runs on the node."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from components.clouds.eks.fabric import device_plugin
from components.driver_daemon_set import daemon_set
from facts.concepts.pool import Fabric
from packages.rehearsal.tests.providers.eks.autoscaling import declared
from rehearsal.fleet import machine_nodes
from rehearsal.fleet.drivers import Drivers
from rehearsal.fleet.gpu_software import runs_efa_plugin
from rehearsal.fleet.machine_types import capacity
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import observed_group
from rehearsal.providers.eks.resources.groups import efa_devices
from rehearsal.simulation import Node
from tests.components import eks_specs

EFA = "vpc.amazonaws.com/efa"
INTERFACES = [{"InterfaceType": "interface"}, *[{"InterfaceType": "efa-only"}] * 32]
POOL = replace(eks_specs.gpu_pool("h100-8"), fabric=Fabric(devices=32, resource=EFA))


def plugin() -> dict[str, Any]:
    (daemon,) = device_plugin([POOL])
    return daemon_set(daemon)


def test_a_template_has_a_device_for_each_interface_with_efa() -> None:
    assert efa_devices({"NetworkInterfaces": INTERFACES}) == 32
    assert efa_devices({"NetworkInterfaces": INTERFACES[:1]}) == efa_devices({}) == 0


@pytest.mark.parametrize(("tags", "planned"), [({f"resources/{EFA}": "32"}, 32), ({}, 0)])
def test_the_autoscaler_plans_with_the_devices_that_a_tag_promises(tags: dict[str, str], planned: int) -> None:
    group = declared()
    machine = replace(group.base.machine, efa=32)
    tagged = {f"k8s.io/cluster-autoscaler/node-template/{key}": value for key, value in tags.items()}
    group = replace(group, base=replace(group.base, machine=machine, efa=32), asg_tags={**group.asg_tags, **tagged})
    observed = observed_group(group, described=False)
    assert (observed.machine.efa, observed.efa) == (planned, 32)
    assert capacity(observed.machine).resources().get(EFA) == (str(planned) if planned else None)
    annotations = NodeTemplate(observed, ClusterFacts("gpu-dev", "us-west-2", "1.35.0")).annotations
    assert json.loads(annotations["rehearsal.gpucluster.dev/allocatable"])[EFA] == "0", "until the plugin runs"
    assert annotations["rehearsal.gpucluster.dev/efa"] == "32"


def test_a_machine_that_joins_by_itself_has_its_devices() -> None:
    node = Node("n", "gpu-dev", "aws:///n", {}, (), {"cpu": "1"}, {"cpu": "1"}, "v1.35.0", "Linux", efa=8)
    made = machine_nodes.manifest(node)
    assert made["status"]["allocatable"] == {"cpu": "1", EFA: "0"}
    assert made["metadata"]["annotations"]["rehearsal.gpucluster.dev/efa"] == "8"


@pytest.mark.parametrize(
    ("change", "runs"),
    [({}, True), ({"volumes": []}, False), ({"containers": [{"image": "busybox", "volumeMounts": []}]}, False)],
)
def test_only_the_programs_plugin_offers_them(change: dict[str, Any], runs: bool) -> None:
    assert runs_efa_plugin({**plugin()["spec"]["template"]["spec"], **change}) is runs


class FakeApi:
    """A node that waits for its devices, with or without a Ready pod of the plugin."""

    def __init__(self, *, ready: bool) -> None:
        self.ready = ready
        self.merged: list[Any] = []

    def list(self, path: str, **_: Any) -> list[dict[str, Any]]:
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        if path.endswith("nodes"):
            annotations = {"rehearsal.gpucluster.dev/efa-plugin": "missing"}
            return [{"metadata": {"name": "n", "annotations": annotations}, "spec": {}, "status": status}]
        if path.endswith("daemonsets"):
            return [plugin()]
        pod = {"metadata": {"creationTimestamp": "now"}, "spec": {"nodeName": "n"}, "status": status}
        return [pod] if self.ready else []

    def merge(self, path: str, body: Any) -> None:
        self.merged.append((path, body))


@pytest.mark.parametrize("ready", [True, False])
def test_a_node_offers_them_once_the_plugin_is_ready_there(ready: bool) -> None:
    api: Any = FakeApi(ready=ready)
    Drivers(api, lambda _: None).look()
    annotations = {"metadata": {"annotations": {"rehearsal.gpucluster.dev/efa-plugin": "ready"}}}
    assert api.merged == ([("/api/v1/nodes/n", annotations)] if ready else [])
