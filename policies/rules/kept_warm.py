"""What keeps GPU nodes up while no job asks for them, beside the minimum of their group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from facts.concepts.declared import Minimum, NodeGroup, Reservation, Stack, Violation, Workload
from facts.concepts.unknown import UNKNOWN, Maybe, either
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, JOB, program
from policies.rules.scheduling import distinct, selects, untolerated

_MORE_OR_LESS = "unknown at preview, checked at update"


@rule(
    "gpu-minimum-elsewhere",
    title="Nothing else sets a minimum of GPU nodes",
    why="A schedule or a flag keeps GPU nodes up although their group says 0.",
    remedy="Leave the group's size to its autoscaler, with a minimum of 0 wherever one is written.",
    level="mandatory",
    severity="critical",
    example=replace(program(GPUS), minimums=(Minimum("schedule 'morning'", 2, "l4", where="minSize"),)),
)
def minimum_elsewhere(stack: Stack) -> list[Violation]:
    """No schedule, autoscale setting or autoscaler's flag keeps nodes of a GPU group."""
    found = []
    groups = [group for group in stack.groups if has_gpus(group)]
    for minimum in stack.minimums:
        if minimum.nodes is not UNKNOWN and minimum.nodes <= 0:
            continue
        group = next((group for group in groups if _is_about(minimum, group)), None)
        if group is None:
            continue
        remedy = f"Set {minimum.where} to 0, or remove it: nodes come when a pod asks for a GPU."
        if minimum.nodes is UNKNOWN or group.gpus_per_node is UNKNOWN:
            message = f"The {minimum.what}: {_MORE_OR_LESS}: whether it keeps nodes of GPU node group '{group.name}'."
            violation = Violation(minimum_elsewhere.id, message, remedy, undecided=True, resource=minimum.resource)
        else:
            message = f"The {minimum.what} keeps at least {minimum.nodes} node(s) of GPU node group '{group.name}' "
            message += f"({minimum.where}), whatever the group's own minimum is."
            violation = Violation(minimum_elsewhere.id, message, remedy, resource=minimum.resource)
        found.append(violation)
    return found


@rule(
    "gpu-placeholders",
    title="No placeholders on GPU nodes",
    why="A pod that only keeps room makes an autoscaler keep a GPU node that does no work.",
    remedy="Remove the placeholder's GPU request, or the placeholder: the first job waits some minutes for its node.",
    level="mandatory",
    severity="critical",
    example=program(GPUS, replace(JOB, kind="Deployment", name="pause", always=2, keeps_room=True)),
)
def placeholders(stack: Stack) -> list[Violation]:
    """No pods of negative priority, and no buffers for pods to come, hold GPUs for ever."""
    found = []
    stack = distinct(stack)
    for workload in stack.workloads:
        if workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        keeps, count = _keeps_room(workload, stack), permanent_pods(workload, stack)
        if keeps is False or count == 0:
            continue
        name = f"{workload.kind} '{workload.namespace}/{workload.name}'"
        if workload.gpus is UNKNOWN or keeps is UNKNOWN or count is UNKNOWN:
            message = f"{name}: {_MORE_OR_LESS}: whether its pods only keep room on GPU nodes."
            violation = Violation(placeholders.id, message, placeholders.remedy, undecided=True)
        else:
            message = f"{name} keeps room for {count} pod(s) with {workload.gpus} GPU(s): nodes stay up for no work"
            message += f"{_price(workload, count * workload.gpus, stack)}."
            violation = Violation(placeholders.id, message, placeholders.remedy)
        found.append(replace(violation, resource=workload.resource))
    return found


@rule(
    "gpu-daemonset-asks",
    title="DaemonSets take no GPUs",
    why="A DaemonSet's pod takes its GPU on every node before any job does.",
    remedy="Remove the DaemonSet's GPU request: pods that watch or prepare GPUs reach them without one.",
    level="mandatory",
    severity="high",
    example=replace(JOB, kind="DaemonSet", name="burn-in"),
)
def daemon_set_asks(workload: Workload) -> list[Violation]:
    """No DaemonSet asks for GPUs."""
    if workload.kind != "DaemonSet" or workload.gpus is UNKNOWN or workload.gpus == 0:
        return []
    message = f"DaemonSet '{workload.namespace}/{workload.name}' asks for {workload.gpus} GPU(s) of every node that it "
    message += "runs on: jobs get what is left."
    return [Violation(daemon_set_asks.id, message, daemon_set_asks.remedy, resource=workload.resource)]


