"""NVIDIA's device plugin and exporter: what they offer or measure, on which pools and images, and with which rights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from components.clouds.base import GpuDaemon, load_cloud
from components.clouds.device_plugin import device_plugin
from components.clouds.gpu_exporter import gpu_exporter
from components.driver_daemon_set import config_map, daemon_set
from components.settings import from_stack_file
from facts.concepts.pool import Image, Pool, TimeSharing
from policies.readers.kubernetes.parts import device_plugin as is_device_plugin
from policies.readers.kubernetes.sharing import replicated
from tests.components import specs
from tests.stacks import ROOT

FOUR = TimeSharing(clients_per_gpu=4)
EIGHT = TimeSharing(clients_per_gpu=8)


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
    daemons = device_plugin(
        [
            specs.gpu_pool("a-1"),
            specs.gpu_pool("b-1", time_sharing=FOUR),
            specs.gpu_pool("c-8", size=8),
            specs.gpu_pool("d-1", time_sharing=EIGHT),
            specs.gpu_pool("e-1", mig="1g"),
        ]
    )
    assert {daemon.name: [pool.name for pool in daemon.pools] for daemon in daemons} == {
        "nvidia-device-plugin-whole": ["a-1", "c-8"],
        "nvidia-device-plugin-shared-4": ["b-1"],
        "nvidia-device-plugin-shared-8": ["d-1"],
        "nvidia-device-plugin-mig": ["e-1"],
    }


def test_no_pools_no_daemon() -> None:
    assert device_plugin([]) == []


def test_the_gate_recognises_it_as_a_device_plugin() -> None:
    assert is_device_plugin(daemon_set(only())["spec"]["template"]["spec"]) is True


def test_a_shared_gpu_is_offered_as_often_as_the_pool_says_one_share_to_a_pod() -> None:
    shared = configuration(only(time_sharing=FOUR))["sharing"]["timeSlicing"]
    assert shared == {
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }
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
    assert {mounts[name] for name, path in sources.items() if path == "/dev/null"} == {
        "/var/run/nvidia-container-devices/all"
    }
    (other,) = daemons([specs.gpu_pool()])
    assert "/dev/null" not in str(other.pod)


def test_by_mounts_a_containers_gpus_are_in_no_variable() -> None:
    (daemon,) = device_plugin([specs.gpu_pool()], by_mounts=True)
    assert configuration(daemon)["flags"]["plugin"] == {"deviceListStrategy": "volume-mounts"}
    assert "plugin" not in configuration(only())["flags"]


def test_it_is_pinned() -> None:
    (container,) = only().pod["containers"]
    assert container["image"].rpartition(":")[2] not in ("", "latest")


(POOL, *_) = from_stack_file(ROOT / "examples" / "eks-t4.yaml").gpu_pools


def exporters(*images: Image) -> dict[Image, GpuDaemon]:
    pools: list[Pool] = [replace(POOL, name=image, image=image) for image in images]
    daemons = load_cloud("eks").gpu_exporters(pools)
    return {pool.image: daemon for daemon in daemons for pool in daemon.pools}


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
    assert rights(both["al2023"]) == {
        "runAsUser": 0,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_stack_of_one_image_has_one_exporter() -> None:
    for image in ("al2023", "bottlerocket"):
        assert exporters(image).keys() == {image}
