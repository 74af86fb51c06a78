"""Prices in the gate's configuration: they replace list prices, and are where to write one that is not known."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from policies.offline import OfflineGate, view_of
from policies.prices import parse
from policies.readers.resource import Declared

CEILING = {"hourly-cost-ceiling": {"maxHourlyUsd": 10}}


def eks(region: str | None = "us-west-2", **group: Any) -> list[Declared]:
    """A cluster with one group of two nodes of a machine type that no table lists."""
    named = {} if region is None else {"region": region}
    inputs = {"clusterName": "ml", "nodeGroupName": "big", "instanceTypes": ["u-3tb1.56xlarge"], **group}
    size = {"scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2}}
    return [
        Declared("aws:eks/cluster:Cluster", "ml", "urn:ml", {"name": "ml", **named}),
        Declared("aws:eks/nodeGroup:NodeGroup", "big", "urn:big", {**size, **inputs}),
    ]


def n1() -> list[Declared]:
    """A cluster of Google's with one group of two nodes, each with a GPU that is no part of its machine type."""
    config = {"machineType": "n1-standard-4", "guestAccelerators": [{"type": "nvidia-tesla-v100", "count": 8}]}
    inputs = {"cluster": "ml", "name": "t4", "nodeCount": 2, "nodeConfig": config, "location": "us-central1-a"}
    return [
        Declared("gcp:container/cluster:Cluster", "ml", "urn:ml", {"name": "ml", "location": "us-central1-a"}),
        Declared("gcp:container/nodePool:NodePool", "t4", "urn:t4", inputs),
    ]


def sizes(*types: str) -> list[Declared]:
    """A cluster with one group of two machines of these types."""
    return eks(instanceTypes=list(types))


SEVEN = ("m7i", "m7a", "c7i", "c7a", "r7i", "r7a", "m6a")


def refused(program: list[Declared], **prices: Any) -> bool:
    """Whether the ceiling refuses the program with these prices."""
    gate = OfflineGate({**CEILING, **({"prices": prices} if prices else {})})
    return any(rule == "hourly-cost-ceiling" for rule, *_ in gate.violations(program))


@pytest.mark.parametrize(
    ("program", "prices", "expected"),
    [
        (eks(), {}, True),
        (eks(), {"u-3tb1.56xlarge": 5}, False),
        (eks(), {"U-3TB1.56xlarge": 5}, False),
        (eks(), {"u-3tb1.56xlarge": 5.1}, True),
        # By region, before the price of all others.
        (eks(), {"u-3tb1.56xlarge": {"us-west-2": 5}}, False),
        (eks(), {"u-3tb1.56xlarge": {"eu-west-1": 5}}, True),
        # By node group only where the program names no machine type: its name is nobody's but the program's.
        (eks(), {"big": 5}, True),
        (eks(instanceTypes=None, launchTemplate={"id": "lt-1"}), {}, True),
        (eks(instanceTypes=None, launchTemplate={"id": "lt-1"}), {"big": 5}, False),
        # GPUs beside a machine type are no part of its price.
        (n1(), {"t4": 5}, False),
        (n1(), {"t4": 5.1}, True),
        (n1(), {"n1-standard-4": 0.1}, True),
        # Of several types the dearest counts, and each has to have a price.
        (eks(instanceTypes=["u-3tb1.56xlarge", "m5.large"]), {"u-3tb1.56xlarge": 5}, False),
        (eks(instanceTypes=["u-3tb1.56xlarge", "u-6tb1.56xlarge"]), {"u-3tb1.56xlarge": 5}, True),
        # By a name that any group may have, no machine costs less than in its cheapest region: here $8.06 and more.
        (eks(instanceTypes=[f"{each}.48xlarge" for each in SEVEN]), {"big": 1}, True),
        # The sizes of a group may have different numbers of GPUs.
        (sizes("g5.xlarge", "g5.12xlarge"), {"g5.xlarge": 1, "g5.12xlarge": 4}, False),
        (sizes("g5.xlarge", "g5.12xlarge"), {"g5.xlarge": 1, "g5.12xlarge": 5.1}, True),
        # A list price is replaced.
        (eks(instanceTypes=["m5.large"]), {}, False),
        (eks(instanceTypes=["m5.large"]), {"m5.large": 6}, True),
    ],
)
def test_they_count(program: list[Declared], prices: dict[str, Any], expected: bool) -> None:
    assert refused(program, **prices) is expected


