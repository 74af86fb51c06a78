"""The driver installer: one DaemonSet per image and version, only where it is needed, past every taint of its pools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from components.clouds.gke.drivers import driver_pod
from components.cluster import Cluster, ClusterArgs
from components.driver_daemon_set import DriverDaemonSet, DriverDaemonSetArgs
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from tests import recorder
from tests.components import specs

DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
SPOT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")


def declared(*pools: Pool) -> dict[str, dict[str, Any]]:
    """Name of each DaemonSet to its pod spec."""
    recording = recorder.run(lambda: _declare(pools))
    return {
        daemon.inputs["metadata"]["name"]: daemon.inputs["spec"]["template"]["spec"]
        for daemon in recording.of_type(DAEMON_SET)
    }


def _declare(pools: Sequence[Pool]) -> None:
    cluster = Cluster("cluster", ClusterArgs(settings=specs.cluster_settings()))
    DriverDaemonSet("drivers", DriverDaemonSetArgs(cluster=cluster, pools=pools))


def pools_of(pod: dict[str, Any]) -> list[str]:
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    ((expression,),) = [term["matchExpressions"] for term in terms]
    assert (expression["key"], expression["operator"]) == ("gpucluster.dev/pool", "In")
    values: list[str] = expression["values"]
    return values


def test_there_is_none_when_the_cloud_installs_every_driver() -> None:
    assert declared(specs.gpu_pool(drivers="managed")) == {}


def test_it_serves_only_the_pools_that_need_it() -> None:
    pods = declared(specs.gpu_pool("managed-1"), specs.gpu_pool("own-1", drivers="daemonset"))
    assert [pools_of(pod) for pod in pods.values()] == [["own-1"]]


def test_each_image_and_version_has_its_own() -> None:
    pods = declared(
        specs.gpu_pool("a-1", drivers="daemonset"),
        specs.gpu_pool("b-1", drivers="daemonset", driver_version="latest"),
        specs.gpu_pool("c-1", drivers="daemonset", image="ubuntu"),
        specs.gpu_pool("d-1", drivers="daemonset"),
    )
    assert {name: pools_of(pod) for name, pod in pods.items()} == {
        "nvidia-driver-installer-cos-default": ["a-1", "d-1"],
        "nvidia-driver-installer-cos-latest": ["b-1"],
        "nvidia-driver-installer-ubuntu-default": ["c-1"],
    }


def test_it_tolerates_each_taint_of_its_pools_once_and_nothing_else() -> None:
    (pod,) = declared(
        specs.gpu_pool("a-1", drivers="daemonset", extra_taints=(SPOT,)),
        specs.gpu_pool("a-4", size=4, drivers="daemonset", extra_taints=(SPOT,)),
        specs.gpu_pool("m-8", size=8),
    ).values()
    assert [(toleration["key"], toleration["value"]) for toleration in pod["tolerations"]] == [
        ("nvidia.com/gpu", "present"),
        ("cloud.google.com/gke-spot", "true"),
        ("gpucluster.dev/gpus-per-node", "4"),
    ]
    assert {toleration["operator"] for toleration in pod["tolerations"]} == {"Equal"}


def test_it_starts_before_anything_can_push_it_off_the_node() -> None:
    (pod,) = declared(specs.gpu_pool(drivers="daemonset")).values()
    assert pod["priorityClassName"] == "system-node-critical"


@pytest.mark.parametrize("image", ["cos", "ubuntu"])
def test_every_mount_has_its_host_directory(image: Any) -> None:
    pod = driver_pod(image, "default")
    (installer,) = pod["initContainers"]
    assert {mount["name"] for mount in installer["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert installer["imagePullPolicy"] == "Never"


def test_the_installer_of_cos_knows_each_path_on_both_sides() -> None:
    pod = driver_pod("cos", "default")
    (installer,) = pod["initContainers"]
    hosts = {volume["hostPath"]["path"] for volume in pod["volumes"]}
    paths = {mount["mountPath"] for mount in installer["volumeMounts"]}
    for variable in installer["env"]:
        assert variable["value"] in (hosts if variable["name"].endswith("_HOST") else paths)


def test_ubuntu_has_no_latest_driver() -> None:
    with pytest.raises(ValueError, match=r"driverVersion: .*write 'default'"):
        driver_pod("ubuntu", "latest")


@pytest.mark.parametrize(
    ("version", "installs"), [("default", "install &&"), ("latest", "install --version=latest &&")]
)
def test_a_driver_of_cos_is_installed_once_and_for_everybody(version: Any, installs: str) -> None:
    (installer,) = driver_pod("cos", version)["initContainers"]
    *shell, script = installer["command"]
    assert shell == ["bash", "-c"]
    there, install, open_to_all = (script.index(word) for word in ("lsmod", installs, "chmod 755"))
    assert there < install < open_to_all
