"""The check of the cloud's node groups fails for each difference, by itself; why a pod waits, as it is told."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.parts import Nodes, Scaling
from facts.concepts.pool import Pool
from packages.rehearsal.tests.objects import Cluster, admin_pool, gpu_pool, job_yaml
from packages.rehearsal.tests.tables import cases
from rehearsal.checks import groups_as_declared, groups_as_planned, workloads
from rehearsal.engine.stack import resolve
from rehearsal.fleet.groups import read_report, write_report
from rehearsal.scenario.check import Pools, pools_of
from rehearsal.scenario.plan import Scenario, derive
from rehearsal.scenario.player import Played, Submitted
from rehearsal.scenario.user import SubmissionReply
from rehearsal.simulation import NodeShape, SimulatedNodeGroup
from tests.components.specs import changed

SPOT = gpu_pool("t4-1", 1, most=2)
SECOND = gpu_pool("t4-1-ondemand", 1, most=2, capacity_type="on-demand", preference=1)
ADMIN = admin_pool()
POOLS = Pools((SPOT, SECOND), (), ADMIN, {SPOT.name: 100 * 1024}, {"n1-standard-4": 14384}, in_groups=True)


def group_of(pool: Pool, gpus: int, **changes: Any) -> SimulatedNodeGroup:
    """The group that a cloud makes of a pool."""
    group = SimulatedNodeGroup(
        name=pool.name,
        cluster="c",
        machine=NodeShape(4, 16, gpus=gpus),
        nodes=Nodes(
            machine_types=pool.nodes.machine_types[:1],
            zones=pool.nodes.zones,
            labels=dict(pool.nodes.labels),
            taints=pool.nodes.taints,
        ),
        scaling=Scaling(
            autoscaled=pool.scaling.autoscaled,
            min_nodes=pool.scaling.min_nodes,
            max_nodes=pool.scaling.max_nodes,
            capacity_type="spot" if pool.scaling.spot else "on-demand",
        ),
        initial_nodes=pool.nodes_per_zone,
        rank=float(pool.scaling.preference),
    )
    return changed(group, **changes)


def judged(pools: Pools = POOLS, *, limited: bool = False, **changes: Any) -> str:
    """What is wrong when the spot group has ``changes``; empty if nothing is."""
    groups = [group_of(ADMIN, 0), group_of(SPOT, 1, **changes), group_of(SECOND, 1)]
    check = groups_as_declared(groups, pools, limited=limited)
    return "" if check.passed else check.detail


def test_groups_as_their_pools_pass() -> None:
    assert judged() == ""


@cases
def test_each_difference_fails_the_check(changes: dict[str, Any], problem: str) -> None:
    """``machine``: the fields of its shape; ``label``: another value of one."""
    changes = {key: tuple(value) if isinstance(value, list) else value for key, value in changes.items()}
    if "machine" in changes:
        changes["machine"] = NodeShape(**changes["machine"])
    if "label" in changes:
        changes["labels"] = {**SPOT.nodes.labels, **changes.pop("label")}
    assert problem in judged(**changes)
    assert ";" not in judged(**changes) or not changes.get("labels", True)


def test_labels_and_taints_that_the_autoscaler_does_not_know_yet_count() -> None:
    known = group_of(SPOT, 1)
    assert judged(labels={"gpucluster.dev/pool": "t4-1"}, late_labels=known.nodes.labels) == ""
    assert judged(taints=(), late_taints=known.nodes.taints) == ""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"late_labels": {"gpucluster.dev/gpu": "nvidia-t4"}}, "t4-1 is planned without gpucluster.dev/gpu"),
        ({"late_labels": {"of-the-cloud": "x"}}, ""),
        ({"taints": (), "late_taints": group_of(SPOT, 1).nodes.taints}, "t4-1 is planned without nvidia.com/gpu"),
        ({"labels": {}, "late_labels": SPOT.nodes.labels}, "t4-1 is planned without the label gpucluster.dev/pool"),
        ({"machine": NodeShape(4, 16, gpus=4), "offered_gpus": 2}, "t4-1 is planned with 4 GPUs"),
        ({"machine": NodeShape(4, 16, gpus=1, disk_mib=0)}, "t4-1 is planned without a disk"),
        ({"late_labels": SPOT.nodes.labels, "min_nodes": 1}, ""),
    ],
)
def test_an_empty_group_is_planned_as_its_nodes_will_be(changes: dict[str, Any], problem: str) -> None:
    check = groups_as_planned([group_of(ADMIN, 0), group_of(SPOT, 1, **changes)], POOLS)
    assert (check.passed, problem in check.detail) == (not problem, True)


def test_an_account_with_limits_may_shrink_a_group() -> None:
    assert judged(max_nodes=1)
    assert judged(limited=True, max_nodes=1) == ""


def test_pools_of_karpenter_have_no_groups() -> None:
    groups = [group_of(ADMIN, 0)]
    assert not groups_as_declared(groups, POOLS).passed
    assert groups_as_declared(groups, Pools((SPOT, SECOND), (), ADMIN)).passed
    assert not pools_of(resolve("examples/eks-karpenter.yaml").settings).in_groups
    assert pools_of(resolve("dev").settings).in_groups


def test_the_fleets_report_has_the_groups(tmp_path: Path) -> None:
    group = group_of(SPOT, 1)
    assert read_report(tmp_path / "fleet.json") == []
    write_report(tmp_path / "fleet.json", None, [group])
    (read,) = read_report(tmp_path / "fleet.json")
    assert json.dumps(asdict(read)) == json.dumps(asdict(group))
    assert groups_as_declared([read, group_of(ADMIN, 0), group_of(SECOND, 1)], POOLS).passed


@pytest.mark.parametrize(
    ("type", "reason", "source", "fits_nowhere"),
    [
        ("Normal", "NotTriggerScaleUp", "cluster-autoscaler", True),
        ("Warning", "FailedScheduling", "karpenter", True),
        ("Warning", "FailedScheduling", "default-scheduler", False),
        ("Normal", "Nominated", "karpenter", False),
        ("Normal", "TriggeredScaleUp", "cluster-autoscaler", False),
    ],
)
def test_either_autoscaler_says_that_no_pool_fits(
    cluster: Cluster, type: str, reason: str, source: str, fits_nowhere: bool
) -> None:
    cluster.pod("waits")
    cluster.warning("waits", "1 max node group size reached", type=type, reason=reason, source=source)
    assert cluster.timeline.considered("waits") is fits_nowhere
    assert not cluster.timeline.considered("another")


def test_cluster_autoscalers_reason_comes_before_the_schedulers(cluster: Cluster) -> None:
    cluster.pod("waits")
    said = "pod didn't trigger scale-up: 1 max node group size reached"
    cluster.warning("waits", said, type="Normal", reason="NotTriggerScaleUp", source="cluster-autoscaler")
    cluster.warning("waits", "0/5 nodes are available", source="default-scheduler")
    assert cluster.timeline.why_pending("waits") == said
    cluster.warning("waits", "no scopes", reason="NodeGroupNotScaled")
    assert cluster.timeline.why_pending("waits") == "no scopes"


WAITED_FOR = Pools((gpu_pool("t4-1", 1, most=2),), (), admin_pool())
SCENARIO: Scenario = derive(WAITED_FOR.gpu, {pool.name: job_yaml(pool) for pool in WAITED_FOR.gpu}, 2.0)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.empty()


@pytest.mark.parametrize("rest", ["", " no new claims to deallocate,", " no new claims to deallocate"])
def test_the_reason_of_a_waiting_pod_omits_the_schedulers_words_on_preemption(cluster: Cluster, rest: str) -> None:
    cluster.pod("waits")
    message = "0/14 nodes are available: 10 Insufficient nvidia.com/gpu, 4 node(s) didn't match."
    cluster.warning("waits", f"{message}{rest} preemption: 0/14 nodes are available: 14 No preemption victims found.")
    assert cluster.timeline.why_pending("waits") == message


@cases
def test_a_full_pool_makes_the_next_pod_wait_and_something_says_why(
    cluster: Cluster, waited: bool, reason: str, expected: str | None
) -> None:
    extra = SCENARIO.burst.extra
    assert extra is not None
    played = Played([Submitted(extra, cluster.timeline.now(), SubmissionReply(True))])
    cluster.node("gpu-0", SCENARIO.burst.pool, size=1)
    cluster.pod(extra.workload)
    if reason:
        cluster.warning(extra.workload, reason)
    played.extra_waited_until = cluster.after(4).timeline.now() if waited else None
    cluster.pod(extra.workload, node="gpu-0", phase="Running", change="MODIFIED")
    checks = workloads.burst_checks(cluster.timeline, SCENARIO, played)
    at_maximum = next(check for check in checks if check.id == "waits-at-max")
    assert at_maximum.passed is (expected is not None)
    if expected:
        assert f"still Pending 4.0 s after submission, pool full {expected}; after" in at_maximum.detail
