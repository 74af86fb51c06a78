"""What prevents an autoscaler from removing an idle node.

The cluster autoscaler does not remove a node with a pod of kube-system (DaemonSets aside) unless a
PodDisruptionBudget lets the pod be evicted:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node
"""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.declared import DisruptionBudget, NodeGroup, Stack, Violation, Workload
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.rule import rule
from policies.rules.samples import CPUS, WEB, program
from policies.rules.scheduling import distinct, selects, untolerated

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
def system_pods_evictable(stack: Stack) -> list[Violation]:
    """A long-running kube-system workload that may run on autoscaled nodes has a budget that allows eviction."""
    violations = []
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
        name = f"{workload.kind} '{workload.namespace}/{workload.name}'"
        if UNKNOWN in (on, allowed) or workload.safe_to_evict is UNKNOWN:
            what = "whether its pods keep an idle node running"
            violations.append(system_pods_evictable.unknown(name, what, workload.resource))
            continue
        message = f"{name} has no PodDisruptionBudget that allows eviction: the autoscaler cannot remove its node."
        violations.append(system_pods_evictable.violation(message, workload.resource))
    return violations


def _may_run_on(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    if group.kind == "machine" or group.autoscaled is False:
        return False
    lacking = untolerated(workload, group)
    return both((group.autoscaled, selects(workload, group), UNKNOWN if lacking is UNKNOWN else not lacking))


def _allows_eviction(budget: DisruptionBudget, workload: Workload) -> Maybe[bool]:
    if budget.match_labels is UNKNOWN or workload.pod_labels is UNKNOWN:
        return UNKNOWN
    labels = workload.pod_labels
    return both((all(labels.get(key) == value for key, value in budget.match_labels.items()), budget.lets_go))
