from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import SharedGpu
from facts.concepts.pool import Pool
from packages.rehearsal.tests.objects import gpu_pool, job_yaml
from rehearsal.scenario.plan import (
    BURST_LIMIT,
    OffGpus,
    Refused,
    RunsOn,
    Scenario,
    StaysPending,
    derive,
    load,
)
from rehearsal.scenario.player import whole_node
from tests.components.specs import changed


def scenario(*pools: object) -> Scenario:
    return derive(pools, {pool.name: job_yaml(pool) for pool in pools}, 2.0)  # type: ignore[attr-defined, arg-type]


ONE_SIZE = (gpu_pool("t4-1", 1),)
THREE_SIZES = (gpu_pool("t4-1", 1), gpu_pool("t4-4", 4), gpu_pool("v100-8", 8))


def test_the_plain_pod_asks_for_a_gpu_and_nothing_else() -> None:
    (container,) = load("gpu-pod")["spec"].pop("containers")
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert load("gpu-pod")["spec"].keys() == {"restartPolicy", "containers"}
    assert scenario(*THREE_SIZES).gpu_limit_only.manifest == load("gpu-pod")


def test_no_image_is_played_that_cannot_be_pulled() -> None:
    images = {each["image"] for each in load("gpu-pod")["spec"]["containers"]}
    # NVIDIA deletes them half a year after their end: https://gitlab.com/nvidia/container-images/cuda/-/issues/177
    assert not any(re.match(r"nvidia/cuda:(\d|10|11)\.", image) for image in images)


def test_the_plain_pod_may_only_run_on_the_smallest_size() -> None:
    assert scenario(*THREE_SIZES).gpu_limit_only.expect == RunsOn(frozenset({"t4-1"}))


def test_a_pod_with_only_a_gpu_limit_needs_a_reason_when_every_pool_has_another_taint() -> None:
    extra = Taint("team", "vision", "NoSchedule")
    pool = gpu_pool("t4-1", 1)
    tainted = gpu_pool("t4-1", 1, taints=(*pool.nodes.taints, extra))
    assert scenario(tainted).gpu_limit_only.expect == StaysPending(("tolerat",))


@pytest.mark.parametrize(
    ("size", "clients", "expected"), [(1, None, "(1 GPU)"), (4, None, "(4 GPUs)"), (2, 3, "(6 shares of 2 GPUs)")]
)
def test_a_job_says_whether_it_asks_for_gpus_or_for_shares(size: int, clients: int | None, expected: str) -> None:
    shared = SharedGpu(clients_per_gpu=clients) if clients else None
    (job,) = scenario(gpu_pool("t4", size, time_sharing=shared)).jobs
    assert job.title == f"the stack's sample job for t4 {expected}"


def test_every_pool_gets_the_programs_own_job_unchanged_but_for_its_duration() -> None:
    jobs = {job.id: job for job in scenario(*THREE_SIZES).jobs}
    assert len(jobs) == len(THREE_SIZES)
    for pool in THREE_SIZES:
        job = jobs[f"job:{pool.name}"]
        assert job.expect == RunsOn(frozenset({pool.name}))
        published = yaml.safe_load(job_yaml(pool))
        played = dict(job.manifest)
        assert played["spec"]["template"].pop("metadata")["annotations"]
        assert played == published


POOL = gpu_pool("t4-1", 1)
RESERVED = gpu_pool("t4-1-reserved", 1, capacity_type="on-demand", declared_at="gpuPools[0]")
SECOND = gpu_pool("t4-1-reserved-2", 1, capacity_type="on-demand", declared_at="gpuPools[0]")
SPOT = gpu_pool("t4-1-spot", 1, preference=1, declared_at="gpuPools[0]")
ON_DEMAND = gpu_pool("t4-1-ondemand", 1, capacity_type="on-demand", preference=2, declared_at="gpuPools[0]")


def test_in_a_capacity_shortage_the_next_fallback_is_expected_and_not_the_last() -> None:
    plan = scenario(RESERVED, SECOND, SPOT, ON_DEMAND)
    assert plan.shortages[0].pools == ("t4-1-reserved", "t4-1-reserved-2")
    assert plan.shortages[0].fallback_pod.expect == RunsOn(frozenset({"t4-1-spot"}))
    assert plan.shortages[0].fallback_pod in plan.submissions
    (ordered,) = plan.fallback_order
    assert ordered.expect == RunsOn(frozenset({"t4-1-reserved", "t4-1-reserved-2"}))


