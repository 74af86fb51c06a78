"""Each check flips when one observation changes; the network test has all network devices of a node for each worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Fabric
from packages.rehearsal.tests.objects import Cluster, admin_pool, gpu_pool, job_yaml
from packages.rehearsal.tests.tables import cases
from rehearsal.checks import cluster as of_cluster
from rehearsal.checks import workloads
from rehearsal.checks.cluster import nodes_as_declared, system_pods_run
from rehearsal.checks.workloads import workload_checks
from rehearsal.scenario.check import Check, Pools
from rehearsal.scenario.plan import RunsOn, Scenario, Submission, derive
from rehearsal.scenario.player import Played, Submitted, whole_node
from rehearsal.scenario.user import SubmissionReply
from tests.components.specs import changed

SMALL, LARGE = gpu_pool("t4-1", 1, most=2), gpu_pool("t4-4", 4, most=1)
POOLS = Pools((SMALL, LARGE), (), admin_pool())
SCENARIO: Scenario = derive(POOLS.gpu, {pool.name: job_yaml(pool) for pool in POOLS.gpu}, 2.0)


def submitted(
    one: Submission, cluster: Cluster, reply: SubmissionReply | None = None, idle: Sequence[str] = ()
) -> Submitted:
    return Submitted(one, cluster.timeline.now(), reply or SubmissionReply(True), tuple(idle))


def by_id(checks: Sequence[Check], id: str) -> Check:
    return next(check for check in checks if check.id == id)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster.empty()
    cluster.node("admin-0", "admin")
    cluster.pod("dns", node="admin-0", phase="Running", gpus=0, namespace="kube-system", owner=("ReplicaSet", "dns-1"))
    return cluster.after(5)


def test_a_gpu_node_before_the_first_gpu_pod_fails_the_check(cluster: Cluster) -> None:
    played = Played(first_gpu_submission=cluster.timeline.now())
    assert of_cluster.starts_at_zero(cluster.timeline, played).passed
    cluster.node("gpu-0", "t4-1", size=1)
    later = Played(first_gpu_submission=cluster.after(1).timeline.now())
    assert "gpu-0 (t4-1)" in of_cluster.starts_at_zero(cluster.timeline, later).detail
    assert not of_cluster.starts_at_zero(cluster.timeline, later).passed


def test_a_system_pod_on_a_gpu_node_fails_and_a_node_agent_does_not(cluster: Cluster) -> None:
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.pod("agent", node="gpu-0", phase="Running", gpus=0, namespace="kube-system", owner=("DaemonSet", "agent"))
    assert of_cluster.system_pods_off_gpus(cluster.timeline).passed
    cluster.pod("metrics", node="gpu-0", phase="Running", gpus=0, namespace="kube-system", owner=("ReplicaSet", "m-1"))
    check = of_cluster.system_pods_off_gpus(cluster.timeline)
    assert not check.passed
    assert check.detail == "kube-system/metrics on gpu-0 (t4-1)"


def test_a_timeline_that_saw_no_system_pod_proves_nothing() -> None:
    assert not of_cluster.system_pods_off_gpus(Cluster.empty().timeline).passed


def test_a_pool_above_its_maximum_fails_the_check(cluster: Cluster) -> None:
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.node("gpu-1", "t4-1", size=1)
    (check,) = of_cluster.limits(cluster.timeline, POOLS)
    assert check.passed
    cluster.node("gpu-2", "t4-1", size=1)
    (check,) = of_cluster.limits(cluster.timeline, POOLS)
    assert check.detail == "t4-1 had 3 nodes at once, its maximum is 2"


def test_nodes_one_after_the_other_are_not_at_once(cluster: Cluster) -> None:
    for number in range(3):
        cluster.after(1).node(f"gpu-{number}", "t4-1", size=1)
        cluster.after(1).deleted(f"gpu-{number}", "t4-1", size=1)
    assert cluster.timeline.peak("t4-1") == 1


def test_a_node_that_is_being_deleted_counts_against_no_maximum(cluster: Cluster) -> None:
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.node("gpu-1", "t4-1", size=1)
    cluster.after(1).node("gpu-0", "t4-1", size=1, change="MODIFIED", leaving=True)
    cluster.after(1).node("gpu-2", "t4-1", size=1)
    (check,) = of_cluster.limits(cluster.timeline, POOLS)
    assert check.passed
    cluster.after(1).node("gpu-3", "t4-1", size=1)
    (check,) = of_cluster.limits(cluster.timeline, POOLS)
    assert check.detail == "t4-1 had 3 nodes at once, its maximum is 2"


def test_gpus_that_never_appear_are_not_a_pool_that_scaled_up(cluster: Cluster) -> None:
    cluster.node("gpu-0", "t4-1", size=1, gpus=0)
    cluster.warning("gpu-0", "no driver: the DaemonSet does not tolerate spot", kind="Node", reason="DriverMissing")
    check = list(of_cluster.reached(cluster.timeline, POOLS, Played(), {}))
    assert not by_id(check, "reached:t4-1").passed
    assert "does not tolerate spot" in by_id(check, "reached:t4-1").detail
    cluster.node("gpu-0", "t4-1", size=1, change="MODIFIED")
    assert by_id(list(of_cluster.reached(cluster.timeline, POOLS, Played(), {})), "reached:t4-1").passed


def test_a_pool_without_nodes_is_explained_by_its_autoscaler(cluster: Cluster) -> None:
    messages = {"t4-1": "no image", "t4-4": "no subnet"}
    check = list(of_cluster.reached(cluster.timeline, POOLS, Played(), messages))
    assert by_id(check, "reached:t4-1").detail.endswith(": no image")
    assert by_id(check, "reached:t4-4").detail.endswith(": no subnet")
    cluster.node("gpu-0", "t4-1", size=1)
    assert (
        "no image"
        not in by_id(list(of_cluster.reached(cluster.timeline, POOLS, Played(), messages)), "reached:t4-1").detail
    )


@pytest.mark.parametrize(("nodes", "others", "passed"), [(1, 0, True), (2, 0, False), (2, 1, True)])
def test_more_nodes_than_pods_that_wait_are_not_a_pool_that_scaled_up(
    cluster: Cluster, nodes: int, others: int, passed: bool
) -> None:
    played = Played([submitted(SCENARIO.gpu_limit_only, cluster)])
    name = SCENARIO.gpu_limit_only.workload
    for pod in (name, *(f"other-{number}" for number in range(others))):
        cluster.pod(pod)
    for number in range(nodes):
        cluster.after(1).node(f"gpu-{number}", "t4-1", size=1)
    cluster.after(1).pod(name, node="gpu-0", phase="Running", change="MODIFIED")
    # What starts later is not for it.
    cluster.after(1).node("gpu-later", "t4-1", size=1)
    check = by_id(list(of_cluster.reached(cluster.timeline, POOLS, played, {})), "reached:t4-1")
    assert check.passed is passed
    assert check.detail.endswith("2 nodes started for 1 pod: gpu-0, gpu-1") is not passed


def test_cpu_work_on_a_gpu_node_or_nodes_started_for_it_fail_the_check(cluster: Cluster) -> None:
    job, crowd = SCENARIO.cpu
    played = Played([submitted(job, cluster), submitted(crowd, cluster)])
    cluster.pod("cpu-job-x", node="admin-0", phase="Succeeded", gpus=0, owner=("Job", "cpu-job"))
    cluster.pod("cpu-crowd", gpus=0)
    played.cpu_done = cluster.after(5).timeline.now()
    assert of_cluster.cpu_work_wakes_none(cluster.timeline, played).passed
    played.cpu_done = cluster.after(5).timeline.now()
    cluster.clock.moment -= 1
    cluster.node("gpu-0", "t4-1", size=1)
    assert "GPU nodes started while only" in of_cluster.cpu_work_wakes_none(cluster.timeline, played).detail
    cluster.pod("cpu-crowd", node="gpu-0", phase="Running", gpus=0, change="MODIFIED")
    assert "cpu-crowd ran on GPU node gpu-0" in of_cluster.cpu_work_wakes_none(cluster.timeline, played).detail


def test_the_wrong_pool_and_a_program_that_fails_fail_the_check(cluster: Cluster) -> None:
    played = Played([submitted(SCENARIO.gpu_limit_only, cluster)])
    cluster.node("gpu-0", "t4-4", size=4)
    cluster.after(2).pod("gpu-pod", node="gpu-0", phase="Running")
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "gpu-pod")
    assert not check.passed
    assert check.detail == "gpu-pod ran on t4-4, expected t4-1"
    cluster.warning("gpu-pod", "no match for linux/arm64", reason="ProgramFailed")
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "gpu-pod")
    assert check.detail.endswith("; gpu-pod did not work: no match for linux/arm64")


def test_a_pod_that_never_ran_is_reported_with_the_schedulers_reason(cluster: Cluster) -> None:
    played = Played([submitted(SCENARIO.gpu_limit_only, cluster)])
    cluster.pod("gpu-pod")
    cluster.warning("gpu-pod", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "gpu-pod")
    assert not check.passed
    assert "Insufficient nvidia.com/gpu" in check.detail


def test_a_group_that_nobody_scales_is_the_reason_whatever_others_say_later(cluster: Cluster) -> None:
    played = Played([submitted(SCENARIO.gpu_limit_only, cluster)])
    cluster.pod("gpu-pod")
    cluster.warning("gpu-pod", "t4-1 cannot grow: no tag", reason="NodeGroupNotScaled", pool="t4-1")
    cluster.warning("gpu-pod", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "gpu-pod")
    assert check.detail == "gpu-pod never ran: t4-1 cannot grow: no tag"
    reached = list(of_cluster.reached(cluster.timeline, POOLS, Played(), {}))
    assert by_id(reached, "reached:t4-1").detail.endswith("with allocatable GPUs: t4-1 cannot grow: no tag")
    assert "no tag" not in by_id(reached, "reached:t4-4").detail


def test_troubles_with_machines_are_current_only_while_somebody_waits(cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.pod(name)
        cluster.warning(name, "t4-1 cannot grow: no tag", reason="NodeGroupNotScaled", pool="t4-1")
    cluster.node("gpu-0", "t4-1", size=1, gpus=0)
    cluster.warning("gpu-0", "the node advertises no GPU", kind="Node", reason="DevicePluginMissing")
    cluster.warning("one", "Insufficient nvidia.com/gpu")

    def current() -> list[tuple[str, str]]:
        return [(trouble.pool, trouble.message) for trouble in cluster.timeline.unusable_machines()]

    assert current() == [("t4-1", "t4-1 cannot grow: no tag"), ("", "the node advertises no GPU")]
    cluster.pod("one", node="gpu-1", phase="Running", change="MODIFIED")
    assert len(current()) == 2
    cluster.pod("two", change="DELETED")
    assert current() == [("", "the node advertises no GPU")]
    cluster.node("gpu-0", "t4-1", size=1, change="MODIFIED")
    assert current() == []


@cases
def test_a_multi_gpu_pod_needs_a_reason_with_the_line_to_add(cluster: Cluster, message: str, passed: bool) -> None:
    one = next(one for one in SCENARIO.unschedulable if one.id == "plain-multi-gpu")
    played = Played([submitted(one, cluster)])
    cluster.pod("plain-multi-gpu", gpus=4)
    if message:
        cluster.warning("plain-multi-gpu", message)
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "plain-multi-gpu")
    assert check.passed is passed


def test_a_pod_placed_instead_of_waiting_fails_the_check(cluster: Cluster) -> None:
    one = SCENARIO.unschedulable[0]
    played = Played([submitted(one, cluster, SubmissionReply(True, warnings=("asks for too many",)))])
    cluster.pod("over-large", node="gpu-0", phase="Running", gpus=5)
    assert not by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "over-large").passed


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        (SubmissionReply(True), False),
        (SubmissionReply(False, "namespace is terminating"), False),
        (SubmissionReply(False, "remove the toleration of gpucluster.dev/gpus-per-node=4"), True),
    ],
)
def test_a_toleration_of_larger_nodes_is_refused_for_its_reason(
    cluster: Cluster, reply: SubmissionReply, passed: bool
) -> None:
    (larger,) = [one for one in SCENARIO.refused if one.id == "larger-node"]
    played = Played([submitted(larger, cluster, reply)])
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "larger-node")
    assert check.passed is passed


def test_fragmentation_is_only_rehearsed_beside_an_idle_larger_node(cluster: Cluster) -> None:
    fragment = SCENARIO.fragment
    assert fragment is not None
    cluster.node("gpu-0", "t4-1", size=1)
    for idle, passed in (((), False), (("gpu-9",), True)):
        played = Played([submitted(fragment, cluster, idle=idle)])
        cluster.pod("fragment", node="gpu-0", phase="Succeeded")
        assert by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "fragment").passed is passed


def test_what_was_not_submitted_did_not_pass() -> None:
    checks = list(workloads.workload_checks(Cluster.empty().timeline, SCENARIO, Played()))
    assert checks
    assert not any(check.passed for check in checks)


def test_a_node_that_stays_is_reported_with_the_pod_that_holds_it(cluster: Cluster) -> None:
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.pod("metrics", node="gpu-0", phase="Running", gpus=0, namespace="kube-system", owner=("ReplicaSet", "m-1"))
    check = of_cluster.back_to_zero(cluster.timeline, Played(all_deleted=cluster.timeline.now()))
    assert not check.passed
    assert check.detail == "gpu-0 (t4-1) still running; not removed because of metrics"


def test_the_admin_pool_must_not_shrink_even_for_a_moment(cluster: Cluster) -> None:
    played = Played(first_gpu_submission=cluster.timeline.now())
    assert of_cluster.admin_stays(cluster.timeline, POOLS, played).passed
    cluster.after(1).deleted("admin-0", "admin")
    cluster.after(1).node("admin-1", "admin")
    assert not of_cluster.admin_stays(cluster.timeline, POOLS, played).passed


GPU_NODE = {"size": 1, "taints": SMALL.nodes.taints}


@cases
def test_a_node_unlike_its_pool_fails_the_check(cluster: Cluster, change: dict[str, Any], problem: str | None) -> None:
    cluster.node("gpu-0", "t4-1", **{**GPU_NODE, **change})
    check = nodes_as_declared(cluster.timeline, POOLS)
    assert check.passed is (problem is None), check.detail
    if problem is not None:
        assert check.detail == f"gpu-0 (t4-1) {problem}"


def test_a_node_of_no_declared_pool_fails_and_no_node_proves_nothing(cluster: Cluster) -> None:
    cluster.node("gpu-0", "v100-8", **GPU_NODE)
    assert nodes_as_declared(cluster.timeline, POOLS).detail == "gpu-0 belongs to no pool of the stack"
    assert not nodes_as_declared(Cluster.empty().timeline, POOLS).passed


def test_a_node_that_its_autoscaler_has_not_completed_is_not_judged(cluster: Cluster) -> None:
    starting = Taint("karpenter.sh/unregistered", None, "NoExecute")
    cluster.node("gpu-0", "t4-1", size=1, taints=(starting,))
    assert nodes_as_declared(cluster.timeline, POOLS).passed
    cluster.node("gpu-0", "t4-1", size=1, change="MODIFIED")
    assert not nodes_as_declared(cluster.timeline, POOLS).passed


def test_a_system_pod_that_waits_or_failed_fails_the_check(cluster: Cluster) -> None:
    played = Played()
    assert system_pods_run(cluster.timeline, played).passed
    cluster.pod("metrics", gpus=0, namespace="kube-system", owner=("ReplicaSet", "m-1"))
    cluster.warning("metrics", "0/1 nodes are available: 1 Insufficient cpu.")
    check = system_pods_run(cluster.timeline, played)
    assert check.detail == "kube-system/metrics never ran: 0/1 nodes are available: 1 Insufficient cpu."
    assert not check.passed
    cluster.pod("metrics", node="admin-0", phase="Running", gpus=0, namespace="kube-system", change="MODIFIED")
    assert system_pods_run(cluster.timeline, played).passed
    cluster.pod("metrics", node="admin-0", phase="Failed", gpus=0, namespace="kube-system", change="MODIFIED")
    assert not system_pods_run(cluster.timeline, played).passed


@pytest.mark.parametrize(("owner", "passed"), [("DaemonSet", True), ("ReplicaSet", False)])
def test_an_agent_of_a_deleted_node_is_not_waited_for(cluster: Cluster, owner: str, passed: bool) -> None:
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.pod("agent", node="gpu-0", gpus=0, namespace="kube-system", owner=(owner, "agents"))
    assert not system_pods_run(cluster.timeline, Played()).passed, "its node is there"
    cluster.node("gpu-0", "t4-1", size=1, change="DELETED")
    assert system_pods_run(cluster.timeline, Played()).passed is passed


def test_what_comes_after_the_last_gpu_pod_is_not_waited_for(cluster: Cluster) -> None:
    played = Played(all_deleted=cluster.after(1).timeline.now())
    cluster.after(1).pod("late", gpus=0, namespace="kube-system", owner=("ReplicaSet", "m-1"))
    assert system_pods_run(cluster.timeline, played).passed


def test_the_pods_of_a_job_are_reported_together_by_node(cluster: Cluster) -> None:
    job = SCENARIO.jobs[0]
    assert isinstance(job.expect, RunsOn)
    (pool,) = job.expect.pools
    played = Played([submitted(job, cluster)])
    cluster.node("gpu-0", pool, size=1)
    cluster.node("gpu-1", pool, size=1)
    for pod, node in (("a", "gpu-0"), ("b", "gpu-0"), ("c", "gpu-1")):
        cluster.pod(pod, owner=("Job", job.workload))
        cluster.after(1).pod(pod, node=node, phase="Succeeded", owner=("Job", job.workload), change="MODIFIED")
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), job.id)
    assert check.detail == f"2 pods ran on gpu-0 ({pool}) after 1.0 s; ran on gpu-1 ({pool}) after 1.0 s"


@pytest.mark.parametrize(("phase", "passed"), [("Running", False), ("Failed", False), ("Succeeded", True)])
def test_a_job_must_succeed(cluster: Cluster, phase: str, passed: bool) -> None:
    job = next(one for one in SCENARIO.jobs if one.id == "job:t4-1")
    played = Played([submitted(job, cluster)])
    cluster.node("gpu-0", "t4-1", **GPU_NODE)
    cluster.pod("try-t4-1-x", node="gpu-0", phase=phase, owner=("Job", "try-t4-1"))
    check = by_id(list(workloads.workload_checks(cluster.timeline, SCENARIO, played)), "job:t4-1")
    assert check.passed is passed


@pytest.mark.parametrize(("pool", "passed"), [("t4-1-spot", True), ("t4-1-ondemand", False)])
def test_a_pod_that_names_no_pool_gets_the_preferred_pool(cluster: Cluster, pool: str, passed: bool) -> None:
    fallback_order = (gpu_pool("t4-1-spot", 1), gpu_pool("t4-1-ondemand", 1, capacity_type="on-demand", preference=1))
    scenario = derive(fallback_order, {each.name: job_yaml(each) for each in fallback_order}, 2.0)
    (ordered,) = scenario.fallback_order
    played = Played([submitted(ordered, cluster)])
    cluster.node("gpu-0", pool, size=1)
    cluster.pod(ordered.workload, node="gpu-0", phase="Succeeded")
    check = by_id(list(workloads.workload_checks(cluster.timeline, scenario, played)), ordered.id)
    assert check.passed is passed


def test_a_pool_that_does_not_scale_up_again_fails_the_check(cluster: Cluster) -> None:
    free = {"cpu": 3.9, "memory": 12 * 1024.0**3}
    again = whole_node("t4-1", SCENARIO.again["t4-1"], free)
    played = Played([submitted(again, cluster)])
    cluster.pod("again-x", owner=("Job", again.workload))
    cluster.warning("again-x", "Insufficient cpu")
    checks = list(workloads.again_checks(cluster.timeline, SCENARIO, played))
    assert {check.id: check.passed for check in checks} == {"again:t4-1": False, "again:t4-4": False}
    assert "Insufficient cpu" in by_id(checks, "again:t4-1").detail
    cluster.node("gpu-0", "t4-1", **GPU_NODE)
    cluster.pod("again-x", node="gpu-0", phase="Succeeded", owner=("Job", again.workload), change="MODIFIED")
    checks = list(workloads.again_checks(cluster.timeline, SCENARIO, played))
    assert by_id(checks, "again:t4-1").passed
    cluster.node("gpu-1", "t4-1", **GPU_NODE)
    checks = list(workloads.again_checks(cluster.timeline, SCENARIO, played))
    assert "2 nodes started for a job that fits one node: gpu-0, gpu-1" in by_id(checks, "again:t4-1").detail
    assert not by_id(checks, "again:t4-1").passed


EFA = "vpc.amazonaws.com/efa"
FABRIC = Fabric(devices=32, resource=EFA)
POOL = gpu_pool("h100-8", 8, most=2, fabric=FABRIC)


def network_test() -> dict[str, str]:
    job = yaml.safe_load(job_yaml(POOL))
    job["metadata"]["name"] = "workers"
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][EFA] = 32
    return {POOL.name: yaml.safe_dump_all([job, {"kind": "Service"}])}


@pytest.mark.parametrize(
    ("asked", "has", "nodes", "passes"),
    [(32, 32, "ab", True), (16, 32, "ab", False), (32, 32, "aa", False), (0, 0, "ab", False), (32, 32, "a", False)],
)
def test_each_worker_has_all_devices_of_a_node_of_its_own(asked: int, has: int, nodes: str, passes: bool) -> None:
    scenario = derive((POOL,), {POOL.name: job_yaml(POOL)}, 2.0, fabric_tests=network_test())
    (one,) = scenario.network_tests
    cluster = Cluster.empty()
    for name in set(nodes):
        cluster.node(name, POOL.name, size=8, offered={EFA: str(has)})
    for number, name in enumerate(nodes):
        owner = ("Job", "workers")
        cluster.pod(f"w-{number}", node=name, phase="Running", gpus=8, owner=owner, limits={EFA: str(asked)})
    played = Played([Submitted(one, 0.0, SubmissionReply(True), ())])
    (check,) = (each for each in workload_checks(cluster.timeline, scenario, played) if each.id == one.id)
    assert check.passed is passes, check.detail


def test_no_simulated_cloud_offers_devices_that_pods_claim() -> None:
    claimed = changed(POOL, fabric=replace(FABRIC, claimed=True))
    scenario = derive((claimed,), {POOL.name: job_yaml(POOL)}, 2.0, fabric_tests=network_test())
    assert scenario.network_tests == ()
