"""What keeps GPU nodes running without a job: long idle times, schedules, placeholders, reservations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from facts.catalog.gpu_names import MACHINE, MODEL
from facts.concepts.counts import counted
from facts.concepts.declared import (
    IdleTime,
    Minimum,
    NodeGroup,
    PodScaler,
    Reservation,
    Stack,
    UnknownReason,
    Violation,
    Workload,
)
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.unknown import UNKNOWN, Maybe, either
from policies.rules.clusters import clusters_with_gpus
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, JOB, program
from policies.rules.scheduling import admits, as_running, can_get, distinct
from policies.rules.sharing import as_advertised


@rule(
    "gpu-idle-time",
    title="Idle GPU nodes are removed soon",
    why="A minimum of 0 saves nothing if an idle node runs for days.",
    remedy="Remove idle nodes after some minutes, at any time of day.",
    level="mandatory",
    severity="high",
    limits={
        "maxIdleMinutes": {
            "wider": "higher",
            "type": ["number", "null"],
            "minimum": 0,
            "description": "Maximum minutes that a GPU node may be idle; null allows any limit except never.",
        }
    },
    example=program(replace(GPUS, idle=IdleTime(720 * 60, "spec.disruption.consolidateAfter"))),
)
def idle_time(stack: Stack, max_idle_minutes: float | None = 60) -> Iterator[Violation]:
    """A GPU node is removed at most ``max_idle_minutes`` after its last pod, by its group, cluster and autoscaler, and
    a pod that a scaler takes away (KEDA, Ray's autoscaler, Jenkins) at most as long after its work.

    An autoscaler in a program without node groups is checked as well: another program declares its groups. Beside
    groups without GPUs, another program may have some: what would keep them is a note.
    """
    for owner, idle, certain, resource, reason in _idle_times(stack):
        if idle.minutes is not UNKNOWN and _is_short(idle.minutes, max_idle_minutes):
            continue
        within = "some minutes" if max_idle_minutes is None else f"{max_idle_minutes:g} minutes"
        remedy = f"Set {idle.where} so that an idle node is removed within {within}, at any time of day."
        if idle.minutes is UNKNOWN or not certain:
            what = f"how long an idle GPU node runs ({idle.where})"
            yield idle_time.unknown(owner, what, resource, reason=reason, remedy=remedy)
        else:
            message = f"{owner} keeps an idle GPU node {_span(idle.minutes)} ({idle.where})."
            yield idle_time.violation(message, resource, remedy=remedy)


@rule(
    "gpu-nodes-deleted",
    title="Scale-down deletes GPU nodes",
    why="A stopped node still costs its disks and counts against the GPU quota.",
    remedy="Let scale-down delete the nodes (scaleDownMode: Delete).",
    level="advisory",
    severity="medium",
    example=replace(GPUS, deletes_nodes=False),
)
def nodes_deleted(group: NodeGroup) -> list[Violation]:
    """Scale-down deletes the nodes of a GPU group instead of stopping them.

    https://learn.microsoft.com/azure/aks/scale-down-mode
    """
    stops = UNKNOWN if group.deletes_nodes is UNKNOWN else has_gpus(group) and not group.deletes_nodes
    predicate = "stops idle nodes, which keep their disks and their quota"
    return nodes_deleted.decide(stops, f"GPU node group '{group.name}'", predicate, group.resource)


def _idle_times(stack: Stack) -> Iterator[tuple[str, IdleTime, bool, str, UnknownReason | None]]:
    """What sets an idle time, the time, whether there certainly are GPU nodes, where it is declared, and why it may not
    hold."""
    groups = [group for group in stack.groups if has_gpus(group) and group.kind != "machine"]
    for group in filter(has_gpus, stack.groups):
        if group.idle is not None:
            yield f"GPU node group '{group.name}'", group.idle, group.gpus.per_node is not UNKNOWN, group.resource, None
    for cluster, members in clusters_with_gpus(stack):
        if cluster.idle is not None:
            certain = any(has_gpus(group) and group.gpus.per_node is not UNKNOWN for group in members)
            yield cluster.title, cluster.idle, certain, cluster.resource, None
    for cluster in () if groups else stack.clusters:
        if cluster.idle is not None and cluster.managed_nodes is not True:
            yield cluster.title, cluster.idle, False, cluster.resource, _POOLS_ELSEWHERE
    for workload in stack.workloads:
        for scaler in _scalers(workload, stack) if workload.gpus != 0 else ():
            # One that leaves a pod anyway leaves it for ever, which another rule reports.
            if scaler.idle is not None and scaler.least == 0 and scaler.place.same(workload.place):
                yield workload.title, scaler.idle, workload.gpus is not UNKNOWN, workload.resource, None
        if workload.idle is None:
            continue
        if workload.gpus != 0 and workload.kind != "DaemonSet":  # by a scaler of its own
            yield workload.title, workload.idle, workload.gpus is not UNKNOWN, workload.resource, None
            continue
        if workload.kind not in ("DaemonSet", "Release"):  # an autoscaler
            elsewhere = _POOLS_ELSEWHERE if stack.groups and not groups else None
            certain = not stack.groups or any(group.gpus.per_node is not UNKNOWN for group in groups)
            yield workload.title, workload.idle, certain, workload.resource, elsewhere
            continue
        # Pods keep nodes of Karpenter alone, on which they are.
        made = [group for group in groups if group.cloud == "karpenter"]
        held = [(group, on) for group in made if (on := admits(workload, as_running(group))) is not False]
        reason = workload.unknown_reason if groups else _OTHER_POOLS
        if held or (not groups and _tolerates_gpu_nodes(workload)):
            sure = any(on is True and group.gpus.per_node is not UNKNOWN for group, on in held)
            yield workload.title, workload.idle, sure and reason is None, workload.resource, reason


_POOLS_ELSEWHERE = UnknownReason(
    "none of the cluster's node groups here has GPUs, and another program may declare some that have",
    "Shorten it, or exempt it by name if the cluster has no GPU nodes.",
)
_OTHER_POOLS = UnknownReason(
    "no GPU node pool is in this program, and other autoscalers than Karpenter do not know the annotation",
    "Remove the annotation, or exempt it by name if Karpenter starts none of these nodes.",
)


def _tolerates_gpu_nodes(workload: Workload) -> bool:
    """Whether its pods may be on nodes with the usual taint."""
    tolerations = workload.tolerations
    return tolerations is UNKNOWN or any(each.key in (None, GPU_RESOURCE) for each in tolerations)


def _is_short(minutes: float, most: float | None) -> bool:
    return minutes != math.inf if most is None else minutes <= most


def _span(minutes: float) -> str:
    if minutes == math.inf:
        return "forever"
    return f"for {minutes / 60:g} hours" if minutes >= 120 else f"for {minutes:g} minutes"


_UNKNOWN_NODE = UnknownReason(
    "the node's name does not say to which node group it belongs",
    "Remove the annotation, or exempt the patch by name if the node has no GPUs.",
)
_GROUP_ELSEWHERE = UnknownReason(
    "another program declares the group, whose name is that of GPUs",
    "Declare it where the group is, with 0 nodes, or exempt it by name if the group has no GPUs.",
)
_OF_GPUS = re.compile(rf"(?<![a-z])gpus?(?![a-z])|nvidia|{MODEL.pattern}|{MACHINE.pattern}", re.IGNORECASE)


@rule(
    "gpu-minimum-elsewhere",
    title="No schedule or flag sets a minimum of GPU nodes",
    why="A schedule or a flag keeps GPU nodes running although their group has the minimum 0.",
    remedy="Set every minimum of the group to 0: nodes are added when a pod requests a GPU.",
    level="mandatory",
    severity="critical",
    example=replace(program(GPUS), minimums=(Minimum("schedule 'morning'", 2, "l4", where="minSize"),)),
)
def minimum_elsewhere(stack: Stack) -> Iterator[Violation]:
    """No schedule, autoscale setting or autoscaler's flag keeps nodes of a GPU group."""
    groups = [group for group in stack.groups if has_gpus(group)]
    for minimum in stack.minimums:
        if minimum.nodes is not UNKNOWN and minimum.nodes <= 0:
            continue
        open = is_about_any(minimum, stack)
        group = next((group for group in groups if open or is_about(minimum, group)), None)
        if group is None:
            if any(is_about(minimum, other) for other in stack.groups):
                continue
            named, reason = None, _UNKNOWN_NODE
            if minimum.node:
                named = "the node"
            elif isinstance(minimum.group, str) and _OF_GPUS.search(minimum.group):
                named, reason = f"nodes of group '{minimum.group}'", _GROUP_ELSEWHERE
            if named is not None:
                message = f"The {minimum.what} keeps {named} ({minimum.where}). It is unknown whether it has GPUs."
                yield minimum_elsewhere.violation(message, minimum.resource, not_evaluated=True, unknown_reason=reason)
            continue
        remedy = f"Set {minimum.where} to 0, or remove it: nodes are added when a pod requests a GPU."
        if open or minimum.nodes is UNKNOWN or group.gpus.per_node is UNKNOWN:
            what = f"whether it keeps nodes of GPU node group '{group.name}'"
            yield minimum_elsewhere.unknown(f"The {minimum.what}", what, minimum.resource, remedy=remedy)
        else:
            message = f"The {minimum.what} keeps at least {counted(minimum.nodes, 'node')} of GPU node group "
            message += f"'{group.name}' ({minimum.where}), even if the group's own minimum is 0."
            yield minimum_elsewhere.violation(message, minimum.resource, remedy=remedy)


@rule(
    "gpu-placeholders",
    title="No placeholder pods on GPU nodes",
    why="A placeholder pod makes the autoscaler keep a GPU node that does no work.",
    remedy="Remove the placeholder or its GPU request. The first job then waits some minutes for its node.",
    level="mandatory",
    severity="critical",
    example=program(GPUS, replace(JOB, kind="Deployment", name="pause", always=2, keeps_room=True)),
)
def placeholders(stack: Stack) -> Iterator[Violation]:
    """No GPUs for pods of negative priority, with the image ``pause`` or whose command only waits, as it is commonly
    written (``sleep infinity``), or for buffers."""
    stack = distinct(as_advertised(stack))
    for workload in stack.workloads:
        if workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        keeps, count, scalers = _keeps_room(workload, stack), permanent_pods(workload, stack), _scalers(workload, stack)
        if keeps is False or (count == 0 and not scalers):
            continue
        if count == 0:  # pods that do nothing are there whenever a scaler starts them
            times = _largest([0, *(each.scheduled for each in scalers)])
            count = UNKNOWN if times == 0 else times
        if workload.gpus is UNKNOWN or keeps is UNKNOWN or count is UNKNOWN:
            what = "whether its pods are placeholders on GPU nodes"
            reason = reason_of_number(workload, count) or workload.pods_reason
            yield placeholders.unknown(workload.title, what, workload.resource, reason=reason)
        else:
            at_most = "" if reason_of_number(workload, count) is None else "up to "
            message = f"{workload.title} reserves room for {at_most}{counted(count, 'pod')} with "
            message += f"{counted(workload.gpus, 'GPU')}: nodes run without work"
            yield placeholders.violation(
                f"{message}{_price(workload, count * workload.gpus, stack)}.", workload.resource
            )


@rule(
    "gpu-daemonset-asks",
    title="DaemonSets request no GPUs",
    why="A DaemonSet's pod takes a GPU of every node before any job.",
    remedy="Remove the DaemonSet's GPU request: drivers and monitoring can use GPUs without one.",
    level="mandatory",
    severity="high",
    example=replace(JOB, kind="DaemonSet", name="burn-in"),
)
def daemon_set_asks(workload: Workload) -> list[Violation]:
    """No DaemonSet requests GPUs."""
    if workload.kind != "DaemonSet" or workload.gpus is UNKNOWN or workload.gpus == 0:
        return []
    message = f"DaemonSet '{workload.namespace}/{workload.name}' requests {counted(workload.gpus, 'GPU')} on every "
    message += "node that it runs on: jobs get the rest."
    return [daemon_set_asks.violation(message, workload.resource)]


@rule(
    "gpu-held-for-ever",
    title="Report always-on GPU workloads",
    why="A service with a permanent GPU pod keeps its node running, even if the minimum of the node group is 0.",
    remedy="Scale it to zero while it is idle (KEDA, Knative, a Job), or exempt it with a reason.",
    level="advisory",
    severity="medium",
    example=program(GPUS, replace(JOB, kind="Deployment", name="serve", always=2)),
)
def held_for_ever(stack: Stack) -> Iterator[Violation]:
    """Reports workloads that hold GPUs whether or not there is work, with their price."""
    stack = distinct(as_advertised(stack))
    for workload in stack.workloads:
        if workload.gpus is UNKNOWN or workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        count, scalers = permanent_pods(workload, stack), _scalers(workload, stack)
        for pods, when in (
            ([each.scheduled for each in scalers], "at the times of a schedule"),
            ([each.fallback for each in scalers], "as long as its scaler cannot read its metrics (fallback)"),
        ):
            if count == 0 and (times := _largest([0, *pods])) is not UNKNOWN and times > 0:
                gpus = times * workload.gpus
                message = f"{workload.title} holds {_gpus(workload, gpus, stack)}{_price(workload, gpus, stack)}, "
                message += f"whether there is work or not, {when}."
                yield held_for_ever.violation(message, workload.resource)
        if count == 0 or _keeps_room(workload, stack) is True:
            continue
        reason = reason_of_number(workload, count)
        if count is UNKNOWN:
            what = "how many of its pods always run"
            yield held_for_ever.unknown(workload.title, what, workload.resource, reason=reason)
            continue
        gpus = count * workload.gpus
        holds, remedy = f"always holds {_gpus(workload, gpus, stack)}{_price(workload, gpus, stack)}", ""
        if reason is not None:
            holds = f"always holds up to {_gpus(workload, gpus, stack)}, because {reason.why}"
            remedy = f"{held_for_ever.remedy} {reason.remedy}"
        message = f"{workload.title} {holds}: its nodes are never removed."
        yield held_for_ever.violation(message, workload.resource, remedy=remedy)


@rule(
    "gpu-reserved-capacity",
    title="Report reserved GPUs",
    why="Reserved machines are billed until the reservation ends, used or not.",
    remedy="End the reservation with the work that needs it, and let a node group use it.",
    level="advisory",
    severity="medium",
    example=Reservation("capacity reservation 'h100'", 2, 8, "p5.48xlarge"),
)
def reserved_capacity(reservation: Reservation) -> list[Violation]:
    """Reports machines with GPUs that are billed whether or not they are used."""
    if reservation.gpus_per_machine == 0 or reservation.machines == 0:
        return []
    if reservation.gpus_per_machine is UNKNOWN or reservation.machines is UNKNOWN:
        what = "how many GPUs it reserves"
        return [reserved_capacity.unknown(f"The {reservation.what}", what, reservation.resource)]
    machines = f"{counted(reservation.machines, 'machine')} with {counted(reservation.gpus_per_machine, 'GPU')}"
    message = f"The {reservation.what} reserves {machines} each ({reservation.machine_type}), "
    message += "billed whether they are used or not."
    return [reserved_capacity.violation(message, reservation.resource)]


def permanent_pods(workload: Workload, stack: Stack) -> Maybe[int]:
    """Pods that always run: the minimum of the workload's scaler, the largest of several, or its number of replicas. A
    scaler of another cluster takes none away."""
    scalers = _scalers(workload, stack)
    own = any(scaler.place.same(workload.place) for scaler in scalers)
    return _largest([*(_least(scaler, workload) for scaler in scalers), *(() if own else (workload.always,))])


def reason_of_number(workload: Workload, pods: Maybe[int]) -> UnknownReason | None:
    """Why this number of permanent pods is an upper bound, or unknown; ``None`` where a scaler's or a certain one."""
    return workload.always_reason if pods == workload.always else None


def _least(scaler: PodScaler, workload: Workload) -> Maybe[int]:
    most = _largest([scaler.least, workload.always])
    if scaler.only_adds is False or most == scaler.least:
        return scaler.least
    return UNKNOWN if scaler.only_adds is UNKNOWN else most


def _largest(numbers: list[Maybe[int]]) -> Maybe[int]:
    return UNKNOWN if UNKNOWN in numbers else max(number for number in numbers if number is not UNKNOWN)


def _scalers(workload: Workload, stack: Stack) -> list[PodScaler]:
    named = (workload.kind, workload.namespace, workload.name)
    return [scaler for scaler in stack.pod_scalers if (scaler.kind, scaler.namespace, scaler.name) == named]


def _keeps_room(workload: Workload, stack: Stack) -> Maybe[bool]:
    own = workload.priority_class
    classes = (known.value for known in stack.priorities if (known.of_all if own is None else known.name == own))
    lowered = (UNKNOWN if value is UNKNOWN else value < 0 for value in classes)
    return either((workload.keeps_room, *lowered))


def is_about_any(minimum: Minimum, stack: Stack) -> bool:
    """Whether it may be about any group, as neither its name is known yet nor where it is declared."""
    return minimum.group is UNKNOWN and not any(group.resource in minimum.declared_at for group in stack.groups)


def is_about(minimum: Minimum, group: NodeGroup) -> bool:
    """Whether it keeps nodes of this group, or gives it a maximum."""
    # Clouds name nodes after the pool: gke-CLUSTER-POOL-HASH, aks-POOL-NUMBER-vmss.
    if (minimum.node and f"-{group.name}-" in minimum.node) or group.resource in minimum.declared_at:
        return True
    if not isinstance(minimum.group, str):
        return False
    pattern = group.scaling_group.name if group.scaling_group is not None else UNKNOWN
    of_pool = re.fullmatch(rf"[a-z]+-(?:[\w-]+-)?{re.escape(group.name)}-[0-9a-f]+-(?:vmss|grp)", minimum.group)
    return (
        minimum.group == group.name
        or of_pool is not None
        or (isinstance(pattern, str) and re.fullmatch(pattern, minimum.group) is not None)
    )


def usd_of_gpus(workload: Workload, gpus: int, stack: Stack) -> Maybe[float | None]:
    """Hourly cost of that many GPUs on the cheapest group that the workload's pods can get: 0 if none of this program's
    takes them or it is of own machines, ``None`` if no price of one is known or another program or the cloud makes the
    nodes, and ``UNKNOWN`` until the update shows one."""
    pools, groups = (*stack.groups, *stack.elsewhere), _places(workload, stack)
    if not groups and not any(map(has_gpus, pools)):
        return None
    prices = [_usd_per_gpu(group) for group in groups]
    known = [price for price in prices if price is not UNKNOWN and price is not None]
    if known or not groups:
        return min(known, default=0.0) * gpus
    return UNKNOWN if UNKNOWN in prices else None


def _places(workload: Workload, stack: Stack) -> list[NodeGroup]:
    """The groups that the workload's pods can get."""
    each = workload.gpus if isinstance(workload.gpus, int) else 1
    pools = (*stack.groups, *stack.elsewhere)
    return [group for group in pools if group.kind != "machine" and can_get(workload, group, each) is not False]


def _gpus(workload: Workload, gpus: int, stack: Stack) -> str:
    """That many GPUs in words; of some that are shared, the least that the pods hold."""
    shares = max((group.gpus.shares for group in _places(workload, stack)), default=1)
    return counted(gpus, "GPU") if shares == 1 else f"{counted(gpus, 'share')} of {counted(-(-gpus // shares), 'GPU')}"


def _price(workload: Workload, gpus: int, stack: Stack) -> str:
    usd = usd_of_gpus(workload, gpus, stack)
    return f", at least ${usd:.2f} an hour" if isinstance(usd, float) and usd else ""


def _usd_per_gpu(group: NodeGroup) -> Maybe[float | None]:
    price, each = group.nodes.dearest_hourly_usd, group.gpus.allocatable
    if price is UNKNOWN or each is UNKNOWN:
        return UNKNOWN
    if price is None or each == 0:
        return 0.0 if group.kind == "owned" else None
    return price / each
