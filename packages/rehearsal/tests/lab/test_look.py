"""When a rehearsal of own machines takes a node as ready."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rehearsal.cluster.api import Api
from rehearsal.own_machines.look import ClusterView


class OneNode:
    """A cluster whose node reports itself as ready, with taints by their keys."""

    def __init__(self, *taints: str) -> None:
        self._taints = [{"key": key, "effect": "NoSchedule"} for key in taints]

    def list(self, _: str) -> list[dict[str, Any]]:
        status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"nvidia.com/gpu": "2"}}
        return [{"metadata": {"name": "gpu1"}, "spec": {"taints": self._taints}, "status": status}]


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        ((), ""),
        (("node.kubernetes.io/unschedulable",), ""),
        (("nvidia.com/gpu", "node.kubernetes.io/not-ready"), "gpu1 is not ready"),
    ],
)
def test_a_node_is_ready_without_the_taint_of_one_that_is_not(taints: tuple[str, ...], expected: str) -> None:
    assert ClusterView(cast("Api", OneNode(*taints))).not_ready(["gpu1"], {"gpu1": 2}) == expected
