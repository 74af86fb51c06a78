"""Checks of the cluster's pools and nodes during the scenario, and of what a destroy leaves.

Nodes and system pods are as the stack declared them, and so is what the cloud made of pools that get no node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from facts.concepts.counts import counted
from facts.concepts.pool import POOL_LABEL, Pool
from rehearsal.checks.workloads import why
from rehearsal.scenario.check import NOT_REACHED, Check, Pools
from rehearsal.scenario.plan import OffGpus, RunsOn
from rehearsal.scenario.player import Played
from rehearsal.scenario.timeline import NODE_AGENTS, NodeRecord, PodRecord, Timeline
from rehearsal.simulation import SimulatedNodeGroup


def starts_at_zero(timeline: Timeline, played: Played) -> Check:
    """After the update and before the first GPU pod, no GPU node exists or ever existed."""
    first = played.first_gpu_submission
    until = first if first is not None else timeline.now()
    early = [node for node in timeline.nodes if node.gpu_pool and node.created < until]
    names = ", ".join(f"{node.name} ({node.pool})" for node in early)
    detail = (
        f"GPU nodes before any pod requested a GPU: {names}"
        if early
        else "no GPU node before the first pod requested a GPU"
    )
    return Check("starts-at-zero", "GPU pools start empty", not early, detail)


def cpu_work_wakes_none(timeline: Timeline, played: Played) -> Check:
    """Pods without GPUs ran on CPU nodes and made the autoscaler start no GPU node."""
    problems = []
    for one in played.submitted:
        if not isinstance(one.submission.expect, OffGpus):
            continue
        pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
        for pod in pods:
            node = timeline.node_of(pod)
            if node is not None and node.gpu_pool:
                problems.append(f"{pod.name} ran on GPU node {node.name}")
        if one.submission.expect.runs and not any(pod.running is not None for pod in pods):
            problems.append(f"{one.submission.workload} never ran: {why(timeline, one)}")
        until = played.cpu_done or timeline.now()
        started_nodes = [node.name for node in timeline.nodes if node.gpu_pool and one.at <= node.created < until]
        if started_nodes:
            problems.append(
                f"GPU nodes started while only {one.submission.workload} was pending: {', '.join(started_nodes)}"
            )
    detail = "; ".join(problems) or "CPU pods ran on CPU nodes and started no GPU node"
    return Check("cpu-job-wakes-none", "CPU work starts no GPU node", not problems and bool(played.submitted), detail)


def reached(timeline: Timeline, pools: Pools, played: Played, messages: Mapping[str, str]) -> Iterator[Check]:
    """Every GPU pool got a node with usable GPUs, and no more than its pods needed while the first ones waited; if not,
    the reason has the autoscaler's ``messages`` by pool."""
    for pool in pools.gpu:
        nodes = [node for node in timeline.nodes if node.pool == pool.name]
        usable = [node for node in nodes if node.gpus_ready_at is not None]
        peak = timeline.peak(pool.name)
        detail = f"{counted(len(nodes), 'node')} in total, {peak} at most at once, {len(usable)} with allocatable GPUs"
        reasons = (_about_machines(timeline, pool.name, nodes), messages.get(pool.name, ""))
        if not usable and any(reasons):
            detail += f": {'; '.join(filter(None, reasons))}"
        surplus = "" if pool.scaling.min_nodes else _surplus(timeline, pool.name, played)
        passed = bool(usable) and not surplus
        yield Check(f"reached:{pool.name}", f"{pool.name} scales up from zero", passed, detail + surplus)


