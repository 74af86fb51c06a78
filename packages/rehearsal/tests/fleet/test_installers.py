"""GPUs come only from a pod that would really install the driver or run the device plugin; so do EFA devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.clouds.aks import cloud as aks
from components.clouds.eks import neuron
from components.clouds.eks.fabric import device_plugin
from components.driver_daemon_set import daemon_set
from facts.concepts.parts import Fabric
from packages.rehearsal.tests.providers.eks.autoscaling import declared
from packages.rehearsal.tests.simulated_cluster import daemon_set as daemon
from packages.rehearsal.tests.simulated_cluster import installer_pod, plugin_pod
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Object
from rehearsal.fleet import machine_nodes
from rehearsal.fleet.drivers import Drivers
from rehearsal.fleet.gpu_software import (
    PluginError,
    amd_problem,
    installer_problem,
    is_plugin,
    neuron_problem,
    partitioner_problem,
    plugin_problem,
    replicas,
    runs_efa_plugin,
)
from rehearsal.fleet.machine_types import capacity
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import observed_group
from rehearsal.providers.eks.nodes import efa_devices
from rehearsal.simulation import Node
from tests.components import eks_specs, specs


def changed(pod: Object, path: str, value: Any) -> Object:
    place: Any = pod
    *parents, last = path.split()
    for step in parents:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value
    return pod


@cases
def test_an_installer_that_could_not_install_says_why(path: str, value: Any, problem: str) -> None:
    assert installer_problem(installer_pod()) is None
    assert problem in str(installer_problem(changed(installer_pod(), path, value)))


@pytest.mark.parametrize(
    "image", ["gke-nvidia-installer:fixed", "cos-nvidia-installer:fixed", "nvcr.io/nvidia/driver:570-ubuntu22.04"]
)
def test_the_installers_that_there_are_count_wherever_they_stand_in_the_pod(image: str) -> None:
    pod = installer_pod()
    pod["containers"][0]["image"] = image
    pod["initContainers"] = pod.pop("containers")
    pod["containers"] = [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}]
    assert installer_problem(pod) is None


def test_partitions_need_a_container_that_makes_them() -> None:
    pod = installer_pod()
    assert "partitions no GPU" in str(partitioner_problem(pod))
    pod["initContainers"] = [{"name": "partition-gpus", "image": "gcr.io/gke-release/nvidia-partition-gpu:1.0.32"}]
    assert partitioner_problem(pod) is None
    pod["containers"] = pod.pop("initContainers")
    assert "no image that installs" in str(partitioner_problem(pod))


@cases
def test_a_device_plugin_must_reach_the_kubelet(path: str, value: Any, problem: str | None) -> None:
    assert plugin_problem(plugin_pod(None)) is None
    actual = plugin_problem(changed(plugin_pod(None), path, value))
    assert actual is None if problem is None else problem in str(actual)


@cases
def test_the_plugin_is_known_by_its_image(image: str, recognised: bool) -> None:
    assert is_plugin(image) is recognised


def slicing(count: object, **fields: Any) -> str:
    resource = {"name": "nvidia.com/gpu", "replicas": count}
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": [resource], **fields}}})


def offered(pod: Mapping[str, Any], content: str, key: str = "config.yaml") -> int:
    return replicas(pod, lambda name: {"data": {key: content}} if name == "plugin" else None)


@cases
def test_replicas_of_a_configuration(content: str, count: int) -> None:
    assert offered(plugin_pod("plugin"), content) == count


def test_without_a_configuration_a_gpu_is_a_gpu() -> None:
    assert offered(plugin_pod(None), slicing(4)) == 1


@cases
def test_ways_to_name_the_file(container: dict[str, Any]) -> None:
    pod = plugin_pod("plugin")
    pod["containers"][0].update(container)
    assert offered(pod, slicing(4)) == 4


def test_a_file_may_be_mounted_under_another_name() -> None:
    pod = plugin_pod("plugin")
    pod["volumes"][-1]["configMap"]["items"] = [{"key": "shared", "path": "config.yaml"}]
    assert offered(pod, slicing(4), key="shared") == 4


@cases
def test_a_plugin_that_would_offer_no_gpu_says_why(config_map: str, content: str, reason: str) -> None:
    with pytest.raises(PluginError) as raised:
        offered(plugin_pod(config_map), content)
    assert reason in str(raised.value)


def test_a_file_that_is_not_mounted_is_reported() -> None:
    with pytest.raises(PluginError, match=r"reads /config/config\.yaml, but no mounted ConfigMap has this file"):
        offered(plugin_pod("plugin"), slicing(4), key="other.yaml")


EFA = "vpc.amazonaws.com/efa"
INTERFACES = [{"InterfaceType": "interface"}, *[{"InterfaceType": "efa-only"}] * 32]
POOL = specs.changed(eks_specs.gpu_pool("h100-8"), fabric=Fabric(devices=32, resource=EFA))


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


class Gpus:
    """A node with two GPUs that waits for driver and device plugin, and the DaemonSets whose pods are Ready on it."""

    def __init__(self, *daemon_sets: Object) -> None:
        self.daemon_sets = daemon_sets
        self.annotations = {
            "rehearsal.gpucluster.dev/driver": "missing",
            "rehearsal.gpucluster.dev/gpus": "2",
            "rehearsal.gpucluster.dev/gpus-advertised-by": "installer-and-plugin",
        }
        self.events: list[Object] = []

    def list(self, path: str, **query: Any) -> list[Object]:
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        if path.endswith("nodes"):
            metadata = {"name": "n", "uid": "n", "labels": {}, "annotations": self.annotations}
            return [{"metadata": metadata, "spec": {}, "status": status}]
        if path.endswith("daemonsets"):
            return [*self.daemon_sets]
        mine = (each for each in self.daemon_sets if query["labelSelector"] == f"k8s-app={each['metadata']['name']}")
        pods = ({**each["spec"]["template"]["spec"], "nodeName": "n"} for each in mine)
        metadata = {"creationTimestamp": "now", "name": "pod", "namespace": "kube-system"}
        return [{"metadata": metadata, "spec": spec, "status": status} for spec in pods]

    def merge(self, path: str, body: Any) -> None:
        self.annotations |= body["metadata"]["annotations"]

    def create(self, path: str, body: Object) -> None:
        self.events.append(body)


INSTALLER = daemon("installer", **installer_pod())
NVIDIA_PLUGIN = daemon("plugin", **plugin_pod(None))


@pytest.mark.parametrize(
    ("daemon_sets", "reason"),
    [
        ((INSTALLER,), "DevicePluginMissing"),
        ((NVIDIA_PLUGIN,), "DriverMissing"),
        ((INSTALLER, NVIDIA_PLUGIN), ""),
    ],
)
def test_a_node_whose_cloud_installs_neither_needs_both_driver_and_plugin(
    daemon_sets: tuple[Object, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api: Any = Gpus(*daemon_sets)
    drivers = Drivers(api, lambda _: None)
    for seconds in (0.0, 10.0):
        monkeypatch.setattr("rehearsal.fleet.drivers.time.monotonic", lambda seconds=seconds: seconds)
        drivers.look()
    assert api.annotations["rehearsal.gpucluster.dev/driver"] == ("missing" if reason else "ready")
    assert {each["reason"] for each in api.events} == ({reason} if reason else set())


NEURON = "aws.amazon.com/neuron"
LABEL = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}


class Expected:
    """Nodes of a group that wait for what no DaemonSet gives them, and what their NodeClaims offer."""

    def __init__(self, count: int, labels: Mapping[str, str]) -> None:
        annotations = {"rehearsal.gpucluster.dev/driver": "missing", "rehearsal.gpucluster.dev/gpus": "1"}
        annotations["rehearsal.gpucluster.dev/gpus-advertised-by"] = "daemonset"
        labels = {"rehearsal.gpucluster.dev/group": "t4", **labels}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        names = [f"n{number}" for number in range(count)]
        self.nodes = [
            {"metadata": {"name": name, "uid": name, "labels": labels, "annotations": annotations}, "spec": {}}
            | {"status": status}
            for name in names
        ]
        self.offers = {name: {"cpu": "4", "nvidia.com/gpu": "1", NEURON: "1"} for name in names}
        self.noted = True

    def list(self, path: str, **query: Any) -> list[Object]:
        return self.nodes if path.endswith("nodes") else []

    def find(self, path: str, **query: Any) -> Object:
        assert (path, query) == (
            "/apis/karpenter.sh/v1/nodeclaims",
            {"labelSelector": "rehearsal.gpucluster.dev/group=t4"},
        )
        return {
            "items": [
                {"metadata": {"name": f"claim-{name}"}, "status": {**noted, "allocatable": offer}}
                for name, offer in self.offers.items()
                for noted in [{"nodeName": name} if self.noted else {}]
            ]
        }

    def merge_if_there(self, path: str, body: Any) -> None:
        name = path.removeprefix("/apis/karpenter.sh/v1/nodeclaims/claim-").removesuffix("/status")
        self.offers[name] = {
            key: value for key, value in self.offers[name].items() if key not in body["status"]["allocatable"]
        }

    def create(self, path: str, body: Object) -> None:
        """An event."""


@pytest.mark.parametrize(
    ("labels", "seconds", "without"),
    [({}, 0, 5), (LABEL, 14, 0), (LABEL, 16, 3), ({"accelerator": "nvidia"}, 16, 3)],
)
def test_what_an_autoscaler_expects_of_nodes_without_gpus(
    labels: Mapping[str, str], seconds: int, without: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a node without its cloud's label for one without GPUs, and awaits another for 15 minutes; four that are
    not ready end its attempts. AWS's chips have no label, and are awaited."""
    api: Any = Expected(5, labels)
    drivers = Drivers(api, lambda _: None)
    for now in (0.0, float(seconds), float(seconds)):
        monkeypatch.setattr("rehearsal.fleet.drivers.time.monotonic", lambda now=now: now)
        drivers.look()
    assert sum("nvidia.com/gpu" not in offer for offer in api.offers.values()) == without
    assert all(offer["cpu"] == "4" and offer[NEURON] == "1" for offer in api.offers.values())


