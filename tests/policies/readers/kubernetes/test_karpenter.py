"""What a NodePool may start (requirements), how many (limits), and whether idle nodes go (disruption)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.declared import NodeGroup, Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read
from policies.readers.resource import Declared
from policies.rules.node_groups import gpu_taint
from policies.rules.scheduling import offers_gpus, selects

EC2 = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
AKS = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
DOMAIN = "karpenter.k8s.aws/instance"
G5 = {"key": f"{DOMAIN}-family", "operator": "In", "values": ["g5"]}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def node_pool(*requirements: Any, spec: Any = None, node_class: Any = EC2, metadata: Any = None) -> NodeGroup:
    machine = {"requirements": list(requirements), "taints": [TAINT], "nodeClassRef": node_class}
    body = {"limits": {"nvidia.com/gpu": "16"}, **(spec or {}), "template": {"spec": machine, "metadata": metadata}}
    resource = Declared(
        "kubernetes:karpenter.sh/v1:NodePool", "x", "urn:x", {"metadata": {"name": "gpu"}, "spec": body}
    )
    (item,) = read(resource)
    assert isinstance(item, NodeGroup)
    return item


def test_a_gpu_node_pool() -> None:
    group = node_pool(G5, metadata={"labels": {"team": "ml"}})
    assert (group.name, group.gpus_per_node, group.autoscaled, group.min_nodes) == ("gpu", 8, True, 0)
    assert (group.max_nodes, group.taints, group.initial_nodes) == (2, (GPU_TAINT,), 0)
    job = Workload("j", "ml", "Job", gpus=4, tolerations=(Toleration("nvidia.com/gpu", "Exists"),))
    assert offers_gpus(group, 4) is True
    assert selects(Workload("j", "ml", "Job", node_selector={"team": "ml"}), group) is True
    assert selects(Workload("j", "ml", "Job", node_selector={"team": "web"}), group) is False
    assert selects(job, group) is True


def requirement(label: str, operator: str, *values: Any) -> dict[str, Any]:
    return {"key": label if "/" in label else f"{DOMAIN}-{label}", "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requirements", "gpus"),
    [
        ([], 16),
        ([requirement("category", "In", "c", "m", "r")], 0),
        ([requirement("category", "In", "c", "g")], 8),
        ([requirement("category", "NotIn", "g", "gr", "p")], 0),
        ([requirement("category", "In", UNKNOWN)], UNKNOWN),
        ([UNKNOWN], UNKNOWN),
        ([requirement("generation", "Gt", "9")], 0),
        ([requirement("family", "In", "p4d", "p5")], 8),
        ([requirement("family", "In", "g4ad")], 0),
        ([requirement("gpu-count", "In", "1")], 1),
        ([requirement("gpu-count", "Lt", "4"), requirement("family", "In", "g4dn", "g7e")], 2),
        ([requirement("gpu-count", "Gt", "0")], 16),
        ([requirement("gpu-count", "Exists")], 16),
        ([requirement("gpu-count", "DoesNotExist")], 0),
        ([requirement("gpu-manufacturer", "In", "amd")], 0),
        ([requirement("accelerator-name", "Exists")], 0),
        ([requirement("kubernetes.io/os", "In", "windows")], 0),
        ([requirement("kubernetes.io/arch", "In", "arm64")], 4),
        ([requirement("node.kubernetes.io/instance-type", "In", "m5.large", "g5.12xlarge")], 4),
        ([requirement("team.example/anything", "In", "x")], 16),
    ],
)
def test_requirements_for_amazon(requirements: list[Any], gpus: Any) -> None:
    spec = {"limits": {"nvidia.com/gpu": 1000}}
    assert node_pool(*requirements, spec=spec).gpus_per_node == gpus


@pytest.mark.parametrize(
    ("requirements", "gpus"),
    [
        ([], 8),
        ([requirement("karpenter.azure.com/sku-family", "In", "D", "E")], 0),
        ([requirement("karpenter.azure.com/sku-family", "In", "N", "D")], 8),
        ([requirement("karpenter.azure.com/sku-gpu-count", "In", "1", "2")], 2),
        ([requirement("karpenter.azure.com/sku-gpu-count", "DoesNotExist")], 0),
        ([requirement("node.kubernetes.io/instance-type", "In", "Standard_D4s_v5")], 0),
        ([requirement("karpenter.azure.com/sku-name", "In", "Standard_NC4as_T4_v3")], 8),
    ],
)
def test_requirements_for_azure(requirements: list[Any], gpus: int) -> None:
    assert node_pool(*requirements, node_class=AKS, spec={"limits": {"nvidia.com/gpu": 64}}).gpus_per_node == gpus


def test_another_providers_machines_are_not_known() -> None:
    other = {"group": "karpenter.example.com", "kind": "ExampleNodeClass", "name": "default"}
    assert node_pool(node_class=other).gpus_per_node is UNKNOWN
    assert node_pool(node_class=UNKNOWN).gpus_per_node is UNKNOWN


@pytest.mark.parametrize(
    ("limits", "gpus", "nodes"),
    [
        ({"nvidia.com/gpu": 16}, 8, 2),
        ({"nvidia.com/gpu": 6}, 4, 1),
        ({"nvidia.com/gpu": "0"}, 0, None),
        ({"nvidia.com/gpu": UNKNOWN}, 8, UNKNOWN),
        ({"cpu": 64}, 8, 2),
        ({"cpu": 64.0}, 8, 2),  # a number as the engine hands it over
        ({"cpu": "64000m"}, 8, 2),
        ({"cpu": "1k"}, 8, 31),
        ({"cpu": "many"}, 8, UNKNOWN),
        ({"memory": "1Ti"}, 8, UNKNOWN),
        ({"nodes": 3}, 8, 3),
        ({}, 8, None),
        (None, 8, None),
        (UNKNOWN, 8, UNKNOWN),
    ],
)
def test_limits_are_the_ceiling(limits: Any, gpus: Any, nodes: Any) -> None:
    group = node_pool(G5, spec={"limits": limits})
    assert (group.gpus_per_node, group.max_nodes) == (gpus, nodes)


@pytest.mark.parametrize(
    ("disruption", "minutes"),
    [
        (None, None),
        ({"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"}, 10),
        ({"consolidateAfter": "Never"}, math.inf),
        ({"consolidateAfter": UNKNOWN}, UNKNOWN),
        (UNKNOWN, UNKNOWN),
        ({"budgets": [{"nodes": "0%"}]}, math.inf),
        ({"budgets": [{"nodes": "0", "reasons": ["Empty"]}]}, math.inf),
        ({"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}, None),
        ({"budgets": [{"nodes": "0", "schedule": "@daily", "duration": "8h"}, {"nodes": "10%"}]}, 480),
    ],
)
def test_how_long_idle_nodes_stay(disruption: Any, minutes: Any) -> None:
    idle = node_pool(G5, spec={"disruption": disruption}).idle
    assert (None if idle is None else idle.minutes) == minutes


SPOT = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
MIXED = {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "g"]}
SOME_GPUS = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}


@pytest.mark.parametrize(
    ("requirements", "excluded"),
    [((SPOT,), True), ((MIXED,), True), ((G5,), False), ((SPOT, SOME_GPUS), False), ((UNKNOWN,), False)],
)
def test_the_remedy_for_a_pool_for_any_machine_is_to_exclude_gpus(requirements: Any, excluded: bool) -> None:
    remedies = [violation.remedy for violation in gpu_taint(replace(node_pool(*requirements), taints=()))]
    assert any("karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist" in one for one in remedies) == excluded
    assert all("nvidia.com/gpu=present:NoSchedule" in remedy for remedy in remedies)
    assert remedies


def test_a_static_pool_is_not_autoscaled() -> None:
    group = node_pool(G5, spec={"replicas": 2, "limits": {"nodes": 2}})
    assert (group.autoscaled, group.min_nodes, group.max_nodes) == (False, 2, 2)


def test_the_node_class_tells_of_addresses_and_disks() -> None:
    machine = {"requirements": [G5], "nodeClassRef": EC2}
    pool = Declared("kubernetes:karpenter.sh/v1:NodePool", "x", "urn:x", {"spec": {"template": {"spec": machine}}})
    disks = [{"deviceName": "/dev/xvda", "ebs": {"encrypted": False}}]
    spec = {"associatePublicIPAddress": True, "blockDeviceMappings": disks}
    properties = {"metadata": {"name": "default"}, "spec": spec}
    node_class = Declared("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "c", "urn:c", properties)
    groups = [item for resource in linked([pool, node_class]) for item in read(resource)]
    assert [(group.private, group.disk_encrypted) for group in groups if isinstance(group, NodeGroup)] == [
        (False, False)
    ]


@pytest.mark.parametrize(
    ("requirements", "spot"),
    [
        ([requirement("karpenter.sh/capacity-type", "In", "spot")], True),
        ([requirement("karpenter.sh/capacity-type", "In", "on-demand")], False),
        ([requirement("karpenter.sh/capacity-type", "In", "spot", "on-demand")], UNKNOWN),
        ([], False),
    ],
)
def test_spot_only_where_no_other_capacity_is_allowed(requirements: list[Any], spot: Any) -> None:
    assert node_pool(G5, *requirements).spot is spot
