"""What pods must and must not do so that GPU nodes serve GPU work only, and come and go with it.

Rules over the whole stack: they know all groups that the stack declares. A program that declares neither clusters nor
groups is for a cluster of another program: its pods are judged by what every GPU node has, the GPU taint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from facts.concepts.declared import NodeGroup, Stack, Violation, Workload
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE, Taint, Toleration
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN, Maybe, both, either
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, JOB, WEB, program
from policies.rules.scheduling import distinct, offers_gpus, picks_nodes, selectable, selects, untolerated

_ELSEWHERE: Final = NodeGroup(
    "declared elsewhere",
    "any",
    gpus_per_node=1,
    autoscaled=True,
    taints=(GPU_TAINT,),
    labels={GPU_PRESENT_LABEL: "true", "kubernetes.io/os": "linux"},
)
"""What can be said of the GPU nodes of a cluster that another program declares."""
_MOST_NAMED: Final = 8
"""Groups in one message, those that fit best."""


@rule(
    "gpu-workload-placeable",
    title="GPU workloads fit a GPU node group",
    why="A pod that no group can take stays Pending, and no node is ever added for it.",
    remedy="Ask for at most the GPUs of one node, select existing labels, tolerate the group's taints.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(JOB, gpus=8)),
)
def placeable(stack: Stack) -> list[Violation]:
    """A workload that asks for GPUs fits at least one GPU group: labels, taints and GPUs per node.

    The ``nvidia.com/gpu`` taint is left to ``tolerates``, because some clouds add that toleration by themselves.
    """
    groups = _gpu_groups(_with_elsewhere(stack))
    possible = selectable(groups)
    found: list[Violation] = []
    for workload in stack.workloads if groups else ():
        if workload.kind == "DaemonSet" or workload.gpus == 0:
            continue
        if workload.gpus is UNKNOWN:
            found.append(_undecided(placeable.id, workload, "the number of GPUs it asks for"))
            continue
        if any(_obstacle(workload, group, workload.gpus) is None for group in possible(workload)):
            continue
        obstacles = [_obstacle(workload, group, workload.gpus) for group in groups]
        if any(obstacle is UNKNOWN for obstacle in obstacles):
            found.append(_undecided(placeable.id, workload, "whether a GPU node group takes its pods"))
            continue
        reasons = [
            (group, obstacle)
            for group, obstacle in zip(groups, obstacles, strict=True)
            if isinstance(obstacle, _Obstacle)
        ]
        nearest = sorted(reasons, key=lambda pair: pair[1].distance)
        named = nearest[:_MOST_NAMED]
        message = f"{_subject(workload)} asks for {workload.gpus} GPU(s) and fits no GPU node group: " + "; ".join(
            f"'{group.name}' {obstacle.reason}" for group, obstacle in reasons if (group, obstacle) in named
        )
        more = f"; nor any of {len(reasons) - len(named)} more" if len(reasons) > len(named) else ""
        remedy = nearest[0][1].remedy
        found.append(Violation(placeable.id, f"{message}{more}.", remedy, resource=workload.resource))
    return found


@rule(
    "gpu-workload-tolerates",
    title="GPU workloads tolerate the GPU taint themselves",
    why="Some clouds add the toleration at admission; on the others the pod stays Pending.",
    remedy="Add the toleration for nvidia.com/gpu to the pod.",
    level="advisory",
    severity="low",
    example=program(GPUS, replace(JOB, tolerations=())),
)
def tolerates(stack: Stack) -> list[Violation]:
    """A workload that asks for GPUs tolerates the GPU taint itself, rather than rely on the cloud to add it."""
    groups = {group.taints: group for group in _gpu_groups(_with_elsewhere(stack))}.values()
    found = []
    for workload in stack.workloads if groups else ():
        if workload.gpus is UNKNOWN or workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        lacking = [untolerated(workload, group) for group in groups]
        if any(taints is UNKNOWN for taints in lacking):
            found.append(_undecided(tolerates.id, workload, "which taints it tolerates"))
        elif all(any(taint.key == GPU_RESOURCE for taint in taints) for taints in lacking if taints is not UNKNOWN):
            message = f"{_subject(workload)} has no toleration for {GPU_RESOURCE}; only some clouds add it."
            remedy = f"Add the toleration {{key: {GPU_RESOURCE}, operator: Exists, effect: NoSchedule}}."
            found.append(Violation(tolerates.id, message, remedy, resource=workload.resource))
    return found


@rule(
    "gpu-daemonset-tolerates",
    title="GPU DaemonSets tolerate every taint of their node groups",
    why="A driver installer or device plugin that a taint keeps away leaves paid GPUs that no pod can use.",
    remedy="Give the DaemonSet a toleration for each taint, or `operator: Exists` alone.",
    level="mandatory",
    severity="critical",
    example=program(
        replace(GPUS, taints=(GPU_TAINT, Taint("spot", "true", "NoSchedule"))),
        Workload("drivers", "kube-system", "DaemonSet", tolerations=JOB.tolerations, device_plugin=True),
    ),
)
def daemon_sets(stack: Stack) -> list[Violation]:
    """A DaemonSet for GPU nodes (drivers, device plugin, metrics) tolerates every taint of each group it selects."""
    found = []
    stack = _with_elsewhere(stack)
    possible = selectable(_judged_by(stack))
    for workload in stack.workloads:
        if workload.kind != "DaemonSet" or _for_gpu_nodes(workload, stack) is False:
            continue
        for group in possible(workload):
            selected = selects(workload, group)
            if selected is False or (selected is UNKNOWN and group is _ELSEWHERE):
                continue
            lacking = untolerated(workload, group)
            if lacking == ():
                continue
            if lacking is UNKNOWN or selected is UNKNOWN or _for_gpu_nodes(workload, stack) is UNKNOWN:
                found.append(_undecided(daemon_sets.id, workload, f"whether it runs on GPU node group '{group.name}'"))
                continue
            message = (
                f"{_subject(workload)} selects GPU node group '{group.name}' but does not tolerate its taint(s) "
                f"{_listed(lacking)}: it never starts there, and GPUs stay unusable."
            )
            remedy = f"Add {_tolerations_for(lacking)}, or `operator: Exists` alone."
            found.append(Violation(daemon_sets.id, message, remedy, resource=workload.resource))
    return found


@rule(
    "no-blanket-toleration",
    title="Only DaemonSets tolerate everything",
    why="A pod that tolerates every taint may settle on a GPU node, which then cannot be removed.",
    remedy="Name the taints that the pod must tolerate.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(WEB, tolerations=(Toleration(None, "Exists"),))),
)
def blanket_toleration(stack: Stack) -> list[Violation]:
    """No workload but a DaemonSet tolerates every taint: its pods could settle on GPU nodes and keep them up.

    One that selects other nodes only, or tolerates eviction alone (``NoExecute``), cannot.

    DaemonSets may: the autoscaler does not count their pods when it removes a node.
    """
    found = []
    groups = _judged_by(_with_elsewhere(stack))
    possible = selectable(groups)
    for workload in stack.workloads if groups else ():
        if workload.kind == "DaemonSet":
            continue
        if workload.tolerations is UNKNOWN and groups == [_ELSEWHERE]:
            continue
        if workload.tolerations is UNKNOWN:
            found.append(_undecided(blanket_toleration.id, workload, "which taints it tolerates"))
            continue
        if not any(_is_blanket(toleration) for toleration in workload.tolerations):
            continue
        reached = either(_admits(workload, group) for group in possible(workload))
        if reached is True:
            message = f"{_subject(workload)} tolerates every taint, those of all GPU node groups included."
            remedy = "Name the taints it must tolerate: one toleration with a key for each."
            found.append(_unless_of_a_daemon_set(blanket_toleration.id, message, remedy, workload))
        elif reached is UNKNOWN and groups != [_ELSEWHERE]:
            found.append(_undecided(blanket_toleration.id, workload, "whether it may run on GPU nodes"))
    return found


def _is_blanket(toleration: Toleration) -> bool:
    return toleration.key is None and toleration.operator == "Exists" and toleration.effect != "PreferNoSchedule"


def _admits(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    """Whether the group's nodes take the workload's pods, whatever these ask for."""
    lacking = untolerated(workload, group)
    return both((selects(workload, group), UNKNOWN if lacking is UNKNOWN else not lacking))


@rule(
    "gpu-nodes-for-gpus",
    title="GPU nodes are for pods that ask for GPUs",
    why="A pod without a GPU request on a GPU node keeps it up without using it.",
    remedy="Remove the GPU node selector and tolerations from pods without a GPU request.",
    level="mandatory",
    severity="high",
    example=program(GPUS, replace(WEB, tolerations=JOB.tolerations)),
)
def reserved(stack: Stack) -> list[Violation]:
    """No workload without a GPU request selects GPU nodes or could be placed on them; DaemonSets excepted."""
    found = []
    stack = _with_elsewhere(stack)
    possible = selectable(_judged_by(stack))
    for workload in stack.workloads:
        if workload.kind == "DaemonSet" or (workload.gpus is not UNKNOWN and workload.gpus > 0):
            continue
        for group in possible(workload):
            if group.kind == "auto-provisioned":
                continue  # made only for pods that ask for GPUs
            verdict = _intrudes(workload, group, stack)
            if verdict is None or (verdict is UNKNOWN and group is _ELSEWHERE):
                continue
            if verdict is UNKNOWN or workload.gpus is UNKNOWN:
                found.append(_undecided(reserved.id, workload, f"whether it may run on GPU node group '{group.name}'"))
            else:
                message = f"{_subject(workload)} asks for no GPU but {verdict} GPU node group '{group.name}'."
                remedy = f"Remove its node selector and tolerations for GPU nodes, or ask for {GPU_RESOURCE}."
                found.append(_unless_of_a_daemon_set(reserved.id, message, remedy, workload))
            break
    return found


class _Obstacle:
    """Why a group does not take a pod; the smaller ``distance``, the less there is to change."""

    def __init__(self, reason: str, remedy: str, distance: int) -> None:
        self.reason, self.remedy, self.distance = reason, remedy, distance


def _obstacle(workload: Workload, group: NodeGroup, gpus: int) -> Maybe[_Obstacle | None]:
    big_enough = offers_gpus(group, gpus)
    if big_enough is False:
        has = f"has {group.gpus_per_node} GPU(s) per node"
        return _Obstacle(has, "Ask for at most as many GPUs as one node of a group has, or add a larger group.", 3)
    selected = selects(workload, group)
    if selected is False:
        return _Obstacle("lacks the labels it selects", "Select labels that a GPU node group carries.", 2)
    lacking = untolerated(workload, group)
    if lacking is not UNKNOWN:
        lacking = tuple(taint for taint in lacking if taint.key != GPU_RESOURCE)
        if lacking:
            return _Obstacle(f"repels it with {_listed(lacking)}", f"Add {_tolerations_for(lacking)}.", 1)
    return UNKNOWN if UNKNOWN in (big_enough, selected, lacking) else None


def _for_gpu_nodes(workload: Workload, stack: Stack) -> Maybe[bool]:
    """A DaemonSet is meant for GPU nodes if it is a device plugin, asks for GPUs, or selects GPU groups only."""
    if workload.device_plugin is True or (workload.gpus is not UNKNOWN and workload.gpus > 0):
        return True
    picks = picks_nodes(workload)
    if picks is False:
        return UNKNOWN if workload.gpus is UNKNOWN else False
    return UNKNOWN if picks is UNKNOWN else _only_gpu_groups(workload, stack)


def _only_gpu_groups(workload: Workload, stack: Stack) -> bool:
    others = [group for group in stack.groups if not has_gpus(group)]
    return all(selects(workload, group) is False for group in others) and any(
        selects(workload, group) is not False for group in _judged_by(stack)
    )


def _intrudes(workload: Workload, group: NodeGroup, stack: Stack) -> Maybe[str | None]:
    selected = selects(workload, group)
    if selected is False:
        return None
    picks = picks_nodes(workload)
    if picks is True and selected is True and _only_gpu_groups(workload, stack):
        return "selects the labels of"
    lacking = untolerated(workload, group)
    if lacking is not UNKNOWN and lacking:
        return None
    if UNKNOWN in (selected, picks, lacking):
        return UNKNOWN
    if not group.taints:
        return None  # the missing taint is the group's fault, and its own violation
    return "tolerates all taints of"


def _with_elsewhere(stack: Stack) -> Stack:
    """The stack, its groups and the pools of its cluster that another program declares as one; see ``distinct``."""
    declared = {group.name for group in stack.groups}
    elsewhere = (pool for pool in stack.elsewhere if pool.name not in declared)
    return distinct(replace(stack, groups=(*stack.groups, *elsewhere)))


def _judged_by(stack: Stack) -> list[NodeGroup]:
    """The GPU groups, or what stands for them in a program without its cluster."""
    if stack.groups or stack.clusters:
        return _gpu_groups(stack)
    return [_ELSEWHERE]


def _gpu_groups(stack: Stack) -> list[NodeGroup]:
    return [group for group in stack.groups if has_gpus(group) and group.kind != "machine"]


def _unless_of_a_daemon_set(rule: str, message: str, remedy: str, workload: Workload) -> Violation:
    doubt = workload.doubt
    return Violation(rule, message, remedy, undecided=doubt is not None, resource=workload.resource, doubt=doubt)


def _subject(workload: Workload) -> str:
    return f"{workload.kind} '{workload.namespace}/{workload.name}'"


def _listed(taints: tuple[Taint, ...]) -> str:
    return ", ".join(str(taint) for taint in taints)


def _tolerations_for(taints: tuple[Taint, ...]) -> str:
    lines = (f"{{key: {t.key}, operator: Equal, value: '{t.value or ''}', effect: {t.effect}}}" for t in taints)
    return "the toleration " + " and ".join(lines)


def _undecided(rule: str, workload: Workload, what: str) -> Violation:
    message = f"{_subject(workload)}: unknown at preview, checked at update: {what}."
    return Violation(rule, message, "Nothing to do yet.", undecided=True, resource=workload.resource)
