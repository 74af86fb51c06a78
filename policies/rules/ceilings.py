"""What a stack may cost per hour, at its maximum and while it is idle; how many GPUs it scales to and quotas grant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from facts.concepts.counts import largest
from facts.concepts.declared import (
    Cluster,
    GpuQuota,
    Minimum,
    NodeGroup,
    Reservation,
    Stack,
    UnknownReason,
    Violation,
    Workload,
)
from facts.concepts.kubernetes import POD_PATHS
from facts.concepts.parts import reserved_beyond, reserved_once
from facts.concepts.pool import GPU_TAINT, size_taint
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.rules.idle import is_about, is_about_any, permanent_pods, reason_of_number
from policies.rules.node_groups import has_gpus, rented
from policies.rules.rule import Rule, rule
from policies.rules.samples import CPUS, GPUS, program
from policies.rules.scheduling import alike, can_get, labels_of, unknown_labels, unknown_selection
from policies.rules.sharing import as_advertised

_SIZES = {"max_nodes", "initial_nodes"}


@rule(
    "hourly-cost-ceiling",
    title="The stack's hourly cost has a limit",
    why="All node groups at their maximum are what the stack can cost in the worst case.",
    remedy="Lower the maximum of a node group, choose a cheaper machine, or raise maxHourlyUsd.",
    level="mandatory",
    severity="high",
    limits={
        "maxHourlyUsd": {
            "wider": "higher",
            "type": ["number", "null"],
            "minimum": 0,
            "description": "Maximum US dollars per hour with all node groups at their maximum; null for no limit.",
        }
    },
    example=program(GPUS, CPUS),
    example_limits={"maxHourlyUsd": 5},
)
def hourly_cost(stack: Stack, max_hourly_usd: float | None = None) -> list[Violation]:
    """All node groups at their maximum cost at most ``max_hourly_usd`` an hour, by list prices (None: no limit)."""
    stack = _raised(stack)
    # The nodes of a cluster that somebody else made are not the program's.
    own = [each for each in stack.clusters if each.other_groups == ()]
    managed = [each for each in own if each.managed_nodes is not False]
    asking = [(cluster, each) for cluster in own for each in stack.workloads if _asks(each, cluster) is True]
    perhaps = [(cluster, each) for cluster in own for each in stack.workloads if _asks(each, cluster) is UNKNOWN]
    if max_hourly_usd is None or not (stack.groups or managed or asking or perhaps):
        return []
    if unknown := _of_unknown_group(hourly_cost, stack, stack.groups):
        return unknown
    if unknown := _of_unknown_maximum(hourly_cost, [(group, _most_nodes(group)) for group in stack.groups]):
        return unknown
    endless = [group for group in stack.groups if _most_nodes(group) is None]
    unlimited = [f"'{group.name}'" for group in endless]
    unlimited += [f"{each.title}, which its cloud makes for pods" for each in managed if each.managed_nodes is True]
    unlimited += [f"{cluster.title}, which its cloud makes for {each.title}" for cluster, each in asking]
    if unlimited:
        message = f"The stack's hourly cost has no limit: nothing limits the number of nodes of {', '.join(unlimited)}."
        own = [reason.remedy for group in endless if (reason := group.unknown_reasons.get("max_nodes"))]
        remedy = "Set a maximum for each node group, in place of nodes that the cloud makes for all pods."
        remedy = " ".join(dict.fromkeys(own if len(own) == len(unlimited) else (remedy, *own)))
        return [hourly_cost.violation(message, remedy=remedy)]
    declared = _within(hourly_cost, _largest(stack), max_hourly_usd, "At its maximum", "hourly cost")
    if managed and all(violation.not_evaluated for violation in declared):
        what = "whether the cloud makes nodes for all pods, which nothing limits"
        return [*declared, hourly_cost.unknown(managed[0].title, what, managed[0].resource)]
    if perhaps and all(violation.not_evaluated for violation in declared):
        cluster, workload = perhaps[0]
        what = f"whether it selects nodes that the cloud of {cluster.title} makes for pods, which nothing limits"
        return [*declared, hourly_cost.unknown(workload.title, what, workload.resource)]
    return declared or [
        hourly_cost.unknown(
            f"The {each.what}", "of which node group it sets the maximum", each.resource, reason=_NO_GROUP
        )
        for each in stack.minimums
        if (each.most is UNKNOWN or each.most > 0) and not any(is_about(each, group) for group in stack.groups)
        if not is_about_any(each, stack)
    ]


_NO_GROUP = UnknownReason(
    "no node group of this program has the name that it gives",
    "Write the group's maximum at the group, or exempt the resource by name.",
)


@rule(
    "idle-cost-ceiling",
    title="The stack's idle cost has a limit",
    why="Idle nodes are billed 168 hours a week.",
    remedy=(
        "Lower the minimum of a node group, scale down pods that hold GPUs, choose a smaller machine, "
        "or raise maxIdleUsd."
    ),
    level="mandatory",
    severity="high",
    limits={
        "maxIdleUsd": {
            "wider": "higher",
            "type": ["number", "null"],
            "minimum": 0,
            "description": "Maximum US dollars per hour for nodes that are always up, for reserved machines, and for "
            "other nodes that permanent pods with GPUs keep up; null for no limit.",
        }
    },
    example=program(GPUS, replace(CPUS, scaling=replace(CPUS.scaling, min_nodes=3))),
    example_limits={"maxIdleUsd": 0.5},
)
def idle_cost(stack: Stack, max_idle_usd: float | None = None) -> list[Violation]:
    """The idle stack costs at most ``max_idle_usd`` an hour (None: no limit).

    These are the nodes that are always up, reserved machines, and the nodes that permanent pods with GPUs keep up, at
    least of the cheapest group that takes them.
    """
    if max_idle_usd is None:
        return []
    declared = _within(idle_cost, _smallest(stack), max_idle_usd, "While it is idle", "idle cost")
    staying = [group for group in stack.groups if _stays(group, stack)]
    if declared or not staying:
        return declared
    kept = {group.resource: group.initial_nodes for group in staying}
    groups = (
        replace(group, scaling=replace(group.scaling, min_nodes=kept.get(group.resource, group.scaling.min_nodes)))
        for group in stack.groups
    )
    raised = _smallest(replace(stack, groups=tuple(groups)))
    dearer = _within(idle_cost, raised, max_idle_usd, "With the nodes that it starts with", "idle cost")
    return [
        replace(each, resource=staying[0].resource, remedy=_STAYS.remedy, not_evaluated=True, unknown_reason=_STAYS)
        for each in dearer
    ]


_STAYS = UnknownReason(
    "no autoscaler in this program removes the nodes that its groups start with",
    "Start each group with its minimum, or exempt it by name where another program has the autoscaler.",
)


def _stays(group: NodeGroup, stack: Stack) -> bool:
    """Whether the group starts with more nodes than its minimum, and nothing in the program removes these: where an
    autoscaler in the cluster does, none is declared."""
    least, first = group.scaling.min_nodes, group.initial_nodes
    more = least is not UNKNOWN and first is not UNKNOWN and first > least
    removed = any(each.scales_nodes is not False for each in stack.workloads)
    return more and group.scaling.autoscaled is True and group.scaling_group is not None and not removed


def cost_note(stack: Stack) -> str:
    """What the nodes of a program with rented GPU groups cost an hour by list prices, idle and at their maximum, in one
    line; empty for other programs."""
    if not any(map(rented, stack.groups)):
        return ""
    idle, most = _smallest(stack), _largest(stack)
    unlimited = [group.name for group in stack.groups if _most_nodes(group) is None]
    at_maximum = f"without limit ({_named(unlimited)})" if unlimited else f"{_sum(most)} with all groups at maxNodes"
    costs = {cost.name: cost for cost in (*idle, *most) if cost.name not in unlimited}
    notes = (
        ("no price is known for", [name for name, cost in costs.items() if cost.usd is None]),
        ("the update shows the price of", [name for name, cost in costs.items() if cost.usd is UNKNOWN]),
    )
    left_out = "".join(f"; {why} {_named(names)}" for why, names in notes if names)
    return f"List price of the nodes: {_sum(idle)} an hour idle, {at_maximum}{left_out}."


def _raised(stack: Stack) -> Stack:
    """The stack with the maximums that schedules, plans and calls give its groups, where these are larger."""
    others = [each for each in stack.minimums if each.most is UNKNOWN or each.most > 0]
    if not others:
        return stack
    return replace(stack, groups=tuple(_raised_group(group, others) for group in stack.groups))


def _raised_group(group: NodeGroup, others: list[Minimum]) -> NodeGroup:
    own = _most_nodes(group)
    for most in (each.most for each in others if is_about(each, group)):
        if own is None or own is UNKNOWN:
            break
        own = UNKNOWN if most is UNKNOWN else max(own, most)
    if own is _most_nodes(group):
        return group
    return replace(group, scaling=replace(group.scaling, max_nodes=own, autoscaled=True))


def _named(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _sum(costs: list[_Cost]) -> str:
    """What is known of them together: ``$0.14``, or ``at most $0.14`` where a part is an upper limit."""
    at_most = any(cost.at_most and cost.usd for cost in costs)
    total = sum(cost.usd for cost in costs if cost.usd is not UNKNOWN and cost.usd is not None)
    return f"{'at most ' if at_most else ''}${total:.2f}"


def _asks(workload: Workload, cluster: Cluster) -> Maybe[bool]:
    """Whether the workload's pods ask the cluster's cloud for nodes of its own."""
    if any((key, value) in cluster.classes for key, values in labels_of(workload) for value in values):
        return True
    unknown = unknown_labels(workload)
    # Of other kinds an operator makes the pods, and may add a selector: what they select is never known.
    anything = workload.kind in POD_PATHS and unknown_selection(workload)
    return UNKNOWN if any(anything or key in unknown for key, _ in cluster.classes) else False


def _largest(stack: Stack) -> list[_Cost]:
    """The cost of each group at its maximum, and of its reserved machines beyond."""
    unused = reserved_beyond(group.scaling for group in stack.groups)
    most = [(group, most_nodes(group), more) for group, more in zip(stack.groups, unused, strict=True)]
    return [_cost(group, nodes + more if isinstance(nodes, int) else nodes) for group, nodes, more in most]


def _smallest(stack: Stack) -> list[_Cost]:
    """The cost of what is billed while nothing runs."""
    reserved = [_cost_reserved(reservation) for reservation in stack.reservations]
    in_pools = zip(stack.groups, reserved_once(group.scaling for group in stack.groups), strict=True)
    pools = [_cost(group, _billed_nodes(group, machines)) for group, machines in in_pools]
    return [*pools, *reserved, *_permanent_workloads(stack)]


@dataclass(frozen=True)
class _Cost:
    """What a part of a stack costs an hour: ``UNKNOWN`` until the update, or ``None`` without a price for it.

    ``at_most``: an upper limit. ``priced_by``: what the gate's configuration has to have the prices of. ``reason``: why
    a number of pods is an upper limit, or unknown.
    """

    name: str
    usd: Maybe[float | None]
    at_most: bool = False
    priced_by: tuple[str, ...] = ()
    reason: UnknownReason | None = None


def _cost(group: NodeGroup, nodes: Maybe[int]) -> _Cost:
    """The cost of this many of the group's nodes. Own machines without a price cost nothing: nobody rents them out."""
    price = group.nodes.dearest_hourly_usd
    if price is UNKNOWN and "gpus_per_node" in group.unknown_reasons:
        price = None  # the update does not show the machine type, either
    if nodes == 0 or (group.kind == "owned" and price is None):
        return _Cost(group.name, 0.0)
    if nodes is UNKNOWN or price is UNKNOWN:
        return _Cost(group.name, UNKNOWN)
    usd = None if price is None else price * nodes
    return _Cost(group.name, usd, group.nodes.price_at_most, _priced_by(group))


