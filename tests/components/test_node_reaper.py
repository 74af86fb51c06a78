"""Which nodes are broken and when they are taken out of service; who does it on each cloud."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from facts.concepts.broken_nodes import SINCE, TAINT, problem, steps
from tests import one_stack
from tests.stacks import run_program

NOW = datetime(2026, 11, 25, 12, 0, 0, tzinfo=timezone.utc)
CRON_JOB = "kubernetes:batch/v1:CronJob"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"


def node(capacity: int = 8, usable: int = 8, since: str = "", out: bool = False, **conditions: str) -> dict[str, Any]:
    """A node of 8 GPUs. ``since``: a time of the day; ``conditions``: type → status, or the reason of a true one."""
    held = {"Ready": "True", **conditions}
    return {
        "metadata": {
            "name": "n",
            "labels": {"gpucluster.dev/gpus-per-node": "8"},
            "annotations": {SINCE: f"2026-11-25T{since}Z"} if since else {},
        },
        "spec": {"taints": [{"key": TAINT, "effect": "NoExecute"}]} if out else {},
        "status": {
            "capacity": {"nvidia.com/gpu": str(capacity)},
            "allocatable": {"nvidia.com/gpu": str(usable)},
            "conditions": [
                {"type": kind, "status": what, "reason": kind}
                if what in ("True", "False", "Unknown")
                else {"type": kind, "status": "True", "reason": what}
                for kind, what in held.items()
            ],
        },
    }


@pytest.mark.parametrize(
    ("node_with", "expected"),
    [
        ({}, ""),
        ({"usable": 7}, "7 of 8 GPUs usable"),
        ({"usable": 0}, "0 of 8 GPUs usable"),
        # Shared GPUs: the node offers more than it has.
        ({"capacity": 32, "usable": 32}, ""),
        ({"capacity": 32, "usable": 28}, "28 of 32 GPUs usable"),
        # The driver did not see one when the node started.
        ({"capacity": 7, "usable": 7}, "7 of 8 GPUs usable"),
        ({"capacity": 0, "usable": 0}, "0 of 8 GPUs usable"),
        # A node that is not ready is the cloud's.
        ({"usable": 0, "Ready": "False"}, ""),
        ({"usable": 0, "Ready": "Unknown"}, ""),
        # GKE's plugin
        ({"XidCriticalError": '{"79":true,"48":true}'}, "Xid 48, 79"),
        ({"XidCriticalError": '{"63":true}'}, ""),
        ({"XidCriticalError": '{"63":true,"64":true}'}, "Xid 64"),
        ({"XidCriticalError": "False"}, ""),
        # AKS' node problem detector
        ({"GPUMissing": "True"}, "a GPU is missing"),
        ({"GPUMissing": "False"}, ""),
        ({"XIDErrors": "True"}, ""),
        ({"MemoryPressure": "True"}, ""),
    ],
)
def test_a_problem_is_one_of_the_gpus_alone(node_with: dict[str, Any], expected: str) -> None:
    assert problem(node(**node_with)) == expected


@pytest.mark.parametrize(
    ("node_with", "expected"),
    [
        ({}, []),
        ({"usable": 7}, ["note"]),
        ({"usable": 7, "since": "11:50:01"}, []),
        ({"usable": 7, "since": "11:50:00"}, ["end"]),
        # None was there yet: a driver is being installed.
        ({"capacity": 0, "usable": 0}, ["note"]),
        ({"capacity": 0, "usable": 0, "since": "11:40:01"}, []),
        ({"capacity": 0, "usable": 0, "since": "11:40:00"}, ["end"]),
        ({"since": "11:00:00"}, ["forget"]),
        # It stays out of service, and its machine ends if that failed before.
        ({"out": True}, ["end"]),
    ],
)
def test_a_node_ends_only_when_its_problem_lasts(node_with: dict[str, Any], expected: list[str]) -> None:
    assert [action for action, _, _ in steps([node(**node_with)], NOW)] == expected


MANY = [(1, 0, "end"), (2, 0, "pause"), (2, 7, "pause"), (2, 8, "end")]


@pytest.mark.parametrize(("broken", "healthy", "action"), MANY)
def test_a_condition_of_many_nodes_at_once_ends_none(broken: int, healthy: int, action: str) -> None:
    """Those out of service count, and are not ended either: with Karpenter their machines would go."""
    nodes = [node(out=True), *[node(usable=7, since="11:00:00")] * (broken - 1), *[node()] * healthy]
    assert [each for each, _, _ in steps(nodes, NOW)] == [action] * broken


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_it_looks_every_five_minutes_from_the_admin_pool(cloud: str) -> None:
    recording = run_program(one_stack.file(cloud))
    spec = recording.only(CRON_JOB).inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("*/5 * * * *", "Forbid")
    karpenter = {"gke": "no", "eks": "yes", "aks": "no"}[cloud]
    assert pod["containers"][0]["env"] == [{"name": "KARPENTER", "value": karpenter}]
    assert pod["nodeSelector"]["gpucluster.dev/role"] == "admin"
    (rules,) = [
        one.inputs["rules"]
        for one in recording.of_type(ROLE)
        if one.inputs["metadata"]["name"] == pod["serviceAccountName"]
    ]
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]}
    claims = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["delete"]}
    assert rules == [nodes, *([claims] if karpenter == "yes" else [])]