def test_with_a_compute_class_the_whole_order_is_played_and_then_the_first_again() -> None:
    key = "cloud.google.com/compute-class"

    def classed(pool: Pool) -> Pool:
        taints = (*pool.nodes.taints, Taint(key, "t4", "NoSchedule"))
        return changed(pool, labels={**pool.nodes.labels, key: "t4"}, taints=taints)

    plan = scenario(*map(classed, (RESERVED, SECOND, SPOT, ON_DEMAND)), gpu_pool("other", 1))
    assert [(each.pools, each.fallback_pod.expect) for each in plan.shortages] == [
        (("t4-1-reserved", "t4-1-reserved-2"), RunsOn(frozenset({"t4-1-spot"}))),
        (("t4-1-reserved", "t4-1-reserved-2", "t4-1-spot"), RunsOn(frozenset({"t4-1-ondemand"}))),
        ((), RunsOn(frozenset({"t4-1-reserved", "t4-1-reserved-2"}))),
    ]
    assert [each.fallback_pod.id for each in plan.shortages] == [
        "capacity-shortage",
        "capacity-shortage-2",
        "capacity-shortage-back",
    ]
    pods = [each.fallback_pod.manifest["spec"] for each in plan.shortages]
    assert {each["nodeSelector"][key] for each in pods} == {"t4"}
    assert plan.gpu_limit_only.expect == RunsOn(frozenset({"other"}))


def test_a_fallback_with_a_taint_that_the_jobs_do_not_tolerate_is_skipped() -> None:
    tainted = changed(SPOT, taints=(*SPOT.nodes.taints, Taint("spot", "true", "NoSchedule")))
    shortage = scenario(RESERVED, tainted, ON_DEMAND).shortages[0]
    assert shortage.fallback_pod.expect == RunsOn(frozenset({"t4-1-ondemand"}))
    assert scenario(RESERVED, tainted).shortages == ()


def test_the_shortage_spares_the_pool_of_the_next_jobs_if_another_can_have_it() -> None:
    sizes = [
        gpu_pool(f"t4-{size}-{way}", size, preference=preference, declared_at="gpuPools[0]")
        for size in (1, 4)
        for preference, way in enumerate(("spot", "ondemand"))
    ]
    plan = scenario(*sizes)
    assert plan.burst.pool == "t4-1-spot"
    assert plan.shortages[0].pools == ("t4-4-spot",)
    assert plan.shortages[0].fallback_pod.expect == RunsOn(frozenset({"t4-4-ondemand"}))
    alone = scenario(*sizes[:2]).shortages[0]
    assert alone.pools == ("t4-1-spot",)


def test_a_pool_for_a_team_gets_its_job_there_and_refuses_one_of_another_namespace() -> None:
    key = "gpucluster.dev/teams"
    own = gpu_pool("own-1", 1, labels={**gpu_pool("own-1", 1).nodes.labels, key: "own"}, teams=("research",))
    own = changed(own, taints=(*own.nodes.taints, Taint(key, "own", "NoSchedule")))
    jobs = {"t4-1": job_yaml(POOL), "own-1": job_yaml(own).replace("metadata:", "metadata:\n  namespace: research", 1)}
    plan = derive((own, POOL), jobs, 2.0)
    assert {job.id: job.namespace for job in plan.jobs} == {"job:t4-1": "default", "job:own-1": "research"}
    assert [(each.id, each.namespace, each.expect) for each in plan.refused] == [
        ("others:own-1", "default", Refused(("for pods of namespace",)))
    ]
    assert plan.burst.pool == "t4-1", "the others are of no team"
    alone = derive((own,), {"own-1": jobs["own-1"]}, 2.0)
    assert {each.namespace for each in alone.burst.fill} == {"research"}


def test_without_a_fallback_there_is_no_capacity_shortage() -> None:
    assert scenario(RESERVED, SECOND).shortages == ()
    assert scenario(*THREE_SIZES).shortages == ()


def test_the_seed_is_the_order_of_the_jobs_and_nothing_else() -> None:
    def orders(seed: int) -> tuple[str, ...]:
        gpu_jobs = {pool.name: job_yaml(pool) for pool in THREE_SIZES}
        return tuple(job.id for job in derive(THREE_SIZES, gpu_jobs, 2.0, seed).jobs)

    assert orders(1) == orders(1)
    assert len({orders(seed) for seed in range(20)}) > 1
    assert {frozenset(orders(seed)) for seed in range(20)} == {frozenset(orders(0))}