FEW_TYPES = 6
"""Machine types of a group that prices name one by one."""


def _priced_by(group: NodeGroup) -> tuple[str, ...]:
    """What prices of the gate's configuration name: the machine types without one or, of none or many, the group."""
    named = [each for each in group.nodes.machine_types if isinstance(each, str)]
    types = group.unpriced or tuple(named[:1])
    return types if 0 < len(types) <= FEW_TYPES else (group.name,)


def _cost_reserved(reservation: Reservation) -> _Cost:
    """The cost of the reserved machines, used or not."""
    machine, machines, price = reservation.machine_type, reservation.machines, reservation.hourly_usd
    if machines is UNKNOWN or price is UNKNOWN:
        return _Cost(reservation.what, UNKNOWN)
    usd = 0.0 if machines == 0 else None if price is None else price * machines
    return _Cost(reservation.what, usd, reservation.price_at_most, (machine,) if isinstance(machine, str) else ())


def _billed_nodes(group: NodeGroup, reserved: int) -> Maybe[int]:
    """Nodes of the group at its smallest, or more where more machines are reserved for it."""
    least = _least_nodes(group)
    return least if least is UNKNOWN else max(least, reserved)


def _within(limited: Rule[...], costs: list[_Cost], limit: float, when: str, what: str) -> list[Violation]:
    """The violation if what is known of the costs exceeds the limit, or else if some are not known."""
    priced = [(cost.name, cost.usd) for cost in costs if cost.usd is not UNKNOWN and cost.usd is not None]
    total = sum(usd for _, usd in priced)
    if total > limit:
        # What costs nothing is no remedy.
        most = ", ".join(f"{name} ${usd:.2f}" for name, usd in largest((name, usd) for name, usd in priced if usd))
        at_most = "at most " if any(cost.at_most and cost.usd for cost in costs) else ""
        message = (
            f"{when} the stack costs {at_most}${total:.2f} an hour, over the limit of ${limit:.2f}; highest: {most}."
        )
        reasons = [cost for cost in costs if cost.reason is not None and cost.usd is not UNKNOWN and cost.usd]
        why, remedies = _reasons(reasons, "counts the most pods that it may have")
        return [limited.violation(message + why, remedy=" ".join([limited.remedy, *remedies]) if remedies else "")]
    others = f"the rest costs ${total:.2f} an hour"
    if elsewhere := ", ".join(f"'{cost.name}'" for cost in costs if cost.usd is None and not cost.priced_by):
        message = f"The stack's {what} cannot be checked: no node group of this program has the GPUs of {elsewhere}."
        remedy = (
            "Describe their node groups in the gate's configuration (pools), with what a node costs an hour (prices)."
        )
        return [limited.violation(message, remedy=remedy)]
    if unpriced := [cost for cost in costs if cost.usd is None]:
        names = ", ".join(dict.fromkeys(f"'{cost.name}' ({', '.join(cost.priced_by)})" for cost in unpriced))
        message = f"The stack's {what} cannot be checked: there is no price for {names}; {others}."
        named = ", ".join(
            f'"{each}": …' for each in dict.fromkeys(each for cost in unpriced for each in cost.priced_by)
        )
        example = f'"prices": {{{named}}}'
        remedy = f"Write what one costs an hour into the gate's configuration ({example}), or as hourlyUsd of its pool."
        return [limited.violation(message, remedy=remedy)]
    if unknown := ", ".join(f"'{cost.name}'" for cost in costs if cost.usd is UNKNOWN):
        message = f"Unknown at preview, checked at update: the {what} of {unknown}; {others}."
        reasons = [cost for cost in costs if cost.reason is not None and cost.usd is UNKNOWN]
        why, remedies = _reasons(reasons, "is unknown at the update, too")
        remedy = " ".join(["Check the price of these by hand.", *remedies])
        return [limited.violation(message + why, remedy=remedy, not_evaluated=True)]
    return []


