"""What prevents an autoscaler from removing an idle node.

The cluster autoscaler does not remove a node with a pod of kube-system (DaemonSets aside) unless a
PodDisruptionBudget lets the pod be evicted:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from facts.concepts.declared import DisruptionBudget, NodeGroup, Stack, Violation, Workload
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.rule import rule
from policies.rules.samples import CPUS, WEB, program
from policies.rules.scheduling import admits, distinct

_SYSTEM: frozenset[str] = frozenset({"kube-system"})
_MANY_PODS: frozenset[str] = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})


@rule(
    "system-pods-evictable",
    title="System pods can be evicted from autoscaled nodes",
    why="The cluster autoscaler does not remove a node with a kube-system pod unless a PodDisruptionBudget allows it.",
    remedy=(
        "Add a PodDisruptionBudget with maxUnavailable: 1 that selects its pods, or the pod annotation "
        'cluster-autoscaler.kubernetes.io/safe-to-evict: "true".'
    ),
    level="advisory",
    severity="medium",
    example=program(CPUS, replace(WEB, name="metrics", namespace="kube-system")),
)
def system_pods_evictable(stack: Stack) -> Iterator[Violation]:
    """A long-running kube-system workload that may run on autoscaled nodes has a budget that allows eviction."""
    groups = distinct(stack).groups
    budgets: dict[str, list[DisruptionBudget]] = {}
    for budget in stack.budgets:
        budgets.setdefault(budget.namespace, []).append(budget)
    for workload in stack.workloads:
        if workload.namespace not in _SYSTEM or workload.kind not in _MANY_PODS or workload.safe_to_evict is True:
            continue
        on = either(_may_run_on(workload, group) for group in groups)
        if on is False:
            continue
        allowed = either(_allows_eviction(budget, workload) for budget in budgets.get(workload.namespace, ()))
        if allowed is True:
            continue
        if UNKNOWN in (on, allowed) or workload.safe_to_evict is UNKNOWN:
            what = "whether its pods keep an idle node running"
            yield system_pods_evictable.unknown(workload.title, what, workload.resource)
        else:
            message = f"{workload.title} has no PodDisruptionBudget that allows eviction: "
            message += "the autoscaler cannot remove its node."
            yield system_pods_evictable.violation(message, workload.resource)


def _may_run_on(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    if group.kind == "machine" or group.autoscaled is False:
        return False
    return both((group.autoscaled, admits(workload, group)))


def _allows_eviction(budget: DisruptionBudget, workload: Workload) -> Maybe[bool]:
    if budget.match_labels is UNKNOWN or workload.pod_labels is UNKNOWN:
        return UNKNOWN
    labels = workload.pod_labels
    return both((all(labels.get(key) == value for key, value in budget.match_labels.items()), budget.lets_go))
