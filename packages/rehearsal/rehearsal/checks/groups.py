"""The check of what the cloud made of each pool, also of pools that get no node in the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from facts.concepts.counts import counted
from facts.concepts.pool import POOL_LABEL, Pool
from rehearsal.scenario.check import Check, Pools
from rehearsal.simulation import SimulatedNodeGroup

_ESTIMATED = 0.1
"""Formulas of ephemeral storage are estimates; a disk of another size is further away."""


def groups_as_declared(groups: Sequence[SimulatedNodeGroup], pools: Pools, *, limited: bool = False) -> Check:
    """Every node group matches its pool, and every pool has one if ``pools.in_groups``.

    ``limited``: the account has limits, which change sizes.
    """
    declared = {pool.name: pool for pool in pools.all}
    problems: list[str] = []
    for group in groups:
        labels = {**group.labels, **group.late_labels}
        pool = declared.pop(labels.get(POOL_LABEL, ""), None)
        if pool is None:
            problems.append(f"{group.name} belongs to no pool of the stack, or is its second")
            continue
        problems += [f"{pool.name} {problem}" for problem in _differences(group, pool, pools.storage.get(pool.name))]
        problems += [f"{pool.name} {problem}" for problem in _memory(group, pools.memory.get(group.machine.type, 0))]
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
        for problem in _unplanned(group, declared.get(group.labels.get(POOL_LABEL, "")))
    ]
    good = f"{counted(len(groups), 'group')}: labels, taints, GPUs, disk"
    title = "The autoscaler plans the nodes of an empty group as they will be"
    return Check("groups-as-planned", title, not problems, "; ".join(problems) or good)


def _unplanned(group: SimulatedNodeGroup, pool: Pool | None) -> Iterator[str]:
    if pool is None:
        yield f"is planned without the label {POOL_LABEL}"
        return
    late = {*group.late_labels, *(each["key"] for each in group.late_taints)}
    if unseen := late & {*pool.labels, *(taint.key for taint in pool.taints)}:
        yield f"is planned without {', '.join(sorted(unseen))}"
    if group.machine.gpus not in (group.gpus, pool.allocatable_gpus):
        yield f"is planned with {counted(group.machine.gpus, 'GPU')} a node, and has {group.gpus}"
    if group.autoscaled and not group.machine.disk_mib:
        yield "is planned without a disk"


def _differences(group: SimulatedNodeGroup, pool: Pool, storage_mib: int | None) -> Iterator[str]:
    if group.machine.type not in pool.machine_types:
        yield f"is of {group.machine.type}, declared {' or '.join(pool.machine_types)}"
    if set(group.zones) != set(pool.zones):
        yield f"is in {', '.join(group.zones)}, declared {', '.join(pool.zones)}"
    labels = {**group.labels, **group.late_labels}
    for key, value in pool.labels.items():
        if labels.get(key) != value:
            yield f"has label {key}={labels.get(key, '(none)')}, declared {value}"
    taints = {
        f"{each['key']}={each.get('value') or ''}:{each['effect']}" for each in (*group.taints, *group.late_taints)
    }
    declared = {f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in pool.taints}
    if taints != declared:
        yield f"has taints {', '.join(sorted(taints)) or '(none)'}, declared {', '.join(sorted(declared)) or '(none)'}"
    if group.spot != pool.spot:
        yield f"is {'spot' if group.spot else 'on-demand'}, declared {pool.capacity_type}"
    if bool(group.gpus) != bool(pool.allocatable_gpus):
        yield f"has {counted(group.gpus, 'GPU')} a node, declared {pool.allocatable_gpus}"
    mib = group.machine.disk_mib
    if storage_mib and mib and abs(mib / storage_mib - 1) > _ESTIMATED:
        yield f"has {mib / 1024:.0f} GiB of ephemeral storage, {storage_mib / 1024:.0f} with {pool.disk_gb} GB"
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
    zones = len(group.zones) if group.per_zone else 1
    always, most = sum(group.permanent().values()), group.max_nodes * zones
    if always != pool.min_nodes and (group.autoscaled or not pool.autoscaled):
        yield f"always has {counted(always, 'node')}, declared {pool.min_nodes}"
    if group.autoscaled and group.initial_nodes > pool.nodes_per_zone:
        yield f"starts with {counted(group.initial_nodes, 'node')} a zone, declared {pool.nodes_per_zone}"
    if group.autoscaled and most != pool.max_nodes:
        yield f"has up to {counted(most, 'node')}, declared {pool.max_nodes}"


def _order(groups: Sequence[SimulatedNodeGroup], pools: Pools) -> Iterator[str]:
    """Of pools that differ in capacity type only, the first in the fallback order is the autoscaler's first choice."""
    ranks = {group.labels.get(POOL_LABEL, ""): group.rank for group in groups}
    for first in pools.gpu:
        for later in pools.gpu:
            one, other = ranks.get(first.name), ranks.get(later.name)
            same = first.gpus.type == later.gpus.type and first.gpus_per_node == later.gpus_per_node
            if same and first.preference < later.preference and one is not None and other is not None and one > other:
                yield f"{later.name} is tried before {first.name}"
