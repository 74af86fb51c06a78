"""Rules for pods, so that GPU nodes run GPU work only and scale with it.

Rules for the whole stack: they know all groups that it declares. Where a program declares no GPU groups, another one
may: its pods are checked against what every GPU node has, the GPU taint and labels that only GPU nodes have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from facts.catalog.gpu_names import only_gpu_nodes
from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup, Stack, UnknownReason, Violation, Workload
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE, RESOURCES, Taint, Toleration
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN, Maybe, either
from policies.rules.node_groups import has_gpus
from policies.rules.rule import Rule, rule
from policies.rules.samples import GPUS, JOB, WEB, program
from policies.rules.scheduling import (
    admits,
    as_running,
    distinct,
    labels_of,
    offers_gpus,
    picks_nodes,
    selectable,
    selects,
    untolerated,
    untolerated_when_admitted,
)

_GPU_NODE_LABELS: Final = {GPU_PRESENT_LABEL: "true", "kubernetes.io/os": "linux"}
_OTHER_PROGRAMS_GROUP: Final = NodeGroup(
    "declared elsewhere",
    "any",
    gpus=Gpus(per_node=1),
    scaling=Scaling(max_nodes=None),
    nodes=Nodes(machine_types=(None,), zones=(), labels=_GPU_NODE_LABELS, taints=(GPU_TAINT,)),
)
"""What is known of the GPU nodes of a cluster that another program declares."""
_DECLARED_ELSEWHERE: Final = UnknownReason(
    "this program declares no GPU node group, and the labels do not say whether the nodes have GPUs",
    "Name the cluster's GPU pools in the gate's configuration (pools), or remove the tolerations for GPU nodes.",
)
_ON_GPU_NODES: Final = "whether it may run on GPU nodes"
_MAX_NAMED: Final = 8
"""Groups in one message, those that fit best."""


@rule(
    "gpu-workload-placeable",
    title="GPU workloads fit a GPU node group",
    why="A pod that fits no group stays Pending, and no node is ever added for it.",
    remedy="Request at most the GPUs of one node, select existing labels, tolerate the group's taints.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(JOB, gpus=8)),
)
def placeable(stack: Stack) -> Iterator[Violation]:
    """A workload that requests GPUs fits at least one GPU group: labels, taints and GPUs per node.

    ``tolerates`` checks the ``nvidia.com/gpu`` taint, because some clouds add that toleration themselves.
    """
    groups = _device_groups(_with_other_programs_pools(stack))
    possible = selectable(groups)
    for workload in stack.workloads if groups else ():
        if workload.kind == "DaemonSet" or workload.gpus == 0:
            continue
        if workload.gpus is UNKNOWN:
            yield _unknown(placeable, workload, "the number of GPUs it requests")
            continue
        if any(_obstacle(workload, group, workload.gpus) is None for group in possible(workload)):
            continue
        obstacles = [_obstacle(workload, group, workload.gpus) for group in groups]
        known = [obstacle for obstacle in obstacles if isinstance(obstacle, _Obstacle)]
        if len(known) < len(obstacles):
            yield _unknown(placeable, workload, "whether it fits a GPU node group")
            continue
        nearest = sorted(known, key=lambda obstacle: obstacle.distance)[:_MAX_NAMED]
        reasons = "; ".join(obstacle.reason for obstacle in known if obstacle in nearest)
        more = f"; and {len(known) - len(nearest)} more" if len(known) > len(nearest) else ""
        message = f"{workload.title} requests {counted(workload.gpus, 'GPU')} and fits no GPU node group: "
        yield placeable.violation(f"{message}{reasons}{more}.", workload.resource, remedy=nearest[0].remedy)


@rule(
    "gpu-workload-tolerates",
    title="GPU workloads tolerate the GPU taint themselves",
    why="Some clouds add the toleration at admission; on other clouds the pod stays Pending.",
    remedy=f"Add the toleration {{key: {GPU_RESOURCE}, operator: Exists, effect: NoSchedule}}.",
    level="advisory",
    severity="low",
    example=program(GPUS, replace(JOB, tolerations=())),
)
def tolerates(stack: Stack) -> Iterator[Violation]:
    """A workload that requests GPUs tolerates the GPU taint itself and does not rely on the cloud to add it."""
    groups = {group.nodes.taints: group for group in _device_groups(_with_other_programs_pools(stack))}.values()
    for workload in stack.workloads if groups else ():
        if workload.gpus is UNKNOWN or workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        lacking = [untolerated(workload, group) for group in groups]
        if any(taints is UNKNOWN for taints in lacking):
            yield _unknown(tolerates, workload, "which taints it tolerates")
        elif all(
            any(taint.key in RESOURCES.values() for taint in taints) for taints in lacking if taints is not UNKNOWN
        ):
            message = f"{workload.title} has no toleration for {workload.gpu_resource}; only some clouds add it."
            remedy = tolerates.remedy.replace(GPU_RESOURCE, workload.gpu_resource)
            yield tolerates.violation(message, workload.resource, remedy=remedy)


@rule(
    "gpu-daemonset-tolerates",
    title="GPU DaemonSets tolerate every taint of their node groups",
    why="If a taint repels the driver installer or device plugin, no pod can use the node's GPUs.",
    remedy="Give the DaemonSet a toleration for each taint, or `operator: Exists` alone.",
    level="mandatory",
    severity="critical",
    example=program(
        replace(GPUS, nodes=replace(GPUS.nodes, taints=(GPU_TAINT, Taint("spot", "true", "NoSchedule")))),
        Workload("drivers", "kube-system", "DaemonSet", tolerations=JOB.tolerations, device_plugin=True),
    ),
)
def daemon_sets(stack: Stack) -> Iterator[Violation]:
    """A DaemonSet for GPU nodes (drivers, device plugin, metrics) tolerates every taint of each group it selects."""
    stack = _with_detected_labels(stack)
    possible = _possible(stack)
    for workload in stack.workloads:
        if workload.kind != "DaemonSet" or _for_gpu_nodes(workload, stack) is False:
            continue
        for group in possible(workload):
            selected = selects(workload, group)
            if selected is False or (selected is UNKNOWN and _is_elsewhere(group)):
                continue
            lacking = untolerated(workload, group)
            others = workload.device_plugin is True and workload.gpu_resource != group.gpus.resource
            if lacking == () or others:
                continue
            if lacking is UNKNOWN or selected is UNKNOWN or _for_gpu_nodes(workload, stack) is UNKNOWN:
                yield _unknown(daemon_sets, workload, f"whether it runs on GPU node group '{group.name}'")
                continue
            message = (
                f"{workload.title} selects GPU node group '{group.name}' but does not tolerate its "
                f"{'taint' if len(lacking) == 1 else 'taints'} {_listed(lacking)}: "
                "it does not run there, and no pod can use the GPUs."
            )
            remedy = f"Add {_tolerations_for(lacking)}, or `operator: Exists` alone."
            yield daemon_sets.violation(message, workload.resource, remedy=remedy)


@rule(
    "no-blanket-toleration",
    title="Only DaemonSets tolerate all taints",
    why="A pod that tolerates all taints may run on a GPU node, which then cannot be removed.",
    remedy="Name the taints that the pod needs to tolerate, one toleration with a key for each.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(WEB, tolerations=(Toleration(None, "Exists"),))),
)
def blanket_toleration(stack: Stack) -> Iterator[Violation]:
    """No workload but a DaemonSet tolerates all taints: its pods could run on GPU nodes and keep them up.

    A workload that selects other nodes only, or tolerates only eviction (``NoExecute``), cannot. DaemonSets may: the
    autoscaler does not count their pods when it removes a node. In a cluster whose program declares no GPU nodes it is
    unknown whether another program does.
    """
    stack = _with_detected_labels(stack)
    groups = _checked_groups(stack)
    elsewhere = groups == [_OTHER_PROGRAMS_GROUP]
    possible = _possible(stack)
    for workload in stack.workloads if groups else ():
        if workload.kind == "DaemonSet" or (workload.tolerations is UNKNOWN and elsewhere):
            continue
        if workload.tolerations is UNKNOWN:
            yield _unknown(blanket_toleration, workload, "which taints it tolerates")
            continue
        if not any(_is_blanket(toleration) for toleration in workload.tolerations):
            continue
        reached = either(admits(workload, group) for group in possible(workload))
        if reached is True and elsewhere and stack.clusters and not _is_about_gpus(workload):
            if workload.unknown_reason is None:
                yield _unknown(blanket_toleration, workload, _ON_GPU_NODES, _DECLARED_ELSEWHERE)
        elif reached is True:
            message = f"{workload.title} tolerates all taints, including those of all GPU node groups."
            yield _unless_daemon_set(blanket_toleration, message, workload)
        elif reached is UNKNOWN and not elsewhere:
            yield _unknown(blanket_toleration, workload, _ON_GPU_NODES)


def _is_blanket(toleration: Toleration) -> bool:
    return toleration.key is None and toleration.operator == "Exists" and toleration.effect != "PreferNoSchedule"


@rule(
    "gpu-nodes-for-gpus",
    title="Only pods that request GPUs run on GPU nodes",
    why="A pod without a GPU request keeps a GPU node running without using its GPUs.",
    remedy="Remove the node selector and tolerations for GPU nodes, and any limit of 0 GPUs (it adds a toleration), or "
    f"request {GPU_RESOURCE}.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(WEB, tolerations=JOB.tolerations)),
)
def reserved(stack: Stack) -> Iterator[Violation]:
    """No workload without a GPU request, except DaemonSets, selects GPU nodes or could run on them."""
    stack = _with_detected_labels(stack)
    possible = _possible(stack)
    for workload in stack.workloads:
        if workload.kind == "DaemonSet" or (workload.gpus is not UNKNOWN and workload.gpus > 0):
            continue
        groups = [(group, _access(workload, group, stack)) for group in possible(workload)]
        for group, access in sorted(groups, key=lambda each: each[1] is UNKNOWN):  # what is certain goes first
            elsewhere = _is_elsewhere(group)
            if access is None or (elsewhere and (access is UNKNOWN or stack.clusters) and not _is_about_gpus(workload)):
                continue
            if access is UNKNOWN and workload.gpus == 0 and elsewhere:
                yield _unknown(reserved, workload, _ON_GPU_NODES, _DECLARED_ELSEWHERE)
            elif access is UNKNOWN or workload.gpus is UNKNOWN:
                yield _unknown(reserved, workload, f"whether it may run on GPU node group '{group.name}'")
            else:
                message = f"{workload.title} requests no GPU but {access} GPU node group '{group.name}'."
                yield _unless_daemon_set(reserved, message, workload)
            break


@dataclass(frozen=True, eq=False)
class _Obstacle:
    """Why a pod does not fit a group. The smaller ``distance``, the less there is to change."""

    reason: str
    remedy: str
    distance: int


def _obstacle(workload: Workload, group: NodeGroup, gpus: int) -> Maybe[_Obstacle | None]:
    if workload.gpu_resource != group.gpus.resource:
        return _Obstacle(f"'{group.name}' has no {workload.gpu_resource}", "Add a group that has it.", 4)
    # How many devices machines have that the catalogue does not list is nobody's to say: a pod may fit.
    big_enough = offers_gpus(group, gpus) if has_gpus(group) else True
    if big_enough is False:
        reason = f"'{group.name}' has {counted(group.gpus.per_node, 'GPU')} per node"
        return _Obstacle(reason, "Request at most the GPUs of one node, or add a group with larger nodes.", 3)
    selected = selects(workload, group)
    if selected is False:
        reason = f"'{group.name}' lacks the labels it selects"
        return _Obstacle(reason, "Select labels that a GPU node group has.", 2)
    lacking = untolerated_when_admitted(workload, group)
    if lacking is not UNKNOWN and lacking:
        reason = f"'{group.name}' repels it with {_listed(lacking)}"
        return _Obstacle(reason, f"Add {_tolerations_for(lacking)}.", 1)
    return UNKNOWN if UNKNOWN in (big_enough, selected, lacking) else None


def _for_gpu_nodes(workload: Workload, stack: Stack) -> Maybe[bool]:
    """A DaemonSet is meant for GPU nodes if it is a device plugin, requests GPUs, or selects GPU groups only."""
    if workload.device_plugin is True or (workload.gpus is not UNKNOWN and workload.gpus > 0):
        return True
    picks = picks_nodes(workload)
    if picks is False:
        return UNKNOWN if UNKNOWN in (workload.gpus, workload.device_plugin) else False
    return UNKNOWN if picks is UNKNOWN else _only_gpu_groups(workload, stack)


def _only_gpu_groups(workload: Workload, stack: Stack) -> bool:
    others = [group for group in stack.groups if not has_gpus(group) and not group.part_of]
    return all(selects(workload, group) is False for group in others) and any(
        selects(workload, group) is not False for group in _possible(stack)(workload)
    )


def _access(workload: Workload, group: NodeGroup, stack: Stack) -> Maybe[str | None]:
    selected = selects(workload, group)
    if selected is False or _is_for_another_class(workload, group):
        return None
    picks = picks_nodes(workload)
    if picks is True and selected is True and _only_gpu_groups(workload, stack):
        return "selects the labels of"
    lacking = untolerated(workload, group)
    if lacking is not UNKNOWN and lacking:
        return None
    if UNKNOWN in (selected, picks, lacking):
        return UNKNOWN
    if not group.nodes.taints:
        return None  # the missing taint is a violation of its own
    return "tolerates all taints of"


def _is_for_another_class(workload: Workload, group: NodeGroup) -> bool:
    """Whether the group's nodes are made for the pods that select its labels alone, and this workload selects none."""
    labels = group.nodes.labels
    if group.kind != "auto-provisioned" or labels is UNKNOWN or workload.node_selector is UNKNOWN:
        return False
    own = labels.keys() - {GPU_PRESENT_LABEL}
    return bool(own) and not own & dict(labels_of(workload)).keys()