def _surplus(timeline: Timeline, pool: str, played: Played) -> str:
    """Nodes that started before the first workload of a pool ran, if they are more than the pods that waited."""
    for one in played.submitted:
        pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
        on_pool = isinstance(one.submission.expect, RunsOn) and one.submission.expect.pools == frozenset({pool})
        if not on_pool or not pods or any(pod.running is None for pod in pods):
            continue
        until = max(pod.running or 0.0 for pod in pods)
        came = [node.name for node in timeline.nodes if node.pool == pool and one.at <= node.created < until]
        waited = [pod for pod in timeline.pods if pod.gpus and pod.created < until and (pod.running or until) >= one.at]
        if len(came) > len(waited):
            return f"; {counted(len(came), 'node')} started for {counted(len(waited), 'pod')}: {', '.join(came)}"
        return ""
    return ""


def limits(timeline: Timeline, pools: Pools) -> Iterator[Check]:
    """No pool exceeds its maximum number of nodes, at any observed moment."""
    sized = pools.maxima.items()
    over = [(name, timeline.peak(name), most) for name, most in sized if timeline.peak(name) > most]
    detail = "; ".join(
        f"{name} had {counted(peak, 'node')} at once, its maximum is {most}" for name, peak, most in over
    )
    peaks = ", ".join(f"{name} {timeline.peak(name)} of {most}" for name, most in sized)
    title = "No pool exceeds its maximum number of nodes"
    yield Check("max-never-exceeded", title, not over, detail or f"highest number of nodes: {peaks}")


def system_pods_off_gpus(timeline: Timeline) -> Check:
    """No system pod, except node agents, was ever placed on a GPU node: it would keep the node running."""
    guilty = [(pod, node) for pod, node in placements(timeline) if pod.system and node.gpu_pool]
    system_pods = sum(pod.system for pod, _ in placements(timeline))
    detail = "; ".join(f"{pod.namespace}/{pod.name} on {node.name} ({node.pool})" for pod, node in guilty)
    good = f"{counted(system_pods, 'system pod placement')}, none on a GPU node"
    passed = not guilty and system_pods > 0
    return Check("system-pods-off-gpu", "System pods stay off GPU nodes", passed, detail or good)


def back_to_zero(timeline: Timeline, played: Played) -> Check:
    """After the last pod, every GPU pool returned to zero nodes."""
    title = "GPU pools scale back to zero"
    if played.back_to_zero is not None and played.all_deleted is not None:
        took = played.back_to_zero - played.all_deleted
        return Check(
            "returned-to-zero",
            title,
            True,
            f"no GPU node {took:.1f} s after the last pod was deleted (compressed time)",
        )
    left = timeline.gpu_nodes_now()
    reasons = []
    for node in left:
        holders = [
            p.name for p in timeline.pods if p.node == node.name and p.deleted is None and p.owner not in NODE_AGENTS
        ]
        reasons.append(
            f"{node.name} ({node.pool}) still running"
            + (f"; not removed because of {', '.join(holders)}" if holders else "")
        )
    return Check("returned-to-zero", title, False, "; ".join(reasons) or NOT_REACHED)


def admin_stays(timeline: Timeline, pools: Pools, played: Played) -> Check:
    """The admin pool had at least its minimum of nodes from the first GPU pod to the end."""
    admin = pools.admin
    assert admin is not None
    start = played.first_gpu_submission
    end = played.ended or timeline.now()
    lowest = timeline.lowest(admin.name, start, end) if start is not None else 0
    minimum = admin.scaling.min_nodes
    return Check(
        "admin-stays",
        "The admin pool keeps its nodes while GPU nodes start and stop",
        lowest >= minimum,
        f"at least {counted(lowest, 'admin node')} at all times, minimum {minimum}",
    )


def _about_machines(timeline: Timeline, pool: str, nodes: Sequence[NodeRecord]) -> str:
    """Why a pool has no usable GPUs: a warning about its nodes, else about the pods that waited for one."""
    names = {node.name for node in nodes}
    warnings = [event.message for event in timeline.events if event.name in names and event.type == "Warning"]
    warnings = warnings or [event.message for event in timeline.events if event.machines and event.pool == pool]
    return warnings[-1] if warnings else ""


