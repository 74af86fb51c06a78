"""Which pods of a program would not run, or would keep a GPU node alive."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.mutants.replay import misplaced
from rehearsal.simulation import NodeShape, SimulatedNodeGroup

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
GROUPS = [
    SimulatedNodeGroup("admin", "c", NodeShape("m", 2, 8), ("a",), {"role": "admin"}, min_nodes=1, max_nodes=1),
    SimulatedNodeGroup("t4", "c", NodeShape("g", 4, 16, gpus=1), ("a",), {"role": "gpu"}, (TAINT,), max_nodes=2),
]
ANY = [{"operator": "Exists"}]


def deployment(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "kube-system"}, "spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"nodeSelector": {"role": "admin"}, "tolerations": ANY}, ""),
        ({"nodeSelector": {"role": "admins"}}, "system-pods-run: web never runs: it selects role=admins"),
        ({"tolerations": ANY}, "system-pods-off-gpu: web may run on a GPU node of t4"),
    ],
)
def test_a_deployment_runs_and_only_beside_gpus(spec: dict[str, Any], problem: str) -> None:
    reported = misplaced(GROUPS, [deployment(**spec)], [])
    assert reported.startswith(problem)
    assert bool(reported) is bool(problem)


def test_a_group_whose_gpus_nobody_advertises() -> None:
    plain = SimulatedNodeGroup("t4", "c", NodeShape("g", 4, 16, gpus=1), ("a",), gpus_advertised_by="device-plugin")
    assert misplaced([plain], [], []).startswith("reached:t4: no DaemonSet runs NVIDIA's device plugin")