def fargate(namespace: str, **quota: Any) -> list[Declared]:
    """A cluster with a Fargate profile, and a quota of its namespace."""
    selectors = {"clusterName": "ml", "selectors": [{"namespace": namespace}]}
    limited = {"metadata": {"name": "q", "namespace": "karpenter"}, "spec": {"hard": quota}}
    return [
        eks()[0],
        Declared("aws:eks/fargateProfile:FargateProfile", "small", "urn:f", selectors),
        *([Declared("kubernetes:core/v1:ResourceQuota", "q", "urn:q", limited)] if quota else []),
    ]


@pytest.mark.parametrize(
    ("program", "usd", "expected"),
    [
        (fargate("karpenter", pods="2"), 5, False),
        (fargate("karpenter", pods="2"), 5.1, True),
        (fargate("karpenter", pods="3"), 5, True),
        (fargate("karpenter"), 0, True),
        (fargate("karpenter", **{"requests.cpu": "2"}), 0, True),
        (fargate("karp*", pods="2"), 0, True),
    ],
)
def test_a_fargate_profile_has_the_pods_of_its_namespace_s_quota(
    program: list[Declared], usd: float, expected: bool
) -> None:
    assert refused(program, small=usd) is expected


def test_the_remedy_for_a_fargate_profile_names_the_quota() -> None:
    (rule,) = [rule for rule, *_ in OfflineGate(CEILING).rules if rule.id == "hourly-cost-ceiling"]
    (violation,) = rule.check(view_of(fargate("karpenter")).stack, {"maxHourlyUsd": 10})
    assert "ResourceQuota of pods" in violation.remedy


@pytest.mark.parametrize(
    "types",
    [
        ["u-3tb1.56xlarge"],
        ["m5.large", "u-3tb1.56xlarge", "u-6tb1.56xlarge"],  # the first has a price
        [f"u-{size}tb1.56xlarge" for size in range(3, 13)],
    ],
)
def test_following_the_remedy_works(types: list[str]) -> None:
    stack = view_of(eks(instanceTypes=types)).stack
    (rule,) = [rule for rule, *_ in OfflineGate(CEILING).rules if rule.id == "hourly-cost-ceiling"]
    (violation,) = rule.check(stack, {"maxHourlyUsd": 10})
    assert not violation.not_evaluated
    named = json.loads(re.findall(r'"prices": ({.*})', violation.remedy.replace("…", "5"))[0])
    assert f"'big' ({', '.join(named)})" in violation.message
    assert "m5.large" not in named
    assert rule.check(parse(named).applied(stack), {"maxHourlyUsd": 10}) == []


def karpenter(**limits: int) -> list[Declared]:
    """A pool of machines with eight GPUs each."""
    sizes = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    made = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"requirements": [sizes], "taints": taints, "nodeClassRef": made}}
    hard = {name.replace("gpu", "nvidia.com/gpu"): count for name, count in limits.items()}
    pool = {"metadata": {"name": "h100"}, "spec": {"limits": hard, "template": template}}
    return [eks()[0], Declared("kubernetes:karpenter.sh/v1:NodePool", "h100", "urn:p", pool)]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [pytest.param(7, False, id="less than a machine has"), (8, False), (16, True)],
)
def test_a_pool_that_its_limit_keeps_empty_costs_nothing(gpus: int, expected: bool) -> None:
    assert refused(karpenter(gpu=gpus), **{"p5.48xlarge": 9}) is expected
