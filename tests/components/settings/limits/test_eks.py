"""What EKS cannot do: refused with the key and a remedy, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from components.settings import Settings, SettingsError, load
from components.settings.limits import eks as limits
from components.settings.limits import refusals

OFFICE = {"name": "office", "cidr": "203.0.113.0/24"}
KEY = "arn:aws:kms:us-west-2:123456789012:key/0123abcd-0000-1111-2222-333344445555"
POOL: dict[str, Any] = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}
CPU: dict[str, Any] = {"name": "web", "maxNodes": 4}
GROUPS = {"autoscaling": {"autoscaler": "cluster-autoscaler"}}


def stack(pool: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    """A stack file's keys, as the settings take them."""
    keys: dict[str, Any] = {
        "cloud": "eks",
        "region": "us-west-2",
        "zones": ["us-west-2a"],
        "network": {"authorizedNetworks": [OFFICE]},
        "gpuPools": [{**POOL, **(pool or {})}],
    }
    for key, value in rest.items():
        keys[key] = {**keys[key], **value} if key == "network" else value
    return keys


def problems(pool: dict[str, Any] | None = None, *, account: str = "us-west-2", **rest: Any) -> dict[str, str]:
    """Key path → what is wrong and what to write."""
    try:
        load(stack(pool, **rest), stack="dev", project=account)
    except SettingsError as error:
        return {problem.path: str(problem) for problem in error.problems}
    return {}


CASES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"drivers": "daemonset"}, {}, "gpuPools[0].drivers", "drivers: managed"),
    ({"drivers": "none", "image": "bottlerocket"}, {}, "gpuPools[0].drivers", "image: al2023"),
    ({"driverVersion": "latest"}, {}, "gpuPools[0].driverVersion", "driverVersion: default"),
    ({"mig": "1g"}, {}, "gpuPools[0].mig", "GPU Operator"),
    ({"timeSharing": {"clientsPerGpu": 4}}, {}, "gpuPools[0].timeSharing", "cluster-autoscaler"),
    ({"reservation": "my-machines"}, {}, "gpuPools[0].reservation", "cr-0123456789abcdef0"),
    (
        {"reservation": "cr-0123456789abcdef0", "zones": ["us-west-2a", "us-west-2b"]},
        {"zones": ["us-west-2a", "us-west-2b"]},
        "gpuPools[0].reservation",
        "zones: [us-west-2a]",
    ),
    (
        {"gpu": "nvidia-rtx-pro-4500", "image": "bottlerocket", "zones": ["us-west-2a"]},
        {},
        "gpuPools[0].image",
        "image: al2023",
    ),
    (
        {
            "gpu": "nvidia-h200-141gb",
            "gpusPerNode": 8,
            "machineType": "p5e.48xlarge",
            "reservation": "cr-0123456789abcdef0",
            "zones": ["us-west-2a"],
        },
        GROUPS,
        "gpuPools[0].reservation",
        "autoscaler: karpenter",
    ),
    ({"labels": {"eks.amazonaws.com/x": "y"}}, {}, "gpuPools[0].labels.eks.amazonaws.com/x", "example.com/x"),
    ({"labels": {"karpenter.sh/x": "y"}}, {}, "gpuPools[0].labels.karpenter.sh/x", "example.com/x"),
    ({"labels": {"team": ""}}, GROUPS, "gpuPools[0].labels.team", "team: 'true'"),
    ({"labels": {f"{'a' * 60}.com/x": "y"}}, GROUPS, f"gpuPools[0].labels.{'a' * 60}.com/x", "Shorten"),
    (
        {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]},
        GROUPS,
        "gpuPools[0].taints",
        "each key once",
    ),
    ({"labels": {f"label-{n}": "x" for n in range(60)}}, GROUPS, "gpuPools[0].labels", "Remove"),
    ({}, {"kubernetes": {"version": "1.34.1"}}, "kubernetes.version", "Write '1.34'"),
    ({}, {"kubernetes": {"version": "1.20"}}, "kubernetes.version", "1.35"),
    ({}, {"kubernetes": {"version": "1.37"}}, "kubernetes.version", "1.36"),
    ({}, {"kubernetes": {"version": "1.37"}, **GROUPS}, "kubernetes.version", "1.36"),
    ({}, {"network": {"podCidr": "10.4.0.0/14"}}, "network.podCidr", "Leave it out"),
    ({}, {"network": {"controlPlaneCidr": "172.16.0.0/28"}}, "network.controlPlaneCidr", "Leave it out"),
    ({}, {"network": {"serviceCidr": "100.64.0.0/16"}}, "network.serviceCidr", "172.20.0.0/16"),
    ({}, {"network": {"serviceCidr": "172.20.0.0/25"}}, "network.serviceCidr", "172.20.0.0/16"),
    ({}, {"network": {"nodeCidr": "10.0.0.0/15"}}, "network.nodeCidr", "10.0.0.0/16"),
    ({"maxNodes": 63}, {}, "network.nodeCidr", "more zones"),
    (
        {},
        {"network": {"authorizedNetworks": [{"name": "vpn", "cidr": "10.9.0.0/16"}]}},
        "network.authorizedNetworks[0].cidr",
        "privateEndpoint: true",
    ),
    ({}, {"security": {"kmsKey": "alias/mine"}}, "security.kmsKey", "arn:aws:kms:us-west-2:"),
    ({}, {"security": {"kmsKey": KEY.replace("us-west-2", "eu-west-1")}}, "security.kmsKey", "key in us-west-2"),
    ({}, {"adminPool": {"maxNodes": 3}}, "adminPool.maxNodes", "cluster-autoscaler"),
    ({}, {"cpuPools": [{"name": f"c{n}", "maxNodes": 1} for n in range(29)], **GROUPS}, "gpuPools", "karpenter"),
    ({}, {"cpuPools": [{**CPU, "minNodes": 1}]}, "cpuPools[0].minNodes", "cluster-autoscaler"),
    ({}, {"cpuPools": [{**CPU, "minNodes": 2, "capacity": "spot-with-fallback"}]}, "cpuPools[0].minNodes", "replicas"),
]


