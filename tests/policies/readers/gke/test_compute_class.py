"""Pools that GKE makes for pods of a ComputeClass."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import NodeGroup
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared


@pytest.mark.parametrize(
    ("spec", "gpus"),
    [
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"gpu": {"type": "nvidia-l4", "count": 2}}]}, [2]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"machineType": "a3-highgpu-8g"}, {}]}, [8]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"gpu": UNKNOWN}]}, [UNKNOWN]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"machineFamily": "n4"}]}, []),
        ({"priorities": [{"gpu": {"type": "nvidia-l4", "count": 2}}]}, []),
    ],
)
def test_a_compute_class_makes_pools_for_its_pods(spec: dict[str, Any], gpus: list[Any]) -> None:
    properties = {"metadata": {"name": "fast"}, "spec": spec}
    groups = read(Declared("kubernetes:cloud.google.com/v1:ComputeClass", "x", "urn:x", properties))
    assert [group.gpus_per_node for group in groups if isinstance(group, NodeGroup)] == gpus
    for group in groups:
        assert isinstance(group, NodeGroup)
        assert (group.kind, group.min_nodes, group.max_nodes) == ("auto-provisioned", 0, UNKNOWN)
        assert group.taints == (GPU_TAINT,)