def test_a_node_that_its_claim_does_not_name_yet_is_expected_without_gpus_a_moment_later() -> None:
    """Karpenter takes its taint off a node before it notes in the claim which node that is."""
    api: Any = Expected(1, {})
    drivers = Drivers(api, lambda _: None)
    for api.noted in (False, True):
        drivers.look()
    assert api.offers == {"n0": {"cpu": "4", NEURON: "1"}}


def test_only_aws_s_plugin_offers_its_chips() -> None:
    (daemon,) = neuron.device_plugin([eks_specs.gpu_pool("inf2-6", size=6, gpu="aws-inferentia2")])
    pod = daemon_set(daemon)["spec"]["template"]["spec"]
    assert neuron_problem(pod) is None
    assert "where the kubelet waits" in str(neuron_problem({**pod, "volumes": []}))
    assert "no service account" in str(neuron_problem({**pod, "automountServiceAccountToken": False}))
    assert "no image of AWS's" in str(neuron_problem(plugin_pod(None)))


def test_only_amd_s_plugin_behind_the_driver_s_installer_offers_amd_s_gpus() -> None:
    (daemon,) = aks.CLOUD.gpu_daemons([specs.gpu_pool("mi300x-8", size=8, gpu="amd-mi300x")])
    pod = json.loads(json.dumps(daemon_set(daemon)["spec"]["template"]["spec"]))
    assert amd_problem(pod) is None
    assert not is_plugin(pod["containers"][0]["image"])
    assert "where the kubelet waits" in str(amd_problem({**pod, "volumes": []}))
    assert "installs no driver" in str(amd_problem({**pod, "initContainers": []}))
    assert "not privileged" in str(amd_problem({**pod, "hostPID": False}))
    assert "not privileged" in str(amd_problem(changed(pod, "initContainers 0 securityContext", {})))
    assert "no image of AMD's" in str(amd_problem(plugin_pod(None)))


