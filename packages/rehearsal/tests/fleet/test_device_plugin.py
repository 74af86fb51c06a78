"""What a device plugin offers is what its own configuration says, where the plugin would find it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import plugin_pod
from rehearsal.fleet.gpu_software import PluginError, replicas


def slicing(count: object, **fields: Any) -> str:
    resource = {"name": "nvidia.com/gpu", "replicas": count}
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": [resource], **fields}}})


def offered(pod: Mapping[str, Any], content: str, key: str = "config.yaml") -> int:
    return replicas(pod, lambda name: {"data": {key: content}} if name == "plugin" else None)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (slicing(4), 4),
        (slicing(1), 1),
        ("version: v1\nsharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 3}]\n", 3),
        (json.dumps({"version": "v1", "flags": {"migStrategy": "single"}}), 1),
        (slicing(4).replace("nvidia.com/gpu", "nvidia.com/mig-1g.5gb"), 1),
        ("", 1),
    ],
)
def test_replicas_of_a_configuration(content: str, count: int) -> None:
    assert offered(plugin_pod("plugin"), content) == count


def test_without_a_configuration_a_gpu_is_a_gpu() -> None:
    assert offered(plugin_pod(None), slicing(4)) == 1


@pytest.mark.parametrize(
    "container",
    [
        {"env": [], "args": ["--config-file=/config/config.yaml"]},
        {"env": [], "command": ["nvidia-device-plugin", "--config-file", "/config/config.yaml"]},
        {"env": [{"name": "CONFIG_FILE", "value": "/nowhere"}], "args": ["--config-file=/config/config.yaml"]},
        {"volumeMounts": [{"name": "config", "mountPath": "/config/config.yaml", "subPath": "config.yaml"}]},
    ],
)
def test_ways_to_name_the_file(container: dict[str, Any]) -> None:
    pod = plugin_pod("plugin")
    pod["containers"][0].update(container)
    assert offered(pod, slicing(4)) == 4


def test_a_file_may_be_mounted_under_another_name() -> None:
    pod = plugin_pod("plugin")
    pod["volumes"][-1]["configMap"]["items"] = [{"key": "shared", "path": "config.yaml"}]
    assert offered(pod, slicing(4), key="shared") == 4


@pytest.mark.parametrize(
    ("config_map", "content", "reason"),
    [
        ("absent", slicing(4), "mounts the ConfigMap absent, which does not exist"),
        ("plugin", slicing(0), "at least 1 is needed"),
        ("plugin", slicing("four"), "replicas: four"),
        ("plugin", slicing(4, renameByDefault=True), "advertises the GPUs as nvidia.com/gpu.shared"),
        ("plugin", '{"sharing": {"timeSlicing": {}}}', "cannot read (KeyError: 'resources')"),
        ("plugin", "{", "cannot read"),
        ("plugin", "just words", "cannot read"),
    ],
)
def test_a_plugin_that_would_offer_no_gpu_says_why(config_map: str, content: str, reason: str) -> None:
    with pytest.raises(PluginError) as raised:
        offered(plugin_pod(config_map), content)
    assert reason in str(raised.value)


def test_a_file_that_is_not_mounted_is_reported() -> None:
    with pytest.raises(PluginError, match=r"reads /config/config\.yaml, but no mounted ConfigMap has this file"):
        offered(plugin_pod("plugin"), slicing(4), key="other.yaml")
