"""The report quotes Karpenter about pools that get no node, else nothing; a call without a right fails it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from facts.concepts.pool import POOL_LABEL
from packages.rehearsal.tests.objects import Cluster
from rehearsal.checks import calls_allowed
from rehearsal.cluster.api import Api, ApiResource, Object
from rehearsal.scenario.autoscaler_messages import Calls, of_pools, pools_ready, read

POOLS = "/apis/karpenter.sh/v1/nodepools"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
CLASS = "/apis/example.com/v1/machineclasses/gpus"


class Objects:
    """An API server with these objects by path, all lists but the class and its API group."""

    def __init__(self, **changes: Any) -> None:
        self.paths: dict[str, Any] = {
            POOLS: {"items": [nodepool("t4")]},
            CLAIMS: {"items": []},
            "/apis/example.com": {"preferredVersion": {"groupVersion": "example.com/v1"}},
            CLASS: thing("MachineClass", "gpus"),
            **changes,
        }

    def find(self, path: str) -> Object | None:
        return self.paths.get(path)

    def list(self, path: str) -> list[Object]:
        return self.paths[path]["items"]

    def resource(self, version: str, kind: str) -> ApiResource:
        return ApiResource(version, f"{kind.lower()}es", False)


def thing(kind: str, name: str, *conditions: tuple[str, str, str], **more: Any) -> Object:
    parsed = [{"type": type, "status": status, "message": message} for type, status, message in conditions]
    return {"kind": kind, "metadata": {"name": name, **more}, "status": {"conditions": parsed}}


def nodepool(name: str, *conditions: tuple[str, str, str]) -> Object:
    reference = {"group": "example.com", "kind": "MachineClass", "name": "gpus"}
    template = {"metadata": {"labels": {POOL_LABEL: f"{name}-1"}}, "spec": {"nodeClassRef": reference}}
    return {**thing("NodePool", name, *conditions), "spec": {"template": template}}


def messages(api: Objects, cluster: Cluster | None = None, calls: Calls | None = None) -> dict[str, str]:
    return of_pools(cast(Api, api), (cluster or Cluster.empty()).timeline, calls or Calls())


@pytest.mark.parametrize(
    ("pools", "ready"),
    [
        ([], True),
        ([[("Ready", "True", "")]], True),
        ([[("Ready", "True", "")], [("Ready", "Unknown", "")]], False),
        ([[("Ready", "False", "no subnets")], [("Ready", "True", "")]], False),
        ([[]], False),
    ],
)
def test_pools_are_ready_when_all_are(pools: list[Any], ready: bool) -> None:
    items = [nodepool(f"t4-{number}", *conditions) for number, conditions in enumerate(pools)]
    assert pools_ready(cast(Api, Objects(**{POOLS: {"items": items}}))) is ready


def test_pools_are_ready_without_karpenter() -> None:
    assert pools_ready(cast(Api, Objects(**{POOLS: None})))


def test_nothing_where_all_is_well() -> None:
    fine = thing("MachineClass", "gpus", ("ImagesReady", "True", ""), ("Ready", "True", ""))
    assert messages(Objects(**{CLASS: fine})) == {}


def test_nothing_where_there_is_no_karpenter() -> None:
    assert messages(Objects(**{POOLS: None})) == {}


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_conditions_of_what_nodes_are_made_from(status: str) -> None:
    conditions = [("ImagesReady", status, "no image"), ("Ready", status, "ImagesReady is not true")]
    broken = thing("MachineClass", "gpus", *conditions)
    assert messages(Objects(**{CLASS: broken})) == {"t4-1": "MachineClass gpus: no image"}


def test_only_conditions_that_are_false_are_reported() -> None:
    broken = thing(
        "MachineClass", "gpus", ("ImagesReady", "False", "no image"), ("Valid", "Unknown", "awaiting images")
    )
    pool = nodepool("t4", ("NodeRegistrationHealthy", "Unknown", "awaiting reconciliation"))
    actual = messages(Objects(**{POOLS: {"items": [pool]}, CLASS: broken}))
    assert actual == {"t4-1": "MachineClass gpus: no image"}


def test_a_class_of_a_group_that_is_not_served_says_nothing() -> None:
    assert messages(Objects(**{"/apis/example.com": None})) == {}


def test_conditions_of_a_claim_are_its_own_pools() -> None:
    labels = {"karpenter.sh/nodepool": "t4"}
    claim = thing("NodeClaim", "t4-abcde", ("Launched", "Unknown", "not authorized"), labels=labels)
    pools = {"items": [nodepool("t4"), nodepool("l4")]}
    actual = messages(Objects(**{POOLS: pools, CLAIMS: {"items": [claim]}}))
    assert actual == {"t4-1": "NodeClaim t4-abcde: not authorized"}


def test_events_of_karpenter_about_the_pool_and_its_claims_once_each() -> None:
    cluster = Cluster.empty()
    for name in ("t4-abcde", "t4-fghij"):
        cluster.warning(name, "no capacity", kind="NodeClaim", reason="InsufficientCapacityError", source="karpenter")
    cluster.warning("t4", "no instance type", kind="NodePool", source="karpenter")
    cluster.warning("t4-large-abcde", "another pool's", kind="NodeClaim", source="karpenter")
    cluster.warning("t4-abcde", "somebody else's", kind="NodeClaim", source="kubelet")
    cluster.warning("t4", "a pod of that name", kind="Pod", source="karpenter")
    assert messages(Objects(), cluster) == {"t4-1": "NodeClaim: no capacity; NodePool: no instance type"}


def test_calls_that_the_cloud_denied_come_first() -> None:
    broken = thing("MachineClass", "gpus", ("ImagesReady", "Unknown", "not authorized"))
    actual = messages(Objects(**{CLASS: broken}), calls=Calls(2, ("ec2:DescribeImages was denied",)))
    assert actual == {"t4-1": "ec2:DescribeImages was denied; MachineClass gpus: not authorized"}


def test_a_word_of_any_length_leaves_room_for_the_others() -> None:
    broken = thing("MachineClass", "gpus", ("A", "False", "x" * 10_000), ("B", "False", "the other"))
    actual = messages(Objects(**{CLASS: broken}))["t4-1"]
    assert actual.endswith("; MachineClass gpus: the other")
    assert len(actual) < 1000


DENIED = {"service": "sqs", "operation": "GetQueueUrl", "verdict": "denied", "missing": "no right", "resources": ["q"]}
ALLOWED = {"service": "ec2", "operation": "DescribeImages", "verdict": "allowed"}
FAILED = {"service": "ec2", "operation": "CreateFleet", "verdict": "failed", "error": "no capacity"}


def logged(folder: Path, *calls: object) -> Calls:
    (folder / "cloud-calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    return read(folder)


def test_a_denied_call_fails_and_says_which_right_is_missing(tmp_path: Path) -> None:
    (check,) = calls_allowed(logged(tmp_path, ALLOWED, DENIED, DENIED, FAILED))
    assert not check.passed
    assert check.detail == "sqs:GetQueueUrl was denied: no right"


def test_calls_that_failed_for_another_reason_are_the_cloud_s(tmp_path: Path) -> None:
    (check,) = calls_allowed(logged(tmp_path, ALLOWED, FAILED))
    assert check.passed
    assert check.detail == "2 calls, none denied"


def test_a_right_that_came_late_is_there(tmp_path: Path) -> None:
    assert logged(tmp_path, DENIED, {**DENIED, "verdict": "allowed"}).denied == ()
    assert logged(tmp_path, {**DENIED, "verdict": "allowed"}, DENIED).denied
    assert logged(tmp_path, DENIED, {**DENIED, "verdict": "allowed", "resources": ["another"]}).denied


def test_without_calls_there_is_nothing_to_check(tmp_path: Path) -> None:
    assert list(calls_allowed(read(tmp_path))) == []
