"""Rules that close the circle: totals, the idle floor, public nodes, what keeps nodes up, what scales them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.autoscaler import ScalingGroup
from facts.concepts.declared import Autoscaler, Cluster, DisruptionBudget, NodeGroup, Stack, Violation, Workload
from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.rules.autoscaler import present, sees_each_group
from policies.rules.money import idle_cost
from policies.rules.node_groups import gpu_taint
from policies.rules.scale_down import system_pods_evictable
from policies.rules.security import gpu_nodes_private
from policies.rules.totals import stack_ceiling
from policies.rules.workloads import daemon_sets

CLUSTER = Cluster(name="c", cloud="x", managed_autoscaler=False, resource="urn:c")
ADMIN = NodeGroup(name="admin", cloud="x", initial_nodes=1, cluster="c", hourly_usd=0.1)
WEB = NodeGroup(name="web", cloud="x", autoscaled=True, max_nodes=3, cluster="c", hourly_usd=0.3, private=None)
GPUS = NodeGroup(
    name="l4", cloud="x", gpus_per_node=2, autoscaled=True, max_nodes=4, cluster="c", taints=(GPU_TAINT,), private=None
)
SCALER = Workload("cluster-autoscaler", "kube-system", "Deployment", scales_nodes=True, pod_labels={"app": "ca"})
TAGGED = ScalingGroup("l4-.*", {"team": "ml"})
BUDGET = DisruptionBudget("kube-system", {"app": "ca"}, lets_go=True)
GOOD = Stack((ADMIN, WEB, GPUS), (SCALER,), (CLUSTER,), (BUDGET,))
Check = Callable[[Stack], list[Violation]]


def ceiling(stack: Stack) -> list[Violation]:
    return stack_ceiling(stack, 8)


def idle(stack: Stack) -> list[Violation]:
    return idle_cost(stack, 0.1)


def with_group(group: NodeGroup, **changes: Any) -> Stack:
    changed: Any = replace(group, **changes)
    return replace(GOOD, groups=tuple(changed if one.name == group.name else one for one in GOOD.groups))


def with_scaler(**changes: Any) -> Stack:
    return replace(GOOD, workloads=(replace(SCALER, **changes),))


def with_finder(group: ScalingGroup, tag: str) -> Stack:
    """An autoscaler that looks for groups with the tag ``wanted``."""
    scaler = replace(SCALER, autoscaler=Autoscaler("ca", discovery=({tag: ""},)))
    return replace(with_group(GPUS, scaling=group), workloads=(scaler,))


def with_cluster(**changes: Any) -> Stack:
    return replace(GOOD, clusters=(replace(CLUSTER, **changes),))


@pytest.mark.parametrize(
    ("check", "stack", "words"),
    [
        (ceiling, with_group(GPUS, max_nodes=5), "has 10 GPUs, over the limit of 8; highest: l4 10"),
        (ceiling, with_group(GPUS, kind="machine", autoscaled=False, initial_nodes=5), "has 10 GPUs"),
        (
            idle,
            with_group(WEB, min_nodes=1),
            "costs $0.40 an hour, over the limit of $0.10; highest: web $0.30, admin $0.10",
        ),
        (idle, with_group(ADMIN, hourly_usd=0.2), "costs $0.20 an hour"),
        (gpu_nodes_private, with_group(GPUS, private=False), "'l4' gives its nodes public addresses"),
        (gpu_nodes_private, with_cluster(private_nodes=False), "'l4' gives its nodes public addresses"),
        (system_pods_evictable, replace(GOOD, budgets=()), "the autoscaler cannot remove its node"),
        (system_pods_evictable, replace(GOOD, budgets=(replace(BUDGET, lets_go=False),)), "cannot remove its node"),
        (system_pods_evictable, replace(GOOD, budgets=(replace(BUDGET, namespace="x"),)), "cannot remove its node"),
        (system_pods_evictable, with_scaler(pod_labels={"app": "other"}), "cannot remove its node"),
        (present, with_scaler(scales_nodes=False), "has GPU node groups and no autoscaler"),
        (
            sees_each_group,
            with_finder(TAGGED, tag="other"),
            "'l4' does not match what the autoscaler discovers groups by",
        ),
    ],
)
def test_one_change_breaks_it(check: Check, stack: Stack, words: str) -> None:
    (violation,) = check(stack)
    assert not violation.not_evaluated
    assert words in violation.message
    assert violation.remedy


@pytest.mark.parametrize(
    ("check", "stack"),
    [
        (ceiling, with_group(GPUS, max_nodes=None)),
        (ceiling, with_group(GPUS, gpus_per_node=UNKNOWN)),
        (idle, with_group(ADMIN, hourly_usd=None)),
        (gpu_nodes_private, with_group(GPUS, private=UNKNOWN)),
        (gpu_nodes_private, with_group(GPUS, private=False, gpus_per_node=UNKNOWN)),
        (system_pods_evictable, replace(GOOD, budgets=(replace(BUDGET, match_labels=UNKNOWN),))),
        (system_pods_evictable, replace(with_scaler(safe_to_evict=UNKNOWN), budgets=())),
        (sees_each_group, with_group(GPUS, discoverable=UNKNOWN)),
        (sees_each_group, with_group(GPUS, discoverable=False)),
        (sees_each_group, with_finder(replace(TAGGED, open=True), tag="other")),
    ],
)
def test_an_unknown_value_is_left_for_the_update(check: Check, stack: Stack) -> None:
    (violation,) = check(stack)
    assert violation.not_evaluated


@pytest.mark.parametrize(
    ("check", "stack"),
    [
        (gpu_nodes_private, with_group(ADMIN, private=False)),
        (gpu_nodes_private, replace(with_group(GPUS, private=True), clusters=(replace(CLUSTER, private_nodes=False),))),
        (system_pods_evictable, replace(with_scaler(safe_to_evict=True), budgets=())),
        (system_pods_evictable, replace(with_scaler(kind="DaemonSet"), budgets=())),
        (system_pods_evictable, replace(with_scaler(namespace="app"), budgets=())),
        (system_pods_evictable, replace(GOOD, budgets=(), groups=(ADMIN, GPUS))),
        (present, replace(GOOD, workloads=())),
        (sees_each_group, with_finder(TAGGED, tag="team")),
        (present, replace(with_cluster(managed_autoscaler=True), workloads=(replace(SCALER, scales_nodes=False),))),
    ],
)
def test_what_is_no_matter(check: Check, stack: Stack) -> None:
    assert check(stack) == []


def test_up_to_its_limit_and_without_one_a_stack_passes() -> None:
    assert ceiling(GOOD) == idle(GOOD) == stack_ceiling(GOOD) == idle_cost(GOOD) == []


def test_untainted_gpus_made_by_auto_provisioning_are_refused() -> None:
    reachable = replace(GPUS, kind="auto-provisioned", taints=())
    assert gpu_taint(replace(reachable, taints=(GPU_TAINT,))) == []
    assert not gpu_taint(reachable)[0].not_evaluated


def test_a_device_plugin_that_selects_no_nodes_still_has_to_tolerate_the_taints_of_gpu_nodes() -> None:
    spot = replace(GPUS, taints=(GPU_TAINT, Taint("spot", "true", "NoSchedule")))
    plugin = Workload(
        "w", "kube-system", "DaemonSet", device_plugin=True, tolerations=(Toleration(GPU_TAINT.key, "Exists"),)
    )
    stack = replace(GOOD, groups=(ADMIN, spot), workloads=(plugin,))
    (violation,) = daemon_sets(stack)
    assert "does not tolerate its taint spot=true:NoSchedule" in violation.message
    assert daemon_sets(replace(stack, workloads=(replace(plugin, device_plugin=False),))) == []
    assert daemon_sets(replace(stack, workloads=(replace(plugin, tolerations=(Toleration(None, "Exists"),)),))) == []