def _with_other_programs_pools(stack: Stack) -> Stack:
    """The stack with the pools of its cluster that another program declares; see ``distinct``."""
    others = [pool for pool in stack.elsewhere if not any(_is_it(group, pool) for group in stack.groups)]
    return distinct(replace(stack, groups=(*stack.groups, *others)) if others else stack)


def _is_it(group: NodeGroup, pool: NodeGroup) -> bool:
    """Whether the program declares that pool: under its name, with its taints, and with GPUs if it has some."""
    if group.name != pool.name or (has_gpus(pool) and not has_gpus(group)):
        return False
    own, others = group.nodes.taints, pool.nodes.taints
    return own is UNKNOWN or others is UNKNOWN or {*others} <= {*own}


def _with_detected_labels(stack: Stack) -> Stack:
    """The stack as running pods meet it: node feature discovery labels GPU nodes, whatever their group declares."""
    groups = (
        replace(
            as_running(group),
            cloud_label_domains=(*group.cloud_label_domains, GPU_RESOURCE.partition("/")[0]),
        )
        if has_gpus(group)
        and group.gpus.resource == GPU_RESOURCE
        and group.gpus.per_node is not UNKNOWN
        and group.nodes.labels is not UNKNOWN
        else group
        for group in stack.groups
    )
    return _with_other_programs_pools(replace(stack, groups=tuple(groups)))


