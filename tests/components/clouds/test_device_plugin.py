"""NVIDIA's device plugin and exporter: what they offer, where and with which rights; and the driver installer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.clouds.base import GpuDaemon, load_cloud
from components.clouds.device_plugin import device_plugin
from components.clouds.gke.drivers import driver_pod
from components.clouds.gpu_exporter import gpu_exporter
from components.cluster import Cluster, ClusterArgs
from components.driver_daemon_set import DriverDaemonSet, DriverDaemonSetArgs, config_map, daemon_set
from components.settings import from_stack_file
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Image, SharedGpu
from facts.concepts.pool import Pool
from policies.readers.kubernetes.parts import device_plugin as is_device_plugin
from policies.readers.kubernetes.parts import replicated
from tests import recorder
from tests.components import specs
from tests.stacks import ROOT

FOUR = SharedGpu(clients_per_gpu=4)
EIGHT = SharedGpu(clients_per_gpu=8)


def only(**changes: Any) -> GpuDaemon:
    (daemon,) = device_plugin([specs.gpu_pool(**changes)])
    return daemon


def configuration(daemon: GpuDaemon) -> dict[str, Any]:
    """What the plugin reads, found as the container finds it: variable → mount → volume → ConfigMap → key."""
    (container,) = daemon.pod["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    directory, _, key = environment["CONFIG_FILE"].rpartition("/")
    (volume,) = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == directory]
    (source,) = [entry["configMap"]["name"] for entry in daemon.pod["volumes"] if entry["name"] == volume]
    files = config_map(daemon)
    assert source == files["metadata"]["name"]
    read: dict[str, Any] = yaml.safe_load(files["data"][key])
    return read


def test_pools_that_divide_their_gpus_alike_share_a_daemon() -> None:
    shared = [specs.gpu_pool("b-1", time_sharing=FOUR), specs.gpu_pool("d-1", time_sharing=EIGHT)]
    whole = [specs.gpu_pool("a-1"), specs.gpu_pool("c-8", size=8)]
    daemons = device_plugin([*whole, *shared, specs.gpu_pool("e-1", mig="1g")])
    assert {daemon.name: [pool.name for pool in daemon.pools] for daemon in daemons} == {
        "nvidia-device-plugin-whole": ["a-1", "c-8"],
        "nvidia-device-plugin-shared-4": ["b-1"],
        "nvidia-device-plugin-shared-8": ["d-1"],
        "nvidia-device-plugin-mig": ["e-1"],
    }


def test_it_runs_on_its_pools_alone() -> None:
    (daemon,) = device_plugin([specs.gpu_pool("a-1"), specs.gpu_pool("c-8", size=8)])
    assert pools_of(daemon_set(daemon)["spec"]["template"]["spec"]) == ["a-1", "c-8"]


def test_no_pools_no_daemon() -> None:
    assert device_plugin([]) == []


def test_the_gate_recognises_it_as_a_device_plugin() -> None:
    assert is_device_plugin(daemon_set(only())["spec"]["template"]["spec"]) is True


def test_a_shared_gpu_is_offered_as_often_as_the_pool_says_one_share_to_a_pod() -> None:
    shared = configuration(only(time_sharing=FOUR))["sharing"]["timeSlicing"]
    assert shared == {"failRequestsGreaterThanOne": True, "resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}
    assert replicated(config_map(only(time_sharing=FOUR))) == 4


def test_a_whole_gpu_is_offered_once() -> None:
    assert "sharing" not in configuration(only())
    assert replicated(config_map(only())) is None


@pytest.mark.parametrize(("mig", "strategy"), [(None, "none"), ("1g", "single"), ("7g", "single")])
def test_slices_go_by_the_name_of_a_gpu(mig: str | None, strategy: str) -> None:
    assert configuration(only(mig=mig))["flags"]["migStrategy"] == strategy


@pytest.mark.parametrize(("changes", "added"), [({}, []), ({"time_sharing": FOUR}, []), ({"mig": "3g"}, ["SYS_ADMIN"])])
def test_it_has_no_right_that_it_does_not_need(changes: dict[str, Any], added: list[str]) -> None:
    (container,) = only(**changes).pod["containers"]
    context = container["securityContext"]
    assert context["capabilities"]["drop"] == ["ALL"]
    assert context["capabilities"].get("add", []) == added
    assert not context.get("privileged", False)


@pytest.mark.parametrize("daemons", [device_plugin, gpu_exporter])
def test_by_mounts_all_gpus_are_asked_for_as_the_container_toolkit_reads_it(daemons: Any) -> None:
    (daemon,) = daemons([specs.gpu_pool()], by_mounts=True)
    (container,) = daemon.pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    sources = {volume["name"]: volume["hostPath"]["path"] for volume in daemon.pod["volumes"] if "hostPath" in volume}
    null = {mounts[name] for name, path in sources.items() if path == "/dev/null"}
    assert null == {"/var/run/nvidia-container-devices/all"}
    (other,) = daemons([specs.gpu_pool()])
    assert "/dev/null" not in str(other.pod)


def test_by_mounts_a_containers_gpus_are_in_no_variable() -> None:
    (daemon,) = device_plugin([specs.gpu_pool()], by_mounts=True)
    assert configuration(daemon)["flags"]["plugin"] == {"deviceListStrategy": "volume-mounts"}
    assert "plugin" not in configuration(only())["flags"]


CHECKPOINT = '{"Data":{"PodDeviceEntries":%s,"RegisteredDevices":{"nvidia.com/gpu":["GPU-1"]}},"Checksum":1}'
RUNNING = '[{"PodUID":"1","ContainerName":"main","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-1"]}}]'
TOOLKIT = """\
#accept-nvidia-visible-devices-as-volume-mounts = false
#accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false

