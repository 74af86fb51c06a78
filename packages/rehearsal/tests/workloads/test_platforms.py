"""Which containers start on a node with Arm CPUs."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from components.clouds import device_plugin, gpu_exporter
from rehearsal.cluster.api import Api
from rehearsal.workloads.platforms import ImagePlatforms, has_arm64

CUDA = "docker.io/nvidia/cuda:12.2.2-base-ubuntu22.04"


@pytest.mark.parametrize(("restarts", "phase"), [("Always", "Pending"), ("Never", "Failed")])
@pytest.mark.parametrize(
    ("arch", "images", "starts"),
    [
        ("arm64", ["registry.example/train:1"], False),
        ("arm64", [CUDA, "registry.example/sidecar"], False),
        ("arm64", [CUDA], True),
        ("amd64", ["registry.example/train:1"], True),
    ],
)
def test_an_image_for_x86_does_not_start_on_arm(
    arch: str, images: list[str], starts: bool, restarts: str, phase: str
) -> None:
    node = {"metadata": {"labels": {"kubernetes.io/arch": arch}}}
    api = Mock(spec=Api, **{"find.return_value": node})
    platforms = ImagePlatforms(api)
    containers = [{"name": "main", "image": image} for image in images]
    spec = {"nodeName": "n", "restartPolicy": restarts, "containers": containers}
    for now in ("Pending", "Running", "Failed", "Succeeded"):
        about = {"name": "p", "uid": "u", "namespace": "default"}
        platforms.note({"kind": "Pod", "metadata": about, "spec": spec, "status": {"phase": now}})
    assert [call.args[1]["status"]["phase"] for call in api.merge.call_args_list] == ([] if starts else [phase] * 2)
    messages = [call.args[1]["message"] for call in api.create.call_args_list]
    assert ["no match for platform linux/arm64" in each for each in messages] == ([] if starts else [True])


def test_what_the_program_runs_on_every_gpu_node_is_for_both_architectures() -> None:
    assert has_arm64(device_plugin.IMAGE)
    assert has_arm64(gpu_exporter.IMAGE)
    assert not has_arm64("docker.io/pytorch/pytorch:2.7.1-cuda12.6-cudnn9-runtime")