def _checked_groups(stack: Stack) -> list[NodeGroup]:
    """The GPU groups; in a program without, what is known of those of another, unless clouds manage all nodes."""
    groups = _gpu_groups(stack)
    managed = stack.clusters and all(cluster.managed_nodes is True for cluster in stack.clusters)
    return groups if groups or managed else [_OTHER_PROGRAMS_GROUP]


def _possible(stack: Stack) -> Callable[[Workload], Sequence[NodeGroup]]:
    """A workload → the checked groups that its node selector does not rule out; where it selects GPU nodes that none of
    them has, another program's."""
    groups = _checked_groups(stack)
    if groups == [_OTHER_PROGRAMS_GROUP]:
        return lambda workload: [_elsewhere(workload)]
    own = selectable(groups)

    def possible(workload: Workload) -> Sequence[NodeGroup]:
        elsewhere = groups and any(only_gpu_nodes(key, values) for key, values in labels_of(workload))
        fitting = own(workload)
        if elsewhere and all(selects(workload, group) is False for group in fitting):
            return [_elsewhere(workload)]
        return fitting

    return possible


def _elsewhere(workload: Workload) -> NodeGroup:
    """The other program's groups: a label that only GPU nodes have is theirs, any other may be."""
    labels = {
        key: (values[0] if values else "") if only_gpu_nodes(key, values) else UNKNOWN
        for key, values in labels_of(workload)
    }
    return replace(
        _OTHER_PROGRAMS_GROUP, nodes=replace(_OTHER_PROGRAMS_GROUP.nodes, labels={**labels, **_GPU_NODE_LABELS})
    )