@pytest.mark.parametrize(
    ("pool", "rest", "path", "remedy"), CASES, ids=[f"{path}-{n}" for n, (_, _, path, _) in enumerate(CASES)]
)
def test_what_eks_cannot_do_is_refused(pool: dict[str, Any], rest: dict[str, Any], path: str, remedy: str) -> None:
    refused = problems(pool, **rest)
    assert list(refused) == [path]
    assert remedy in refused[path]


@pytest.mark.parametrize(
    ("pool", "rest"),
    [
        ({}, {}),
        ({"drivers": "none"}, {}),
        ({"image": "bottlerocket", "timeSharing": {"clientsPerGpu": 2}}, GROUPS),
        ({"timeSharing": {"clientsPerGpu": 48}}, GROUPS),
        ({"reservation": "cr-0123456789abcdef0"}, {}),
        ({"reservation": "cr-0123456789abcdef0"}, GROUPS),
        (
            {
                "gpu": "nvidia-h200-141gb",
                "gpusPerNode": 8,
                "machineType": "p5e.48xlarge",
                "reservation": "cr-0123456789abcdef0",
                "zones": ["us-west-2a"],
            },
            {},
        ),
        ({"gpu": "nvidia-rtx-pro-4500", "zones": ["us-west-2a"]}, {}),
        ({"labels": {"nvidia.com/gpu": "true", "lifecycle": "Ec2Spot"}, "capacity": "spot"}, GROUPS),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]}, GROUPS),
        ({"labels": {f"label-{n}": "x" for n in range(35)}}, GROUPS),
        ({"labels": {f"label-{n}": "x" for n in range(60)}}, {}),
        ({}, {"kubernetes": {"version": "1.34"}}),
        ({}, {"kubernetes": {"version": "1.36"}}),
        ({}, {"kubernetes": {"version": "1.36"}, **GROUPS}),
        ({}, {"cpuPools": [{**CPU, "minNodes": 0}]}),
        ({}, {"cpuPools": [{**CPU, "minNodes": 1}], **GROUPS}),
        ({"maxNodes": 62}, {}),
        ({}, {"network": {"privateEndpoint": True, "authorizedNetworks": [{"name": "vpn", "cidr": "10.99.0.0/16"}]}}),
        ({}, {"network": {"nodeCidr": "10.0.0.0/20"}}),
        ({}, {"security": {"kmsKey": KEY}}),
        ({}, {"autoscaling": {"autoscaler": "cluster-autoscaler", "unneededMinutes": 5}}),
        ({}, {"adminPool": {"maxNodes": 3}, **GROUPS}),
        ({}, {"cpuPools": [{"name": f"c{n}", "maxNodes": 1} for n in range(28)], **GROUPS}),
        ({}, {"cpuPools": [{"name": f"c{n}", "maxNodes": 1} for n in range(29)]}),
    ],
)
def test_what_eks_can_do_is_not(pool: dict[str, Any], rest: dict[str, Any]) -> None:
    assert problems(pool, **rest) == {}


def test_the_provider_works_where_the_cluster_is() -> None:
    assert "aws:region: us-west-2" in problems(account="eu-west-1")["aws:region"]


def test_nodes_of_one_zone_do_not_count_in_another() -> None:
    spread = {
        "zones": ["us-west-2a", "us-west-2b"],
        "cpuPools": [{"name": "c", "zones": ["us-west-2b"], "maxNodes": 40}],
    }
    assert problems({"zones": ["us-west-2a"], "maxNodes": 40}, **spread) == {}
    together = {**spread, "cpuPools": [{"name": "c", "zones": ["us-west-2a"], "maxNodes": 40}]}
    assert list(problems({"zones": ["us-west-2a"], "maxNodes": 40}, **together)) == ["network.nodeCidr"]


def settings(**rest: Any) -> Settings:
    return load(stack(**rest), stack="dev", project="us-west-2")


def test_a_problem_of_several_pools_of_one_entry_is_reported_once() -> None:
    with pytest.raises(SettingsError) as refused:
        load(
            stack({"gpusPerNode": [1, 4], "capacity": "spot-with-fallback", "driverVersion": "latest"}),
            stack="dev",
            project="us-west-2",
        )
    assert len(refused.value.problems) == 1


def test_settings_without_a_problem_have_none() -> None:
    assert refusals(settings()) == limits.refusals(settings()) == []