def placements(timeline: Timeline) -> list[tuple[PodRecord, NodeRecord]]:
    """Every pod that was ever placed, with its node."""
    return [(pod, node) for pod in timeline.pods if pod.node and (node := timeline.node_of(pod)) is not None]


def leftover_checks(left: Sequence[str], retained: frozenset[str]) -> list[Check]:
    """After a destroy only the retained resources exist, and they do exist.

    ``left``: existing objects, each ending with its ID after a space; ``retained``: IDs of the retained resources.
    """
    over = [each for each in left if each.rpartition(" ")[2] not in retained]
    stays = f"; retained: {', '.join(sorted(retained))}" if retained else ""
    detail = f"left over: {', '.join(over)}" if over else "no node and no resource in the simulated account" + stays
    checks = [Check("nothing-left", "Destroy leaves no node and no cloud resource", not over, detail)]
    if retained:
        missing = sorted(retained - {each.rpartition(" ")[2] for each in left})
        detail = f"deleted: {', '.join(missing)}" if missing else f"retained: {', '.join(sorted(retained))}"
        checks.append(Check("kept", "Retained resources survive the destroy", not missing, detail))
    return checks


_ZONE = "topology.kubernetes.io/zone"
CAPACITY = "karpenter.sh/capacity-type"
"""A node's capacity type. In a rehearsal all autoscaled nodes have it, because Karpenter or its simulation creates
them; each cloud also has a label of its own for it."""

_LISTED = 5


def nodes_as_declared(timeline: Timeline, pools: Pools) -> Check:
    """Every node matches its pool: machine type, zone, labels, taints, capacity type, and its GPUs once usable."""
    declared = {pool.name: pool for pool in pools.all}
    ready = [node for node in timeline.nodes if node.ready is not None and node.registered]
    strange = [f"{node.name} belongs to no pool of the stack" for node in ready if node.pool not in declared]
    wrong = [
        f"{node.name} ({node.pool}) {problem}"
        for node in ready
        if node.pool in declared
        for problem in _differences(node, declared[node.pool])
    ]
    errors = [*strange, *wrong]
    detail = "; ".join(errors[:_LISTED]) + (f"; and {len(errors) - _LISTED} more" if len(errors) > _LISTED else "")
    good = f"{counted(len(ready), 'node')} checked: machine type, zone, labels, taints, capacity type, GPUs"
    title = "Every node matches its pool"
    passed = bool(ready) and not errors
    return Check("nodes-as-declared", title, passed, detail or (good if ready else "no node was observed"))


def system_pods_run(timeline: Timeline, played: Played) -> Check:
    """Every system pod runs: none that existed before the GPU pods were deleted is still pending.

    Agents of a node that was deleted before they could start do not count: the cluster deletes them later.
    """
    until = played.all_deleted or timeline.now()
    left = {node.name for node in timeline.nodes if node.deleted is not None}
    mine = [
        pod
        for pod in timeline.pods
        if pod.system_namespace
        and pod.deleted is None
        and pod.created <= until
        and not (pod.owner in NODE_AGENTS and pod.node in left)
    ]
    waiting = [pod for pod in mine if pod.running is None]
    failed = [pod for pod in mine if pod.phase == "Failed" and pod.owner not in NODE_AGENTS]
    reasons = [
        f"{pod.namespace}/{pod.name} never ran: {timeline.why_pending(pod.name) or 'no reason was reported'}"
        for pod in waiting
    ]
    reasons += [f"{pod.namespace}/{pod.name} failed" for pod in failed]
    detail = "; ".join(reasons[:_LISTED]) or f"{counted(len(mine), 'pod')} outside the namespace default, all started"
    return Check("system-pods-run", "System pods run", bool(mine) and not reasons, detail)


