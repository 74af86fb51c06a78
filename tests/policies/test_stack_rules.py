"""Rules over the whole stack: one change for each way to break a good one, which passes (test_corpus.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.autoscaler import ScalingGroup
from facts.concepts.carbon import Carbon
from facts.concepts.declared import Cluster, GpuQuota, GpuSharing, NodeGroup, Stack, Violation, Workload
from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.pool import GPU_TAINT, size_taint
from facts.concepts.unknown import UNKNOWN
from policies.rules.clusters import not_alone, system_pods_home
from policies.rules.money import hourly_cost
from policies.rules.regions import low_carbon
from policies.rules.sharing import PLANNED_GPUS, visible
from policies.rules.totals import quotas_kept
from policies.rules.workloads import blanket_toleration, daemon_sets, placeable, reserved, tolerates

SPOT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
GPU = Toleration("nvidia.com/gpu", "Exists")
SPOT_TOO = Toleration(SPOT.key, "Exists")
ANY = Toleration(None, "Exists")
GPU_NODES: dict[str, Any] = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "cloud.google.com/gke-accelerator", "operator": "Exists"}]}
            ]
        }
    }
}

CLUSTER = Cluster(name="c", cloud="gke", region="us-central1", secrets_key="k", resource="urn:c")
ADMIN = NodeGroup(name="admin", cloud="gke", initial_nodes=1, cluster="c", hourly_usd=0.1, labels={"role": "admin"})
SMALL = NodeGroup(
    name="t4-1",
    cloud="gke",
    gpus_per_node=1,
    autoscaled=True,
    max_nodes=4,
    taints=(GPU_TAINT, SPOT),
    labels={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
    cluster="c",
    hourly_usd=0.5,
)
LARGE = replace(SMALL, name="t4-4", gpus_per_node=4, taints=(GPU_TAINT, SPOT, size_taint(4)), hourly_usd=2.0)
JOB = Workload("train", "ml", "Job", gpus=1, tolerations=(GPU, SPOT_TOO), resource="urn:train")
DRIVERS = Workload(
    "drivers", "kube-system", "DaemonSet", tolerations=(ANY,), affinity=GPU_NODES, resource="urn:drivers"
)
WEB = Workload(name="web", namespace="app", kind="Deployment", resource="urn:web")
GOOD = Stack((ADMIN, SMALL, LARGE), (JOB, DRIVERS, WEB), (CLUSTER,))
Check = Callable[[Stack], list[Violation]]


def with_workload(**changes: Any) -> Stack:
    base = {"train": JOB, "drivers": DRIVERS, "web": WEB}[changes.pop("of")]
    return replace(GOOD, workloads=(replace(base, **changes),))


@pytest.mark.parametrize(
    ("check", "stack", "words", "remedy"),
    [
        (not_alone, replace(GOOD, groups=(SMALL,)), "no node group without GPUs", "CPU node group"),
        (system_pods_home, replace(GOOD, groups=(SMALL,)), "no untainted CPU node group", "at least 1 node"),
        (
            system_pods_home,
            replace(GOOD, groups=(SMALL, replace(ADMIN, autoscaled=True, min_nodes=0))),
            "no untainted CPU node group",
            "at least 1 node",
        ),
        (
            system_pods_home,
            replace(GOOD, groups=(SMALL, replace(ADMIN, taints=(Taint("dedicated", "x", "NoSchedule"),)))),
            "no untainted CPU node group",
            "no NoSchedule",
        ),
        (
            placeable,
            with_workload(of="train", gpus=8),
            "'t4-4' has 4 GPUs per node",
            "Request at most the GPUs of one node",
        ),
        (
            placeable,
            with_workload(of="train", gpus=4),
            "'t4-4' repels it with gpucluster.dev/gpus-per-node=4:NoSchedule",
            "{key: gpucluster.dev/gpus-per-node, operator: Equal, value: '4', effect: NoSchedule}",
        ),
        (placeable, with_workload(of="train", tolerations=(GPU,)), "gke-spot=true", "gke-spot"),
        (placeable, with_workload(of="train", node_selector={"gpu": "h100"}), "lacks the labels", "Select labels"),
        (tolerates, with_workload(of="train", tolerations=(SPOT_TOO,)), "only some clouds add it", "nvidia.com/gpu"),
        (
            daemon_sets,
            with_workload(of="drivers", tolerations=(GPU,)),
            "does not tolerate its taint cloud.google.com/gke-spot=true",
            "value: 'true'",
        ),
        (daemon_sets, with_workload(of="drivers", tolerations=(GPU,), affinity=None, gpus=1), "gke-spot", "toleration"),
        (blanket_toleration, with_workload(of="web", tolerations=(ANY,)), "tolerates all taints", "Name"),
        (reserved, with_workload(of="web", tolerations=JOB.tolerations), "tolerates all taints of", "or request"),
        (reserved, with_workload(of="web", affinity=GPU_NODES), "selects the labels of", "node selector"),
        (lambda stack: hourly_cost(stack, 10), GOOD, "$10.10 an hour, over the limit of $10.00", "raise maxHourlyUsd"),
    ],
)
def test_one_change_is_one_violation(check: Check, stack: Stack, words: str, remedy: str) -> None:
    violations = check(stack)
    assert violations
    assert not any(violation.not_evaluated for violation in violations)
    assert words in violations[0].message
    assert remedy in violations[0].remedy


@pytest.mark.parametrize(
    ("check", "stack"),
    [
        (system_pods_home, replace(GOOD, groups=(SMALL, replace(ADMIN, taints=UNKNOWN)))),
        (placeable, with_workload(of="train", tolerations=UNKNOWN)),
        (placeable, with_workload(of="train", node_selector=UNKNOWN)),
        (placeable, with_workload(of="train", affinity=UNKNOWN)),
        (placeable, replace(GOOD, groups=(replace(SMALL, taints=UNKNOWN),))),
        (daemon_sets, with_workload(of="drivers", tolerations=(), affinity=UNKNOWN)),
        (
            daemon_sets,
            replace(
                GOOD, groups=(ADMIN, replace(SMALL, taints=UNKNOWN)), workloads=(replace(DRIVERS, tolerations=()),)
            ),
        ),
        (reserved, with_workload(of="web", tolerations=UNKNOWN)),
        (lambda stack: hourly_cost(stack, 100), replace(GOOD, groups=(ADMIN, replace(SMALL, hourly_usd=UNKNOWN)))),
        (lambda stack: hourly_cost(stack, 100), replace(GOOD, groups=(ADMIN, replace(SMALL, hourly_usd=None)))),
    ],
)
def test_a_rule_is_not_evaluated_while_its_value_is_unknown(check: Check, stack: Stack) -> None:
    violations = check(stack)
    assert violations
    assert all(violation.not_evaluated for violation in violations)


def test_a_pod_without_tolerations_fits_the_smallest_size_but_lacks_the_toleration() -> None:
    untainted_spot = replace(SMALL, taints=(GPU_TAINT,))
    plain = replace(JOB, kind="Pod", tolerations=())
    stack = Stack((ADMIN, untainted_spot, LARGE), (plain,), (CLUSTER,))
    assert placeable(stack) == []
    assert len(tolerates(stack)) == 1


def test_a_cluster_whose_nodes_the_cloud_runs_needs_no_home_for_system_pods() -> None:
    assert system_pods_home(Stack((SMALL,), (), (replace(CLUSTER, managed_nodes=True),))) == []


def test_groups_of_a_cluster_declared_elsewhere_are_not_judged_by_what_this_stack_cannot_see() -> None:
    assert not_alone(Stack((SMALL,))) == system_pods_home(Stack((SMALL,))) == []


def test_each_cluster_needs_a_home_of_its_own() -> None:
    other = replace(CLUSTER, name="d", resource="urn:d")
    stack = Stack((ADMIN, SMALL, replace(SMALL, name="x", cluster="d")), (), (CLUSTER, other))
    assert [violation.resource for violation in system_pods_home(stack)] == ["urn:d"]


def test_a_daemon_set_for_all_nodes_may_skip_gpu_nodes() -> None:
    agent = replace(DRIVERS, tolerations=(), affinity=None)
    assert daemon_sets(replace(GOOD, workloads=(agent,))) == []


def test_without_gpu_groups_it_is_unknown_whether_there_are_gpu_nodes() -> None:
    odd = replace(WEB, tolerations=(ANY,))
    stack = Stack((ADMIN,), (odd,), (CLUSTER,))
    assert reserved(stack) == placeable(stack) == []
    assert [violation.not_evaluated for violation in blanket_toleration(stack)] == [True]


@pytest.mark.parametrize(
    ("carbon", "broken"),
    [(None, 0), (Carbon(88, 432, 2025, "s"), 0), (Carbon(66, 150, 2025, "s"), 0), (Carbon(15, 428, 2025, "s"), 1)],
)
def test_a_region_is_clean_by_its_purchases_or_by_its_grid(carbon: Carbon | None, broken: int) -> None:
    assert len(low_carbon(replace(CLUSTER, carbon=carbon))) == broken


def test_pools_of_one_name_each_cost_their_own() -> None:
    assert hourly_cost(GOOD, 10.1) == []
    other = replace(CLUSTER, name="d", resource="urn:d")
    stack = replace(GOOD, groups=(*GOOD.groups, replace(SMALL, cluster="d", hourly_usd=0.5)), clusters=(CLUSTER, other))
    assert "$12.10 an hour" in hourly_cost(stack, 12)[0].message
    unpriced = replace(GOOD, groups=(*GOOD.groups, replace(SMALL, cluster="d", hourly_usd=None)))
    assert hourly_cost(unpriced, 100)[0].not_evaluated, "a namesake's price is not its price"


def test_sharing_is_judged_for_each_group_of_one_name() -> None:
    tagged = ScalingGroup("t4-1", {PLANNED_GPUS: "4"})
    visible_group, unseen = replace(SMALL, scaling=tagged), replace(SMALL, scaling=ScalingGroup("t4-1"), cluster="d")
    sharing = (GpuSharing("ConfigMap 'plugin'", 4),)
    assert visible(Stack((visible_group,), sharing=sharing)) == []
    assert len(visible(Stack((unseen, visible_group), sharing=sharing))) == 1


@pytest.mark.parametrize(("vision", "broken"), [(2, 0), (3, 1)])
def test_quotas_promise_no_more_than_the_groups_have(vision: int, broken: int) -> None:
    """Four nodes with one GPU: the edge is at four promised."""
    stack = Stack((ADMIN, SMALL), quotas=(GpuQuota("research", 2), GpuQuota("vision", vision)))
    assert len(quotas_kept(stack)) == broken
    assert quotas_kept(stack, most_promised=1.25) == quotas_kept(stack, most_promised=None) == []


def test_quotas_of_what_is_not_known_yet_are_judged_at_the_update() -> None:
    quota = GpuQuota("research", UNKNOWN)
    assert quotas_kept(Stack((SMALL,), quotas=(quota,)))[0].not_evaluated
    assert quotas_kept(Stack((replace(SMALL, max_nodes=UNKNOWN),), quotas=(GpuQuota("a", 9),)))[0].not_evaluated
    assert quotas_kept(Stack((SMALL,), quotas=(quota, GpuQuota("a", 5))))[0].not_evaluated is False, "too much already"


def test_quotas_are_not_compared_with_what_they_do_not_count() -> None:
    """Shares of a GPU, and a program whose pools are elsewhere."""
    quotas = (GpuQuota("research", 9),)
    assert quotas_kept(Stack((ADMIN,), quotas=quotas)) == []
    assert quotas_kept(Stack((SMALL,), sharing=(GpuSharing("ConfigMap 'plugin'", 4),), quotas=quotas)) == []
    assert len(quotas_kept(Stack((ADMIN,), elsewhere=(SMALL,), quotas=quotas))) == 1