def test_amd_s_plugin_checks_gpus_only_with_a_privilege() -> None:
    (daemon,) = aks.CLOUD.gpu_daemons([specs.gpu_pool("mi300x-8", size=8, gpu="amd-mi300x")])
    pod = json.loads(json.dumps(daemon_set(daemon)["spec"]["template"]["spec"]))
    checked = changed(pod, "containers 0 args", ["-pulse=30"])
    assert "as unhealthy" in str(amd_problem(checked))
    assert amd_problem(changed(checked, "containers 0 securityContext", {"privileged": True})) is None


@pytest.mark.parametrize(("resource", "planned"), [(NEURON, 6), ("nvidia.com/gpu", 0)])
def test_the_autoscaler_knows_of_chips_by_the_tag_of_their_resource_alone(resource: str, planned: int) -> None:
    group = declared()
    machine = replace(group.base.machine, gpus=6, gpu_resource=NEURON)
    tags = {f"k8s.io/cluster-autoscaler/node-template/resources/{resource}": "6"}
    group = replace(group, base=replace(group.base, machine=machine, offered_gpus=None), asg_tags=tags)
    observed = observed_group(group, described=False)
    assert (observed.machine.gpus, observed.gpus) == (planned, 6)
    assert capacity(observed.machine).resources().get(NEURON) == (str(planned) if planned else None)
