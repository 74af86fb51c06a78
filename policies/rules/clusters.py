"""What a cluster needs besides GPU nodes: a place for system pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from facts.concepts.declared import Cluster, NodeGroup, Stack, Violation, same_place
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER, CPUS, GPUS, program
from policies.rules.scheduling import repelling_taints

_FOR_SYSTEM_PODS: Final = "CriticalAddonsOnly"


@rule(
    "gpu-not-only-pool",
    title="A cluster with GPUs also has a CPU node group",
    why="Some clouds taint GPU nodes only if there is a CPU group, and DNS should not need a GPU node.",
    remedy="Add a small CPU node group that is always on.",
    level="mandatory",
    severity="high",
    example=program(CLUSTER, GPUS),
)
def not_alone(stack: Stack) -> Iterator[Violation]:
    """A cluster with GPU groups has a group without GPUs too."""
    for cluster, groups in clusters_with_gpus(stack):
        others = cluster.other_groups
        if any(_without_gpus(group) is True for group in (*groups, *(() if others is UNKNOWN else others))):
            continue
        message = f"{cluster.title} has no node group without GPUs: its system pods need a GPU node."
        not_evaluated = others is UNKNOWN or any(group.gpus.per_node is UNKNOWN for group in (*groups, *others))
        yield not_alone.violation(message, cluster.resource, not_evaluated=not_evaluated)


@rule(
    "system-pods-home",
    title="System pods have a CPU node group that is always on",
    why="Without an always-on, untainted CPU node, system pods stay Pending or keep a GPU node up.",
    remedy="Add a CPU node group with at least 1 node at all times and no NoSchedule or NoExecute taint.",
    level="mandatory",
    severity="high",
    example=program(CLUSTER, GPUS, CPUS),
)
def system_pods_home(stack: Stack) -> Iterator[Violation]:
    """A cluster with GPU groups has a CPU group that is always on and whose taints system pods tolerate.

    The clouds' own system pods tolerate ``CriticalAddonsOnly``, as Kubernetes' add-ons do:
    https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/,
    https://learn.microsoft.com/azure/aks/use-system-pools. With an autoscaler on an always-on group, the other
    system pods may run on a group that it adds nodes to. EKS Auto Mode runs Karpenter and the cluster's DNS itself:
    https://docs.aws.amazon.com/eks/latest/userguide/automode.html.
    """
    for cluster, groups in clusters_with_gpus(stack):
        others = cluster.other_groups
        home = either((_home(cluster, groups), UNKNOWN)) if others is UNKNOWN else _home(cluster, [*groups, *others])
        if home is UNKNOWN:
            message = f"{cluster.title}: whether a CPU node group is always on and untainted is unknown"
            message += " at preview, checked at update."
            yield system_pods_home.violation(message, cluster.resource, not_evaluated=True)
        elif not home:
            message = f"{cluster.title} has no untainted CPU node group that is always on: its system pods stay "
            message += "Pending, or run on GPU nodes and keep them up."
            yield system_pods_home.violation(message, cluster.resource)


def _home(cluster: Cluster, groups: Sequence[NodeGroup]) -> Maybe[bool]:
    """Whether system pods have a place: always on and open to them, or added by an autoscaler that has such a place, as
    a Karpenter has that the cloud runs."""
    cpus = [(group, _without_gpus(group)) for group in groups]
    own = either(both((cpu, _always_on(group), _open(group))) for group, cpu in cpus)
    always = either(both((cpu, _always_on(group))) for group, cpu in cpus)
    added = [(group, both((cpu, _grows(group), _open(group)))) for group, cpu in cpus]
    made = either(adds for group, adds in added if group.cloud == "karpenter")
    return either(
        (own, both((always, either(adds for _, adds in added))), both((cluster.managed_autoscaler, made))),
    )


def _without_gpus(group: NodeGroup) -> Maybe[bool]:
    """Whether it certainly starts no nodes with GPUs; the other machines of a pool with GPUs are no group beside it."""
    if group.part_of:
        return False
    return UNKNOWN if group.gpus.per_node is UNKNOWN else group.gpus.per_node == 0


def _grows(group: NodeGroup) -> Maybe[bool]:
    return both(
        (group.scaling.autoscaled, UNKNOWN if group.scaling.max_nodes is UNKNOWN else group.scaling.max_nodes != 0)
    )


def clusters_with_gpus(stack: Stack) -> list[tuple[Cluster, list[NodeGroup]]]:
    """Each cluster the stack declares with its groups; a group whose cluster is not known could be any cluster's."""
    pairs = []
    for cluster in stack.clusters:
        if cluster.managed_nodes is True:
            continue
        groups = [group for group in stack.groups if group.kind != "machine" and belongs(group, cluster, stack)]
        if any(has_gpus(group) for group in groups):
            pairs.append((cluster, groups))
    return pairs


def belongs(group: NodeGroup, cluster: Cluster, stack: Stack) -> bool:
    """Whether the group may be one of the cluster's: its cluster's name is computed from this one, or its cluster has
    this name and place, or is not known."""
    names = (group.cluster, cluster.name)
    if any(each.resource in group.cluster_at for each in stack.clusters):
        return cluster.resource in group.cluster_at
    if len(stack.clusters) == 1 or None in names or UNKNOWN in names:
        return True
    return group.cluster == cluster.name and same_place(group, cluster)


def _always_on(group: NodeGroup) -> Maybe[bool]:
    if group.kind == "serverless":
        return True
    if group.scaling.autoscaled is UNKNOWN:
        return UNKNOWN
    least = group.scaling.min_nodes if group.scaling.autoscaled else group.initial_nodes
    return UNKNOWN if least is UNKNOWN else least > 0


def _open(group: NodeGroup) -> Maybe[bool]:
    taints = repelling_taints(group)
    return UNKNOWN if taints is UNKNOWN else all(taint.key == _FOR_SYSTEM_PODS for taint in taints)
