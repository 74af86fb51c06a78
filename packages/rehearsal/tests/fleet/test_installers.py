"""GPUs come only from a pod that would really install the driver, or run the device plugin as configured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import installer_pod, plugin_pod
from rehearsal.cluster.api import Object
from rehearsal.fleet.gpu_software import (
    PluginError,
    installer_problem,
    is_plugin,
    partitioner_problem,
    plugin_problem,
    replicas,
)
from tests.tables import cases


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
