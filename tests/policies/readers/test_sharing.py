"""Configurations that offer a GPU several times are found wherever they are, and refused beside an autoscaler."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import GpuSharing, NodeGroup, Stack
from facts.concepts.unknown import UNKNOWN
from policies.readers import read_stack
from policies.readers.kubernetes.sharing import replicated
from policies.readers.resource import Declared
from policies.rules.sharing import visible

YAML = "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: {}\n"


@pytest.mark.parametrize(
    ("value", "replicas"),
    [
        ({"a": YAML.format(4)}, 4),
        ({"a": YAML.format(1)}, None),
        ({"a": YAML.format(2), "b": YAML.format(8)}, 8),
        ({"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}}, 3),
        ({"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": UNKNOWN}]}}, UNKNOWN),
        ({"replicas": 3}, None),
        ('{"sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}}', 2),
        (None, None),
    ],
)
def test_how_often_a_gpu_is_offered(value: Any, replicas: Any) -> None:
    assert replicated(value) == replicas


def test_sharing_is_refused_only_beside_an_autoscaler() -> None:
    config_map = Declared("kubernetes:core/v1:ConfigMap", "plugin", "urn:p", {"data": {"a": YAML.format(4)}})
    (shared,) = read_stack([config_map]).sharing
    assert shared == GpuSharing("ConfigMap 'plugin'", 4, "urn:p")
    group = NodeGroup("t4", "any", gpus_per_node=1, autoscaled=True)
    (violation,) = visible(Stack(groups=(group,), sharing=(shared,)))
    assert violation.message == "ConfigMap 'plugin' advertises each GPU 4 times; the autoscaler of 't4' does not know."
    assert visible(Stack(groups=(NodeGroup("rack", "any", gpus_per_node=1),), sharing=(shared,))) == []
    assert visible(Stack(groups=(group,), sharing=(GpuSharing("c", UNKNOWN),)))[0].not_evaluated