def test_a_whole_node_is_what_its_agents_left_divided_among_the_jobs_pods() -> None:
    free = {"cpu": 3.5, "memory": 12.5 * 1024**3, "ephemeral-storage": 90.0 * 1024**3}
    job = scenario(*ONE_SIZE).again["t4-1"]
    one = whole_node("t4-1", job, free)
    asked = one.manifest["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert asked["requests"] == {"cpu": "3500m", "memory": "12800Mi", "ephemeral-storage": "46080Mi"}
    assert asked["limits"] == {"nvidia.com/gpu": 1}
    assert one.workload != job["metadata"]["name"]
    shared = {**job, "spec": {**job["spec"], "parallelism": 4}}
    asked = whole_node("t4-1", shared, free).manifest["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert asked["requests"] == {"cpu": "875m", "memory": "3200Mi", "ephemeral-storage": "11520Mi"}


def test_a_pool_of_mixed_machines_has_no_whole_node_to_ask_for() -> None:
    assert set(scenario(gpu_pool("t4-1", 1, machine_types=("a", "b")), gpu_pool("t4-4", 4)).again) == {"t4-4"}


def test_larger_sizes_bring_the_fragmentation_the_multi_gpu_and_the_refused_pod() -> None:
    plan = scenario(*THREE_SIZES)
    assert plan.fragment is not None
    assert plan.fragment.expect == RunsOn(frozenset({"t4-1"}))
    assert [one.id for one in plan.unschedulable] == ["over-large", "plain-multi-gpu"]
    assert [(one.id, type(one.expect)) for one in plan.refused] == [
        ("blanket-toleration", Refused),
        ("larger-node", Refused),
    ]


def test_the_refused_pod_reaches_a_larger_node_that_has_another_taint() -> None:
    """As spot nodes on AKS and those of a ComputeClass have: a pod that reaches no such node is not refused."""
    spot = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")
    pools = [changed(pool, taints=(*pool.nodes.taints, spot)) for pool in THREE_SIZES]
    larger = scenario(*pools).refused[1].manifest["spec"]["tolerations"]
    assert {taint.key for taint in pools[1].nodes.taints} <= {each["key"] for each in larger}
    assert all(each["operator"] == "Exists" for each in larger)
    # Where the small pool has none, and where only one of the larger ones has.
    assert spot.key in str(scenario(THREE_SIZES[0], *pools[1:]).refused[1].manifest)
    assert spot.key not in str(scenario(*THREE_SIZES[:2], pools[2]).refused[1].manifest)


def test_a_single_size_has_nothing_to_isolate() -> None:
    plan = scenario(*ONE_SIZE)
    assert plan.fragment is None
    assert plan.refused == ()
    assert [one.id for one in plan.unschedulable] == ["over-large"]


def test_the_over_large_pod_asks_for_more_than_any_node_and_tolerates_every_size() -> None:
    pod = scenario(*THREE_SIZES).unschedulable[0].manifest
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 9
    assert {toleration["key"] for toleration in pod["spec"]["tolerations"]} == {
        "nvidia.com/gpu",
        "gpucluster.dev/gpus-per-node",
    }


def test_the_burst_fills_the_smallest_pool_and_one_waits() -> None:
    burst = scenario(gpu_pool("t4-4", 4, most=2), gpu_pool("t4-1", 1, most=3)).burst
    assert (burst.pool, len(burst.fill)) == ("t4-1", 3)
    assert burst.extra is not None
    assert len({one.workload for one in (*burst.fill, burst.extra)}) == 4


def test_a_huge_pool_is_not_filled_so_nobody_is_expected_to_wait() -> None:
    burst = scenario(gpu_pool("t4-1", 1, most=BURST_LIMIT + 1)).burst
    assert len(burst.fill) == BURST_LIMIT
    assert burst.extra is None


def test_fallback_pools_bring_a_pod_that_takes_the_fallback_when_spot_is_full() -> None:
    spot, on_demand = gpu_pool("t4-1-spot", 1), gpu_pool("t4-1-ondemand", 1, capacity_type="on-demand", preference=1)
    burst = scenario(on_demand, spot).burst
    assert burst.pool == "t4-1-spot"
    assert burst.fallback is not None
    assert burst.fallback.expect == RunsOn(frozenset({"t4-1-ondemand"}))
    assert "gpucluster.dev/pool" not in burst.fallback.manifest["spec"]["nodeSelector"]
    (ordered,) = scenario(on_demand, spot).fallback_order
    assert ordered.expect == RunsOn(frozenset({"t4-1-spot"}))
    assert "gpucluster.dev/pool" not in ordered.manifest["spec"]["nodeSelector"]


def test_pools_without_a_fallback_have_no_order() -> None:
    assert scenario(*THREE_SIZES).fallback_order == ()


def test_cpu_work_never_asks_for_a_gpu_nor_tolerates_one() -> None:
    for one in scenario(*THREE_SIZES).cpu:
        assert isinstance(one.expect, OffGpus)
        assert not re.search("gpu:|tolerations", yaml.safe_dump(one.manifest))


def test_a_pool_without_a_job_is_named() -> None:
    with pytest.raises(ValueError, match="no job for t4-4"):
        derive(THREE_SIZES[:2], {"t4-1": job_yaml(THREE_SIZES[0])}, 2.0)


def test_every_manifest_of_the_folder_is_used() -> None:
    import rehearsal.scenario.plan

    source = Path(rehearsal.scenario.plan.__file__)
    names = {path.stem for path in (source.parent / "workloads").glob("*.yaml")}
    assert names == set(re.findall(r'load\("([a-z-]+)"\)', source.read_text()))