def _differences(node: NodeRecord, pool: Pool) -> Iterator[str]:
    if node.machine_type not in pool.nodes.machine_types:
        yield f"is a {node.machine_type or 'machine of unknown type'}, declared {' or '.join(pool.nodes.machine_types)}"
    zone = node.labels.get(_ZONE, "")
    if zone not in pool.nodes.zones:
        yield f"is in zone {zone or 'none'}, declared {' or '.join(pool.nodes.zones)}"
    for key, value in pool.nodes.labels.items():
        if node.labels.get(key) != value:
            yield f"has label {key}={node.labels.get(key, '(none)')}, declared {value}"
    declared = (f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in pool.nodes.taints)
    lacking = [text for text in declared if text not in node.taints]
    if lacking:
        yield f"has no taint {', '.join(lacking)}"
    bought, expected = node.labels.get(CAPACITY), "spot" if pool.scaling.spot else "on-demand"
    reserved = pool.scaling.reservation is not None
    # Karpenter's term for reserved machines; other autoscalers report them as on-demand.
    if bought is not None and bought != expected and not (reserved and bought == "reserved"):
        yield f"is {bought}, declared {pool.scaling.capacity_type}"
    if node.gpus_ready_at is not None and node.most_gpus != pool.gpus.allocatable:
        yield f"has {node.most_gpus} allocatable GPUs, declared {pool.gpus.allocatable}"


_ESTIMATED = 0.1
"""Formulas of ephemeral storage are estimates; a disk of another size is further away."""


def groups_as_declared(groups: Sequence[SimulatedNodeGroup], pools: Pools, *, limited: bool = False) -> Check:
    """Every node group matches its pool, and every pool has one if ``pools.in_groups``.

    ``limited``: the account has limits, which change sizes.
    """
    declared = {pool.name: pool for pool in pools.all}
    problems: list[str] = []
    for group in groups:
        labels = {**group.nodes.labels, **group.late_labels}
        pool = declared.pop(labels.get(POOL_LABEL, ""), None)
        if pool is None:
            problems.append(f"{group.name} belongs to no pool of the stack, or is its second")
            continue
        problems += [
            f"{pool.name} {problem}" for problem in _group_differences(group, pool, pools.storage.get(pool.name))
        ]
        problems += [
            f"{pool.name} {problem}" for problem in _memory(group, pools.memory.get(group.nodes.machine_type, 0))
        ]
        problems += [f"{pool.name} {problem}" for problem in (() if limited else _sizes(group, pool))]
    if pools.in_groups:
        problems += [f"{name} has no node group" for name in declared]
    problems += list(_order(groups, pools))
    compared = "machine type, zones, labels, taints, capacity type, memory, disk, size, order"
    good = f"{counted(len(groups), 'group')}: {compared}"
    title = "Every node group matches its pool"
    return Check("groups-as-declared", title, not problems, "; ".join(problems) or good)


def groups_as_planned(groups: Sequence[SimulatedNodeGroup], pools: Pools) -> Check:
    """What an autoscaler in the cluster believes of each group while it is empty is what its nodes will be."""
    declared = {pool.name: pool for pool in pools.all}
    problems = [
        f"{group.name} {problem}"
        for group in groups
        if not sum(group.permanent().values())
        for problem in _unplanned(group, declared.get(group.nodes.labels.get(POOL_LABEL, "")))
    ]
    good = f"{counted(len(groups), 'group')}: labels, taints, GPUs, disk"
    title = "The autoscaler plans the nodes of an empty group as they will be"
    return Check("groups-as-planned", title, not problems, "; ".join(problems) or good)


def _unplanned(group: SimulatedNodeGroup, pool: Pool | None) -> Iterator[str]:
    if pool is None:
        yield f"is planned without the label {POOL_LABEL}"
        return
    late = {*group.late_labels, *(taint.key for taint in group.late_taints)}
    if unseen := late & {*pool.nodes.labels, *(taint.key for taint in pool.nodes.taints)}:
        yield f"is planned without {', '.join(sorted(unseen))}"
    if group.machine.gpus not in (group.gpus, pool.gpus.allocatable):
        yield f"is planned with {counted(group.machine.gpus, 'GPU')} a node, and has {group.gpus}"
    if group.scaling.autoscaled and not group.machine.disk_mib:
        yield "is planned without a disk"