[nvidia-container-cli]
load-kmods = true
"""
BY_MOUNTS = """\
accept-nvidia-visible-devices-as-volume-mounts = true
accept-nvidia-visible-devices-envvar-when-unprivileged = false
disable-require = false

[nvidia-container-cli]
load-kmods = true
"""


@pytest.mark.parametrize(
    ("toolkit", "pods", "strategy", "after"),
    [
        (TOOLKIT, "null", "volume-mounts", BY_MOUNTS),
        (TOOLKIT.replace("#", ""), None, "volume-mounts", BY_MOUNTS),
        (TOOLKIT, RUNNING, "envvar", TOOLKIT),
        (BY_MOUNTS, RUNNING, "volume-mounts", BY_MOUNTS),
        (None, "null", "envvar", None),
        ("", "null", "envvar", ""),
    ],
)
@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_a_node_gives_gpus_by_mounts_alone_from_its_first_pod_with_one_on(
    tmp_path: Path, cloud: str, toolkit: str | None, pods: str | None, strategy: str, after: str | None
) -> None:
    """What the node would run. Images set the variable to ``all``, also those of containers without a request."""
    node = {name: tmp_path / name for name in ("toolkit", "plugins", "bin")}
    for folder in node.values():
        folder.mkdir()
    configuration, checkpoint = node["toolkit"] / "config.toml", node["plugins"] / "kubelet_internal_checkpoint"
    for file, content in ((configuration, toolkit), (checkpoint, None if pods is None else CHECKPOINT % pods)):
        if content is not None:
            file.write_text(content)
    (node["bin"] / "nvidia-device-plugin").write_text('#!/bin/sh\necho "$@"\n')
    (node["bin"] / "nvidia-device-plugin").chmod(0o755)
    (daemon,) = (
        each for each in load_cloud(cloud).gpu_daemons([specs.gpu_pool(image="al2023")]) if "nvidia" in each.app
    )
    (container,) = daemon.pod["containers"]
    shell, flag, script = container["command"]
    assert (shell, flag) == ("/busybox/sh", "-c")
    sources = {each["name"]: each["hostPath"]["path"] for each in daemon.pod["volumes"] if "hostPath" in each}
    mounted = {
        each["mountPath"]: sources[each["name"]] for each in container["volumeMounts"] if each["name"] in sources
    }
    for path, folder in (("/etc/nvidia-container-runtime", "toolkit"), ("/var/lib/kubelet/device-plugins", "plugins")):
        assert mounted[path] == path
        script = script.replace(path, str(node[folder]))
    environment = {"PATH": f"{node['bin']}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"--device-list-strategy={strategy}\n"
    assert ("pods with GPUs are on this node" in done.stderr) is (toolkit == after == TOOLKIT)
    assert (configuration.read_text() if configuration.exists() else None) == after
    assert [*node["toolkit"].iterdir()] == ([] if after is None else [configuration])


@pytest.mark.parametrize(("cloud", "asked"), [("eks", True), ("aks", True), ("existing", False), ("kubeadm", True)])
def test_what_reads_all_gpus_of_a_node_asks_for_them_by_a_mount_where_it_has_to(cloud: str, asked: bool) -> None:
    pools = [specs.gpu_pool(image="al2023")]
    daemons = [*load_cloud(cloud).gpu_daemons(pools), *load_cloud(cloud).gpu_exporters(pools)]
    assert ["/var/run/nvidia-container-devices/all" in str(each.pod) for each in daemons] == [asked] * 2
    assert "/dev/null" not in str(load_cloud("eks").gpu_exporters([specs.gpu_pool(image="bottlerocket")])[0].pod)


def test_it_is_pinned() -> None:
    (container,) = only().pod["containers"]
    assert container["image"].rpartition(":")[2] not in ("", "latest")


(POOL, *_) = from_stack_file(ROOT / "examples" / "eks-t4.yaml").gpu_pools


def exporters(*images: Image) -> dict[Image, GpuDaemon]:
    pools: list[Pool] = [specs.changed(POOL, name=image, image=image) for image in images]
    daemons = load_cloud("eks").gpu_exporters(pools)
    return {pool.nodes.image: daemon for daemon in daemons for pool in daemon.pools}


def rights(daemon: GpuDaemon) -> dict[str, Any]:
    (container,) = daemon.pod["containers"]
    return container["securityContext"]


def test_the_exporter_has_what_bottlerocket_shows_its_gpus_for() -> None:
    """https://github.com/bottlerocket-os/bottlerocket/issues/3992"""
    both = exporters("al2023", "bottlerocket")
    assert both["al2023"].name != both["bottlerocket"].name
    assert rights(both["bottlerocket"])["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    # The API server takes no pod that has the capability and may not gain any.
    assert "allowPrivilegeEscalation" not in rights(both["bottlerocket"])
    expected = {"runAsUser": 0, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert rights(both["al2023"]) == expected


def test_a_stack_of_one_image_has_one_exporter() -> None:
    for image in ("al2023", "bottlerocket"):
        assert exporters(image).keys() == {image}


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
    ours: dict[str, Any] = {"drivers": "daemonset", "extra_taints": (SPOT,)}
    pools = [specs.gpu_pool("a-1", **ours), specs.gpu_pool("a-4", size=4, **ours), specs.gpu_pool("m-8", size=8)]
    (pod,) = declared(*pools).values()
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