def _reasons(costs: list[_Cost], what: str) -> tuple[str, list[str]]:
    """Sentences on why these costs may be others, and their remedies."""
    reasons = [(cost.name, cost.reason) for cost in costs if cost.reason is not None]
    why = "".join(f" '{name}' {what}, because {reason.why}." for name, reason in reasons)
    return why, list(dict.fromkeys(reason.remedy for _, reason in reasons))


def most_nodes(group: NodeGroup) -> Maybe[int]:
    """Nodes of the group at its largest; ``UNKNOWN`` also where nothing limits them."""
    most = _most_nodes(group)
    return UNKNOWN if most is None else most


def _most_nodes(group: NodeGroup) -> Maybe[int | None]:
    if group.scaling.autoscaled is UNKNOWN:
        return UNKNOWN
    return group.scaling.max_nodes if group.scaling.autoscaled else group.initial_nodes


def _least_nodes(group: NodeGroup) -> Maybe[int]:
    if group.scaling.autoscaled is UNKNOWN:
        return UNKNOWN
    return group.scaling.min_nodes if group.scaling.autoscaled else group.initial_nodes


def _of_unknown_maximum(limited: Rule[...], sizes: list[tuple[NodeGroup, Maybe[int | None]]]) -> list[Violation]:
    """The violation if the maximum of a group is an output that only the update knows.

    A ceiling is checked at the end of an update, when such a group is there already and may grow.
    """
    groups = [group for group, nodes in sizes if nodes is UNKNOWN and not _SIZES & group.unknown_reasons.keys()]
    if not groups:
        return []
    names = ", ".join(f"'{group.name}'" for group in groups)
    message = f"The maximum of node group {names} is unknown until the update has created it: the limit would not hold."
    remedy = "Write the maximum of the node group as a number, not as an output of another resource."
    return [limited.violation(message, groups[0].resource, remedy=remedy)]