def _group_differences(group: SimulatedNodeGroup, pool: Pool, storage_mib: int | None) -> Iterator[str]:
    if group.nodes.machine_type not in pool.nodes.machine_types:
        yield f"is of {group.nodes.machine_type}, declared {' or '.join(pool.nodes.machine_types)}"
    if set(group.nodes.zones) != set(pool.nodes.zones):
        yield f"is in {', '.join(group.nodes.zones)}, declared {', '.join(pool.nodes.zones)}"
    labels = {**group.nodes.labels, **group.late_labels}
    for key, value in pool.nodes.labels.items():
        if labels.get(key) != value:
            yield f"has label {key}={labels.get(key, '(none)')}, declared {value}"
    taints = {str(taint) for taint in (*group.nodes.taints, *group.late_taints)}
    declared = {str(taint) for taint in pool.nodes.taints}
    if taints != declared:
        yield f"has taints {', '.join(sorted(taints)) or '(none)'}, declared {', '.join(sorted(declared)) or '(none)'}"
    if group.scaling.spot != pool.scaling.spot:
        yield f"is {'spot' if group.scaling.spot else 'on-demand'}, declared {pool.scaling.capacity_type}"
    if bool(group.gpus) != bool(pool.gpus.allocatable):
        yield f"has {counted(group.gpus, 'GPU')} a node, declared {pool.gpus.allocatable}"
    mib = group.machine.disk_mib
    if storage_mib and mib and abs(mib / storage_mib - 1) > _ESTIMATED:
        yield f"has {mib / 1024:.0f} GiB of ephemeral storage, {storage_mib / 1024:.0f} with {pool.nodes.disk_gb} GB"
    if group.removal == "deallocate":
        yield "retains removed machines, deallocated: they take quota, and their disks are paid"
    if group.not_scaled_because:
        yield f"gets no node: {group.not_scaled_because}"


def _memory(group: SimulatedNodeGroup, planned: int) -> Iterator[str]:
    if group.machine.reserved_memory_mib is not None:
        mib = int(1024 * group.machine.memory_gib) - group.machine.reserved_memory_mib
        if mib < planned - 1:  # both are rounded
            yield f"leaves {mib} MiB of a node to pods, and jobs are planned with {planned}"


def _sizes(group: SimulatedNodeGroup, pool: Pool) -> Iterator[str]:
    zones = len(group.nodes.zones) if group.per_zone else 1
    always, most = sum(group.permanent().values()), group.scaling.max_nodes * zones
    if always != pool.scaling.min_nodes and (group.scaling.autoscaled or not pool.scaling.autoscaled):
        yield f"always has {counted(always, 'node')}, declared {pool.scaling.min_nodes}"
    if group.scaling.autoscaled and group.initial_nodes > pool.nodes_per_zone:
        yield f"starts with {counted(group.initial_nodes, 'node')} a zone, declared {pool.nodes_per_zone}"
    if group.scaling.autoscaled and most != pool.scaling.max_nodes:
        yield f"has up to {counted(most, 'node')}, declared {pool.scaling.max_nodes}"


def _order(groups: Sequence[SimulatedNodeGroup], pools: Pools) -> Iterator[str]:
    """Of pools that differ in capacity type only, the first in the fallback order is the autoscaler's first choice."""
    ranks = {group.nodes.labels.get(POOL_LABEL, ""): group.rank for group in groups}
    for first in pools.gpu:
        for later in pools.gpu:
            one, other = ranks.get(first.name), ranks.get(later.name)
            same = first.gpus.type == later.gpus.type and first.gpus.per_node == later.gpus.per_node
            if (
                same
                and first.scaling.preference < later.scaling.preference
                and one is not None
                and other is not None
                and one > other
            ):
                yield f"{later.name} is tried before {first.name}"
