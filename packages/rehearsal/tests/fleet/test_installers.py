"""GPUs come only from a pod that would really install the driver, or run the device plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import installer_pod, plugin_pod
from rehearsal.cluster.api import Object
from rehearsal.fleet.gpu_software import installer_problem, is_plugin, plugin_problem

Change = Callable[[Any], object]


def changed(pod: Object, change: Change) -> Object:
    change(pod)
    return pod


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda pod: pod["containers"][0].update(image="busybox:1.37"), "no image that installs a driver (busybox"),
        (lambda pod: pod["containers"][0].pop("securityContext"), "not privileged"),
        (lambda pod: pod["containers"][0].pop("volumeMounts"), "mounts no directory of the node"),
        (lambda pod: pod["volumes"][0].update(hostPath=None, emptyDir={}), "mounts no directory of the node"),
        (lambda pod: pod["containers"][0]["volumeMounts"][0].update(readOnly=True), "mounts no directory of the node"),
    ],
)
def test_an_installer_that_could_not_install_says_why(change: Change, problem: str) -> None:
    assert installer_problem(installer_pod()) is None
    assert problem in str(installer_problem(changed(installer_pod(), change)))


@pytest.mark.parametrize(
    "image", ["gke-nvidia-installer:fixed", "cos-nvidia-installer:fixed", "nvcr.io/nvidia/driver:570-ubuntu22.04"]
)
def test_the_installers_that_there_are_count_wherever_they_stand_in_the_pod(image: str) -> None:
    pod = installer_pod()
    pod["containers"][0]["image"] = image
    pod["initContainers"] = pod.pop("containers")
    pod["containers"] = [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}]
    assert installer_problem(pod) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda pod: pod["containers"][0].update(image="busybox:1.37"), "no image of NVIDIA's device plugin (busybox"),
        (lambda pod: pod["volumes"][0]["hostPath"].update(path="/var/lib/kubelet/pods"), "does not mount"),
        (lambda pod: pod["volumes"][0]["hostPath"].update(path="/var/lib/kubelet/"), None),
        (lambda pod: pod["containers"][0].pop("volumeMounts"), "does not mount"),
    ],
)
def test_a_device_plugin_must_reach_the_kubelet(change: Change, problem: str | None) -> None:
    assert plugin_problem(plugin_pod(None)) is None
    actual = plugin_problem(changed(plugin_pod(None), change))
    assert actual is None if problem is None else problem in str(actual)


@pytest.mark.parametrize(
    ("image", "recognised"),
    [
        ("nvidia/k8s-device-plugin:1.11", True),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.18.2", True),
        ("registry.example.com:5000/k8s-device-plugin@sha256:0123", True),
        ("registry.example.com/nvidia-device-plugin:v1", True),
        ("nvcr.io/nvidia/k8s-device-plugin-test:v1", False),
        ("registry.k8s.io/pause:3.10", False),
    ],
)
def test_the_plugin_is_known_by_its_image(image: str, recognised: bool) -> None:
    assert is_plugin(image) is recognised