def _is_elsewhere(group: NodeGroup) -> bool:
    return group.name == _OTHER_PROGRAMS_GROUP.name and group.cloud == _OTHER_PROGRAMS_GROUP.cloud


def _is_about_gpus(workload: Workload) -> bool:
    """Whether the workload names the GPU taint, or labels that only GPU nodes have."""
    named = workload.tolerations is not UNKNOWN and any(each.key in RESOURCES.values() for each in workload.tolerations)
    return named or any(only_gpu_nodes(key, values) for key, values in labels_of(workload))


def _gpu_groups(stack: Stack) -> list[NodeGroup]:
    return [group for group in stack.groups if has_gpus(group) and group.kind != "machine"]


def _device_groups(stack: Stack) -> list[NodeGroup]:
    """The GPU groups, and beside these the groups with accelerators that the catalogue does not count."""
    groups = _gpu_groups(stack)
    uncounted = (each for each in stack.groups if each.accelerators and not has_gpus(each) and each.kind != "machine")
    return [*groups, *uncounted] if groups else []


def _unless_daemon_set(rule: Rule[...], message: str, workload: Workload) -> Violation:
    """Not evaluated for a workload whose kind is unknown: it may be a DaemonSet, which the rule allows."""
    reason = workload.unknown_reason
    return rule.violation(message, workload.resource, not_evaluated=reason is not None, unknown_reason=reason)


def _listed(taints: tuple[Taint, ...]) -> str:
    return ", ".join(str(taint) for taint in taints)


def _tolerations_for(taints: tuple[Taint, ...]) -> str:
    lines = (f"{{key: {t.key}, operator: Equal, value: '{t.value or ''}', effect: {t.effect}}}" for t in taints)
    return "the toleration " + " and ".join(lines)


def _unknown(rule: Rule[...], workload: Workload, subject: str, reason: UnknownReason | None = None) -> Violation:
    reason = reason or workload.pods_reason
    when = "it is unknown" if reason else "unknown at preview, checked at update:"
    message = f"{workload.title}: {when} {subject}."
    remedy = reason.remedy if reason else "The update checks it."
    return rule.violation(message, workload.resource, remedy=remedy, not_evaluated=True, unknown_reason=reason)