@rule(
    "gpu-held-for-ever",
    title="GPUs held for ever are known",
    why="A service that always has a GPU pod is paid for all week, whatever its nodes' minimum is.",
    remedy="Scale it to zero while nobody uses it (KEDA, Knative, a job), or know that it stays.",
    level="advisory",
    severity="medium",
    example=program(GPUS, replace(JOB, kind="Deployment", name="serve", always=2)),
)
def held_for_ever(stack: Stack) -> list[Violation]:
    """No workload asks for GPUs whether or not there is work; those that do are noted, with their price."""
    found = []
    stack = distinct(stack)
    for workload in stack.workloads:
        if workload.gpus is UNKNOWN or workload.gpus == 0 or workload.kind == "DaemonSet":
            continue
        count = permanent_pods(workload, stack)
        if count is UNKNOWN or count <= 0 or _keeps_room(workload, stack) is True:
            continue
        gpus = count * workload.gpus
        message = f"{workload.kind} '{workload.namespace}/{workload.name}' holds {gpus} GPU(s) for ever"
        message += f"{_price(workload, gpus, stack)}: its nodes never go."
        found.append(Violation(held_for_ever.id, message, held_for_ever.remedy, resource=workload.resource))
    return found


@rule(
    "gpu-reserved-capacity",
    title="Reserved GPUs are known",
    why="Reserved machines are billed from their declaration to their end, in use or not.",
    remedy="Keep a reservation no longer than the work that needs it, and let a node group use it.",
    level="advisory",
    severity="medium",
    example=Reservation("capacity reservation 'h100'", 2, 8, "p5.48xlarge"),
)
def reserved_capacity(reservation: Reservation) -> list[Violation]:
    """Machines with GPUs that are billed whether or not they are in use are noted."""
    if reservation.gpus_per_machine == 0 or reservation.machines == 0:
        return []
    if reservation.gpus_per_machine is UNKNOWN or reservation.machines is UNKNOWN:
        message = f"The {reservation.what}: {_MORE_OR_LESS}: how many GPUs it keeps."
        undecided = Violation(reserved_capacity.id, message, reserved_capacity.remedy, undecided=True)
        return [replace(undecided, resource=reservation.resource)]
    message = (
        f"The {reservation.what} keeps {reservation.machines} machine(s) with {reservation.gpus_per_machine} GPU(s) "
    )
    message += f"each ({reservation.machine_type}), billed in use or not."
    return [Violation(reserved_capacity.id, message, reserved_capacity.remedy, resource=reservation.resource)]


def permanent_pods(workload: Workload, stack: Stack) -> Maybe[int]:
    """Pods that are there without work: as few as whoever scales the workload leaves, else as many as it says."""
    named = (workload.kind, workload.namespace, workload.name)
    scaled = (scaler.least for scaler in stack.pod_scalers if (scaler.kind, scaler.namespace, scaler.name) == named)
    return next(scaled, workload.always)


def _keeps_room(workload: Workload, stack: Stack) -> Maybe[bool]:
    classes = (known.value for known in stack.priorities if known.name == workload.priority_class)
    lowered = (UNKNOWN if value is UNKNOWN else value < 0 for value in classes)
    return either((workload.keeps_room, *lowered))


def _is_about(minimum: Minimum, group: NodeGroup) -> bool:
    if group.resource in minimum.declared_at:
        return True
    if not isinstance(minimum.group, str):
        return False
    pattern = group.scaling.name if group.scaling is not None else UNKNOWN
    return minimum.group == group.name or (
        isinstance(pattern, str) and re.fullmatch(pattern, minimum.group) is not None
    )


def usd_of_gpus(workload: Workload, gpus: int, stack: Stack) -> float | None:
    """What that many GPUs cost an hour on the cheapest group that takes the workload; ``None`` if that is not known."""
    usd = min((one for group in stack.groups if (one := _usd_per_gpu(workload, group)) is not None), default=None)
    return None if usd is None else usd * gpus


def _price(workload: Workload, gpus: int, stack: Stack) -> str:
    usd = usd_of_gpus(workload, gpus, stack)
    return "" if usd is None else f", at least ${usd:.2f} an hour"


def _usd_per_gpu(workload: Workload, group: NodeGroup) -> float | None:
    price, each = group.hourly_usd, group.gpus_per_node
    if price is UNKNOWN or price is None or each is UNKNOWN or each == 0 or group.kind == "machine":
        return None
    return price / each if selects(workload, group) is not False and not _repels(workload, group) else None


def _repels(workload: Workload, group: NodeGroup) -> bool:
    lacking: Maybe[Iterable[object]] = untolerated(workload, group)
    return lacking is not UNKNOWN and bool(lacking)