def _of_unknown_group(limited: Rule[...], stack: Stack, groups: Sequence[NodeGroup]) -> list[Violation]:
    """The violation if something sets a maximum of a group that only the update knows, for the same reason."""
    own = [nodes for group in groups if isinstance(nodes := _most_nodes(group), int)]
    for each in stack.minimums:
        if is_about_any(each, stack) and own and (each.most is UNKNOWN or each.most > min(own)):
            message = (
                f"The {each.what} sets a maximum of a node group that the update alone knows: the limit would not hold."
            )
            remedy = f"Write what it sets ({each.where}) and for which group as the program knows it, not as an output."
            return [limited.violation(message, each.resource, remedy=remedy)]
    return []


@dataclass
class _Room:
    """Groups that no workload tells apart: the GPUs (or shares of GPUs) of their running nodes that no permanent
    pod holds, how many these nodes are, and how many more they may have (``None``: any number)."""

    group: NodeGroup
    free: int
    more: int | None
    running: int = 0

    def pods(self, gpus: int) -> int:
        """How many pods with this many GPUs one node takes, at least one of them."""
        each = self.group.gpus.allocatable
        return max(each // gpus, 1) if isinstance(each, int) else 1

    def nodes(self, gpus: int, pods: int, apart: bool) -> tuple[int, int]:
        """How many nodes more these pods need, as far as there may be more, and how many of the pods these take;
        ``apart``: each of the pods needs its own."""
        each = self.group.gpus.allocatable
        if self.group.kind == "auto-provisioned" and isinstance(each, int) and each:
            return -(-pods * gpus // each), pods
        on_one = 1 if apart else self.pods(gpus)
        needed = -(-pods // on_one)
        nodes = needed if self.more is None else min(needed, self.more)
        return nodes, min(pods, nodes * on_one)


def _permanent_workloads(stack: Stack) -> list[_Cost]:
    """Permanent GPU workloads, and the hourly cost of the nodes that these keep up beyond those that always are."""
    stack = as_advertised(stack)
    rooms = [_room(groups) for groups in alike(stack)] + [_Room(group, 0, None) for group in stack.elsewhere]
    pools = (*stack.groups, *stack.elsewhere)
    costs: list[_Cost] = []
    asking: list[tuple[Workload, int, int, list[_Room]]] = []
    for workload in stack.workloads:
        pods = permanent_pods(workload, stack)
        if workload.gpus == 0 or pods == 0 or workload.kind == "DaemonSet":
            continue
        if workload.gpus is UNKNOWN or pods is UNKNOWN:
            costs.append(_Cost(_called(workload), UNKNOWN, reason=reason_of_number(workload, pods)))
            continue
        fits = [
            each
            for each in rooms
            if each.group.kind != "machine" and can_get(workload, each.group, workload.gpus) is not False
        ]
        asking.append((workload, workload.gpus, pods, fits))
    # Those that may run on few groups come first: they leave what is free on others to others. Then
    # those that need a node each, whose GPUs beside them others may have.
    for workload, gpus, pods, fits in sorted(asking, key=lambda each: (len(each[3]), not each[0].apart)):
        for room in fits:
            held = min(pods, room.free // gpus, room.running if workload.apart else pods)
            room.free, pods = room.free - held * gpus, pods - held
        if not pods:
            continue
        if not fits:
            if not any(map(has_gpus, pools)):
                costs.append(_Cost(_called(workload), None))
            continue
        reason = reason_of_number(workload, permanent_pods(workload, stack))
        costs.append(replace(_held(workload, gpus, pods, fits), at_most=reason is not None, reason=reason))
    return costs


def _held(workload: Workload, gpus: int, pods: int, fits: list[_Room]) -> _Cost:
    """The cost of the cheapest nodes that take these pods; those that no group has room for count like the others."""
    prices = [_price(room.group) for room in fits]
    priced = [(room, price) for room, price in zip(fits, prices, strict=True) if isinstance(price, (int, float))]
    if not priced:
        return _Cost(_called(workload), UNKNOWN if UNKNOWN in prices else None, priced_by=_priced_by(fits[0].group))
    usd = 0.0
    while pods:
        ways = [(room, price, *room.nodes(gpus, pods, workload.apart)) for room, price in priced]
        if not any(taken for *_, taken in ways):
            ways = [
                (room, price, *replace(room, more=None).nodes(gpus, pods, workload.apart)) for room, price in priced
            ]
        room, price, nodes, taken = min(
            (each for each in ways if each[3]), key=lambda each: each[1] * each[2] / each[3]
        )
        usd, pods = usd + price * nodes, pods - taken
        room.free += (nodes * room.pods(gpus) - taken) * gpus if room.group.kind != "auto-provisioned" else 0
        room.running += nodes
        room.more = None if room.more is None else max(room.more - nodes, 0)
    return _Cost(_called(workload), usd)


def _price(group: NodeGroup) -> Maybe[float | None]:
    price = group.nodes.dearest_hourly_usd
    return 0.0 if price is None and group.kind == "owned" else price


def _called(workload: Workload) -> str:
    return f"{workload.kind} {workload.namespace}/{workload.name}"


def _room(groups: list[NodeGroup]) -> _Room:
    free, more = sum(map(_gpus_always_up, groups)), 0
    running = sum(nodes for group in groups if isinstance(nodes := _nodes_always_up(group), int))
    for group in groups:
        most, least = _most_nodes(group), _least_nodes(group)
        if not isinstance(most, int) or not isinstance(least, int):
            return _Room(groups[0], free, None, running)
        more += max(most - least, 0)
    return _Room(groups[0], free, more, running)


def _nodes_always_up(group: NodeGroup) -> Maybe[int]:
    return group.scaling.min_nodes if group.scaling.autoscaled is True else group.initial_nodes


def _gpus_always_up(group: NodeGroup) -> int:
    nodes = _nodes_always_up(group)
    if group.kind == "machine" or group.gpus.allocatable is UNKNOWN or nodes is UNKNOWN:
        return 0
    return group.gpus.allocatable * nodes


@rule(
    "gpu-stack-ceiling",
    title="The stack's number of GPUs has a limit",
    why="Many small groups can add up to more GPUs than intended.",
    remedy="Lower the maximum of a GPU node group, or raise maxGpus.",
    level="mandatory",
    severity="high",
    limits={
        "maxGpus": {
            "wider": "higher",
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Maximum GPUs with all node groups at their maximum; null for no limit.",
        }
    },
    example=program(
        GPUS,
        replace(
            GPUS,
            name="l4-4",
            gpus=replace(GPUS.gpus, per_node=4),
            nodes=replace(GPUS.nodes, taints=(GPU_TAINT, size_taint(4))),
        ),
    ),
    example_limits={"maxGpus": 16},
)
def stack_ceiling(stack: Stack, max_gpus: int | None = None) -> list[Violation]:
    """All GPU groups at their maximum, and machines with GPUs, have at most ``max_gpus`` GPUs (None: no limit)."""
    stack = _raised(stack)
    groups = [group for group in stack.groups if has_gpus(group)]
    if max_gpus is None:
        return []
    if unknown := _of_unknown_group(stack_ceiling, stack, groups):
        return unknown
    granted = _granted(stack)
    declared = _of_groups(groups, granted, max_gpus) if groups else _of_quotas(granted, max_gpus)
    if granted and {cluster.managed_nodes is True for cluster in stack.clusters} == {True, False}:
        declared = [_with_words_on_quotas(each) for each in declared]
    return declared or _of_open_namespaces(stack)


def _with_words_on_quotas(violation: Violation) -> Violation:
    # Nothing that the engine tells at preview says to which cluster an object goes.
    return replace(
        violation,
        message=f"{violation.message} The quotas of all clusters count: whose each is, the gate does not know.",
        remedy=f"{violation.remedy} Or declare the cluster whose cloud makes the nodes in a program of its own.",
    )


def _of_groups(groups: list[NodeGroup], granted: list[tuple[str, int]], max_gpus: int) -> list[Violation]:
    if unknown_sizes := _of_unknown_maximum(stack_ceiling, [(group, _most_nodes(group)) for group in groups]):
        return unknown_sizes
    counts = [(group.name, _most_gpus(group)) for group in groups]
    known = [(name, gpus) for name, gpus in counts if gpus is not UNKNOWN]
    known += [(f"quota of {namespace}", gpus) for namespace, gpus in granted]
    total = sum(gpus for _, gpus in known)
    if total > max_gpus:
        message = (
            f"At its maximum the stack has {total} GPUs, over the limit of {max_gpus}; highest: {_highest(known)}."
        )
        bounded = [(group, why) for group in groups if (why := group.unknown_reasons.get("gpus_per_node"))]
        for group, reason in bounded:
            message += f" A node of '{group.name}' counts {group.gpus.per_node}, because {reason.why}."
        others = list(dict.fromkeys(reason.remedy for _, reason in bounded))
        return [stack_ceiling.violation(message, remedy=" ".join([stack_ceiling.remedy, *others]) if others else "")]
    if unknown := [f"'{name}'" for name, gpus in counts if gpus is UNKNOWN]:
        message = f"Unknown at preview, checked at update: how many GPUs {', '.join(unknown)} can scale to; "
        return [stack_ceiling.violation(message + f"the rest is {total}.", not_evaluated=True)]
    return []


_FOR_PODS = UnknownReason(
    "the cloud makes nodes for all pods that request GPUs",
    "Limit each of their namespaces by a ResourceQuota of requests.nvidia.com/gpu.",
)


def _of_open_namespaces(stack: Stack) -> list[Violation]:
    """A note on pods with GPUs for which a cloud makes the nodes, where no quota that is known limits these GPUs."""
    limits = [quota for quota in stack.quotas if quota.gpus is not UNKNOWN]
    pods = [
        (cluster, each)
        for cluster in stack.clusters
        for each in stack.workloads
        if each.gpus is UNKNOWN or each.gpus > 0
        if cluster.managed_nodes is True or _asks(each, cluster) is not False
        if not any(_limits(quota, each) for quota in limits)
    ]
    if not pods:
        return []
    cluster, spaces = pods[0][0], ", ".join(sorted({each.namespace for _, each in pods}))
    message = f"{cluster.title}: it is unknown how many GPUs its pods may hold: no quota limits {spaces}."
    return [
        stack_ceiling.violation(
            message, cluster.resource, remedy=_FOR_PODS.remedy, not_evaluated=True, unknown_reason=_FOR_PODS
        )
    ]


def _limits(quota: GpuQuota, workload: Workload) -> bool:
    named = (quota.namespace, quota.gpu_resource) == (workload.namespace, workload.gpu_resource)
    return named and quota.place.same(workload.place)


def _granted(stack: Stack) -> list[tuple[str, int]]:
    """The quotas of the namespaces for whose pods a cloud makes the nodes, which then limit their GPUs."""
    managed = any(cluster.managed_nodes is True for cluster in stack.clusters)
    asking = {each.namespace for cluster in stack.clusters for each in stack.workloads if _asks(each, cluster) is True}
    return [
        (quota.namespace, quota.gpus)
        for quota in stack.quotas
        if quota.gpus is not UNKNOWN and (managed or quota.namespace in asking)
    ]


def _of_quotas(granted: list[tuple[str, int]], max_gpus: int) -> list[Violation]:
    total = sum(gpus for _, gpus in granted)
    if total <= max_gpus:
        return []
    message = f"The namespaces' quotas grant {total} GPUs, over the limit of {max_gpus}; highest: {_highest(granted)}."
    return [stack_ceiling.violation(message, remedy="Lower a namespace's quota, or raise maxGpus.")]


@rule(
    "gpu-quotas-kept",
    title="GPU quotas of all namespaces fit the node groups",
    why="If quotas grant more GPUs than the node groups have, a job within its quota may wait forever.",
    remedy="Lower a namespace's quota, raise the maximum of a GPU node group, or raise mostPromised.",
    level="advisory",
    severity="medium",
    limits={
        "mostPromised": {
            "wider": "higher",
            "type": ["number", "null"],
            "minimum": 0,
            "description": "GPUs that all quotas together may grant, per GPU of the node groups at their maximum, "
            "for example 1.5; null for no limit.",
        }
    },
    example=program(GPUS, GpuQuota("research", 4), GpuQuota("vision", 2)),
)
def quotas_kept(stack: Stack, most_promised: float | None = 1) -> list[Violation]:
    """The GPU quotas of all namespaces together are at most ``most_promised`` times the GPUs of all groups at their
    maximum, which the ceilings on GPUs and dollars hold.

    Shares of a GPU are GPUs to a quota and not to a group: where a program shares them, nothing is compared.
    """
    resources = dict.fromkeys(quota.gpu_resource for quota in stack.quotas)
    if most_promised is None or stack.sharing:
        return []
    return [violation for resource in resources for violation in _of_resource(stack, most_promised, resource)]


def _of_resource(stack: Stack, most_promised: float, resource: str) -> Iterator[Violation]:
    groups = [
        group for group in (*stack.groups, *stack.elsewhere) if has_gpus(group) and group.gpus.resource == resource
    ]
    if not groups:
        return
    counts = [_most_gpus(group) for group in groups]
    available = sum(count for count in counts if count is not UNKNOWN)
    quotas = [(quota.namespace, quota.gpus) for quota in stack.quotas if quota.gpu_resource == resource]
    granted = [(namespace, gpus) for namespace, gpus in quotas if gpus is not UNKNOWN]
    total = sum(gpus for _, gpus in granted)
    if UNKNOWN not in counts and total > available * most_promised:
        message = (
            f"The namespaces' quotas grant {total} GPUs ({resource}), but the stack has at most {available}; highest: "
        )
        yield quotas_kept.violation(f"{message}{_highest(granted)}.")
    elif UNKNOWN in counts or len(granted) < len(quotas):
        message = (
            f"Unknown at preview, checked at update: whether the stack has the {total} GPUs of all quotas ({resource})."
        )
        yield quotas_kept.violation(message, not_evaluated=True)


def _highest(counts: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {gpus}" for name, gpus in largest(counts))


def _most_gpus(group: NodeGroup) -> Maybe[int]:
    """GPUs of the group at its largest."""
    nodes = most_nodes(group)
    if group.gpus.per_node is UNKNOWN or nodes is UNKNOWN:
        return UNKNOWN
    return group.gpus_of(nodes, group.gpus.per_node)
