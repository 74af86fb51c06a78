"""The registry of clouds: lazy, and honest about what a cloud cannot do."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from components.clouds.base import cloud_names, load_cloud
from components.settings import SettingsError, load
from components.settings.limits import refusals
from tests.stacks import ROOT


def test_an_unknown_cloud_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"cloud: 'gcp' is not supported; write one of .*gke"):
        load_cloud("gcp")


def test_what_a_cloud_cannot_do_is_known_without_pulumi() -> None:
    limits = "; ".join(f"import components.settings.limits.{name}" for name in cloud_names())
    script = f"{limits}\nimport sys\nassert 'pulumi' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("pool", "rest", "path", "remedy"),
    [
        ({"image": "ubuntu", "driverVersion": "latest"}, {}, "driverVersion", "driverVersion: default"),
        (
            {"image": "ubuntu", "driverVersion": "latest", "gpusPerNode": [1, 2], "capacity": "spot-with-fallback"},
            {},
            "driverVersion",
            "driverVersion: default",
        ),
        (
            {"labels": {"cloud.google.com/gke-accelerator": "nvidia-l4"}},
            {},
            "gpuPools[0].labels.cloud.google.com/gke-accelerator",
            "example.com/gke-accelerator",
        ),
        (
            {},
            {
                "cpuPools": [
                    {"name": "web", "machineType": "e2-standard-4", "maxNodes": 1},
                    {
                        "name": "batch",
                        "machineType": "e2-standard-4",
                        "maxNodes": 1,
                        "labels": {"cloud.google.com/gke-nodepool": "mine"},
                    },
                ]
            },
            "cpuPools[1].labels.cloud.google.com/gke-nodepool",
            "example.com/gke-nodepool",
        ),
        ({}, {"security": {"kmsKey": "my-key"}}, "security.kmsKey", "projects/<project>/locations/us-central1"),
        (
            {},
            {"security": {"kmsKey": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"}},
            "security.kmsKey",
            "key ring in us-central1",
        ),
        ({}, {"network": {"controlPlaneCidr": "172.16.0.0/27"}}, "network.controlPlaneCidr", "prefix /28"),
        ({}, {"network": {"nat": "single"}}, "network.nat", "Leave it out"),
        ({}, {"autoscaling": {"unneededMinutes": 5}}, "autoscaling.unneededMinutes", "autoscaling.profile"),
        ({"unneededMinutes": 5, "gpusPerNode": [1, 2]}, {}, "gpuPools[0].unneededMinutes", "autoscaling.profile"),
        ({"mig": "1g"}, {}, "gpuPools[0].mig", "timeSharing"),
    ],
)
def test_what_gke_cannot_do_is_refused_with_the_reason(
    pool: dict[str, Any], rest: dict[str, Any], path: str, remedy: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(_config(pool, rest), stack="dev", project="my-project")
    (problem,) = caught.value.problems
    assert path in problem.path
    assert remedy in problem.remedy


def test_what_gke_can_do_is_not_refused() -> None:
    key = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    fine = _config(
        # Keys that GKE leaves to users; the first is how the GPU Operator takes over the device plugin.
        {
            "driverVersion": "latest",
            "labels": {"gke-no-default-nvidia-gpu-device-plugin": "true", "cloud.google.com/gke-queued": "true"},
        },
        {"security": {"kmsKey": key}, "network": {"controlPlaneCidr": "172.16.0.0/28"}},
    )
    assert refusals(load(fine, stack="dev", project="my-project")) == []


def _config(pool: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    network = {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}], **rest.get("network", {})}
    return {
        "cloud": "gke",
        "region": "us-central1",
        "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, **pool}],
        **rest,
        "network": network,
    }
