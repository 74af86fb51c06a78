"""How long an idle GPU node may run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from facts.concepts.declared import IdleTime, NodeGroup, Stack, Violation
from facts.concepts.unknown import UNKNOWN
from policies.rules.clusters import clusters_with_gpus
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, program


@rule(
    "gpu-idle-time",
    title="Idle GPU nodes are removed soon",
    why="A minimum of 0 saves nothing if an idle node runs for days.",
    remedy="Remove idle nodes after some minutes, at any time of day.",
    level="mandatory",
    severity="high",
    limits={
        "maxIdleMinutes": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "Maximum minutes that a GPU node may be idle; null allows any limit except never.",
        }
    },
    example=program(replace(GPUS, idle=IdleTime(720 * 60, "spec.disruption.consolidateAfter"))),
)
def idle_time(stack: Stack, max_idle_minutes: float | None = 60) -> Iterator[Violation]:
    """A GPU node is removed at most ``max_idle_minutes`` after its last pod, by its group, cluster and autoscaler.

    An autoscaler in a program without node groups is checked as well: another program declares its groups.
    """
    for owner, idle, certain, resource in _idle_times(stack):
        if idle.minutes is not UNKNOWN and _is_short(idle.minutes, max_idle_minutes):
            continue
        within = "some minutes" if max_idle_minutes is None else f"{max_idle_minutes:g} minutes"
        remedy = f"Set {idle.where} so that an idle node is removed within {within}, at any time of day."
        if idle.minutes is UNKNOWN or not certain:
            what = f"how long an idle GPU node runs ({idle.where})"
            yield idle_time.unknown(owner, what, resource, remedy=remedy)
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


def _idle_times(stack: Stack) -> Iterator[tuple[str, IdleTime, bool, str]]:
    """What sets an idle time, the time, whether there certainly are GPU nodes, and where it is declared."""
    groups = [group for group in stack.groups if has_gpus(group) and group.kind != "machine"]
    for group in groups:
        if group.idle is not None:
            yield f"GPU node group '{group.name}'", group.idle, group.gpus_per_node is not UNKNOWN, group.resource
    for cluster, members in clusters_with_gpus(stack):
        if cluster.idle is not None:
            certain = any(has_gpus(group) and group.gpus_per_node is not UNKNOWN for group in members)
            yield cluster.title, cluster.idle, certain, cluster.resource
    for workload in stack.workloads if groups or not stack.groups else ():
        if workload.idle is not None:
            certain = not groups or any(group.gpus_per_node is not UNKNOWN for group in groups)
            yield workload.title, workload.idle, certain, workload.resource


def _is_short(minutes: float, most: float | None) -> bool:
    return minutes != math.inf if most is None else minutes <= most


def _span(minutes: float) -> str:
    if minutes == math.inf:
        return "forever"
    return f"for {minutes / 60:g} hours" if minutes >= 120 else f"for {minutes:g} minutes"
