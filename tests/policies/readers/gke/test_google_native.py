"""The provider made from Google's API says the same as the other one, and is read the same."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared

ACCELERATORS = [{"acceleratorType": "nvidia-l4", "acceleratorCount": "2"}]
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
NATIVE: dict[str, Any] = {
    "name": "l4",
    "clusterId": "ml",
    "location": "us-central1-a",
    "initialNodeCount": 0,
    "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 3},
    "config": {"machineType": "g2-standard-24", "accelerators": ACCELERATORS, "taints": [TAINT], "spot": True},
}
OURS: dict[str, Any] = {
    "name": "l4",
    "cluster": "ml",
    "location": "us-central1-a",
    "initialNodeCount": 0,
    "autoscaling": {"minNodeCount": 0, "maxNodeCount": 3},
    "nodeConfig": {
        "machineType": "g2-standard-24",
        "guestAccelerators": [{"type": "nvidia-l4", "count": 2}],
        "taints": [TAINT],
        "spot": True,
    },
}


def items(type_token: str, properties: dict[str, Any]) -> tuple[Any, ...]:
    return read(Declared(type_token, "x", "urn:x", properties))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_node_pool(version: str) -> None:
    native = items(f"google-native:container/{version}:NodePool", NATIVE)
    assert native == items("gcp:container/nodePool:NodePool", OURS)
    assert native[0].gpus_per_node == 2


def test_autoscaling_may_be_declared_and_off() -> None:
    (group,) = items("google-native:container/v1:NodePool", {**NATIVE, "autoscaling": {"enabled": False}})
    assert group.autoscaled is False
    (group,) = items("google-native:container/v1:NodePool", {**NATIVE, "autoscaling": UNKNOWN, "config": UNKNOWN})
    assert group.autoscaled is group.gpus_per_node is group.taints is UNKNOWN


def test_a_cluster_with_pools_and_limits() -> None:
    cluster, pool, provisioned = items(
        "google-native:container/v1:Cluster",
        {
            "name": "ml",
            "location": "us-central1-a",
            "nodePools": [NATIVE],
            "autoscaling": {
                "enableNodeAutoprovisioning": True,
                "resourceLimits": [{"resourceType": "nvidia-l4", "minimum": "1", "maximum": "4"}],
            },
        },
    )
    assert isinstance(cluster, Cluster)
    assert (pool.name, pool.cluster, pool.gpus_per_node) == ("l4", "ml", 2)
    assert (provisioned.kind, provisioned.min_nodes, provisioned.max_nodes) == ("auto-provisioned", 1, 4)
    (autopilot,) = items("google-native:container/v1:Cluster", {"autopilot": {"enabled": True}})
    assert autopilot.managed_nodes is True


def test_machines_and_templates_of_machines() -> None:
    machine = {"machineType": "projects/p/zones/z/machineTypes/n1-standard-4", "guestAccelerators": ACCELERATORS}
    (instance,) = items("google-native:compute/v1:Instance", machine)
    (template,) = items("google-native:compute/beta:InstanceTemplate", {"properties": machine})
    for group in (instance, template):
        assert isinstance(group, NodeGroup)
        assert (group.kind, group.gpus_per_node, group.machine_type) == ("machine", 2, "n1-standard-4")
