"""The validator of Google's request shapes, and the translation from the provider's inputs."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rehearsal.providers.base import UNKNOWN
from rehearsal.providers.gcp.discovery import document
from rehearsal.providers.gcp.provider import KINDS
from tests.rehearsal.google import CLUSTER, FIREWALL, POOL, cluster, gpu_pool

CONTAINER = document("container.v1beta1")


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        ({"name": 3}, "name", "must be a string"),
        ({"config": {"spot": "yes"}}, "config.spot", "true or false"),
        ({"config": {"diskSizeGb": 1.5}}, "config.diskSizeGb", "whole number"),
        ({"config": {"diskSizeGb": True}}, "config.diskSizeGb", "whole number"),
        ({"config": {"diskSizeGb": 2**31}}, "config.diskSizeGb", "outside int32"),
        ({"config": {"accelerators": {}}}, "config.accelerators", "must be a list"),
        ({"config": {"accelerators": [{"acceleratorCount": 1}]}}, "config.accelerators[0].acceleratorCount", "whole"),
        ({"config": {"taints": [{"effect": "NoSchedule"}]}}, "config.taints[0].effect", "NO_SCHEDULE"),
        ({"config": {"labels": {"a": 1}}}, "config.labels.a", "must be a string"),
        ({"config": {"maxRunDuration": "1h"}}, "config.maxRunDuration", "duration in seconds"),
        ({"config": []}, "config", "must be an object"),
        ({"status": "RUNNING"}, "status", "set by the server"),
        ({"nodes": 1}, "nodes", "no such field in NodePool"),
    ],
)
def test_a_body_that_the_schema_forbids(body: dict[str, Any], path: str, words: str) -> None:
    [problem] = CONTAINER.problems(body, "NodePool")
    assert problem.path == path
    assert words in problem.reason


def test_patterns_of_compute_names() -> None:
    compute = document("compute.v1")
    assert compute.problems({"name": "net"}, "Network") == []
    assert "does not match" in str(compute.problems({"name": "Net"}, "Network")[0])


def test_unknown_values_are_left_for_the_update() -> None:
    assert CONTAINER.problems({"name": UNKNOWN, "config": {"taints": UNKNOWN}}, "NodePool") == []


def test_a_document_is_read_once_and_quickly() -> None:
    document.cache_clear()
    start = time.perf_counter()
    first = document("container.v1beta1")
    assert time.perf_counter() - start < 1
    assert document("container.v1beta1") is first


def test_a_node_pool_becomes_googles_request() -> None:
    inputs = gpu_pool(maxPodsPerNode=32.0, upgradeSettings={"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1})
    translation = KINDS[POOL].shape.translate(inputs)
    assert translation.failures == ()
    assert translation.body == {
        "name": "t4-1",
        "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"},
        "config": {
            "machineType": "n1-standard-4",
            "spot": True,
            "imageType": "COS_CONTAINERD",
            "accelerators": [
                {
                    "acceleratorType": "nvidia-tesla-t4",
                    "acceleratorCount": "1",
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                }
            ],
            "labels": {"team": "vision"},
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        },
        "maxPodsConstraint": {"maxPodsPerNode": "32"},
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
    }


def test_blocks_that_the_api_nests_differently() -> None:
    exclusion = {"exclusionName": "freeze", "startTime": "2026-12-20T00:00:00Z", "endTime": "2027-01-05T00:00:00Z"}
    window = {"startTime": "2026-01-01T09:00:00Z", "endTime": "2026-01-01T17:00:00Z", "recurrence": "FREQ=DAILY"}
    body = (
        KINDS[CLUSTER]
        .shape.translate(
            cluster(
                maintenancePolicy={"recurringWindow": window, "maintenanceExclusions": [exclusion]},
                loggingConfig={"enableComponents": ["WORKLOADS"]},
                enableShieldedNodes=True,
                datapathProvider="ADVANCED_DATAPATH",
                enableIntranodeVisibility=True,
            )
        )
        .body
    )
    assert body["maintenancePolicy"]["window"] == {
        "recurringWindow": {
            "window": {"startTime": window["startTime"], "endTime": window["endTime"]},
            "recurrence": "FREQ=DAILY",
        },
        "maintenanceExclusions": {"freeze": {"startTime": exclusion["startTime"], "endTime": exclusion["endTime"]}},
    }
    assert body["loggingConfig"] == {"componentConfig": {"enableComponents": ["WORKLOADS"]}}
    assert body["shieldedNodes"] == {"enabled": True}
    assert body["networkConfig"] == {"datapathProvider": "ADVANCED_DATAPATH", "enableIntraNodeVisibility": True}


@pytest.mark.parametrize(
    ("type", "inputs", "path", "words"),
    [
        (POOL, gpu_pool(nodeConfig={"machinType": "x"}), "nodeConfig.machinType", "no such field in NodeConfig"),
        (
            POOL,
            gpu_pool(nodeConfig={"guestAccelerators": [{"type": "nvidia-l4"}]}),
            "nodeConfig.guestAccelerators[0].count",
            "required",
        ),
        (POOL, gpu_pool(nodeConfig={"imageType": 7}), "nodeConfig.imageType", "must be a string"),
        (
            POOL,
            gpu_pool(nodeConfig={"taints": [{"key": "a", "value": "b", "effect": "x"}]}),
            "nodeConfig.taints[0].effect",
            "not one of",
        ),
        (POOL, gpu_pool(cluster=None), "cluster", "required"),
        (POOL, gpu_pool(deletionPolicy="KEEP"), "deletionPolicy", "DELETE, PREVENT, ABANDON"),
        (CLUSTER, cluster(desiredEmulatedVersion="1.33"), "desiredEmulatedVersion", "not simulated"),
        (CLUSTER, cluster(releaseChannel={"channel": "WEEKLY"}), "releaseChannel.channel", "REGULAR"),
        (FIREWALL, {"network": "net", "allows": [{"ports": ["22"]}]}, "allows[0].protocol", "required"),
    ],
)
def test_a_refused_input_is_named_as_the_program_spells_it(
    type: str, inputs: dict[str, Any], path: str, words: str
) -> None:
    failures = KINDS[type].shape.failures(inputs)
    assert [failure.property for failure in failures] == [path]
    assert words in failures[0].reason
