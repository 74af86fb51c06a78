"""What was observed over time, for the report: counts at each change, and the life of each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facts.concepts.pool import Pool
from rehearsal.scenario.check import Pools
from rehearsal.scenario.timeline import NodeRecord, PodRecord, Timeline

NodePrice = Callable[[NodeRecord, Pool], float | None]
"""A node and its pool → the node's list price per hour; ``None`` if it is unknown."""


def over_time(timeline: Timeline, pools: Pools, price: NodePrice, end: float) -> dict[str, Any]:
    """``overTime`` of the report, until ``end`` (seconds)."""
    by_name = {pool.name: pool for pool in pools.all}
    nodes = [node for node in timeline.nodes if node.pool in by_name]
    prices = {node.name: price(node, by_name[node.pool]) or 0.0 for node in nodes}
    pods = [pod for pod in timeline.pods if pod.gpus and not pod.system_namespace]
    starts = {pod.uid: end if pod.running is None else pod.running for pod in pods}
    ends = {pod.uid: _ended(pod, end) for pod in pods}
    lives = [(node.created, end if node.deleted is None else node.deleted) for node in nodes]
    lives += [(pod.created, starts[pod.uid]) for pod in pods] + [(starts[pod.uid], ends[pod.uid]) for pod in pods]
    moments = sorted({0.0, *(at for life in lives for at in life)})
    return {
        "seconds": [round(at, 1) for at in moments],
        "nodes": {name: [timeline.count(name, at) for at in moments] for name in by_name},
        "pendingPods": [sum(p.created <= at < min(starts[p.uid], ends[p.uid]) for p in pods) for at in moments],
        "runningPods": [sum(starts[p.uid] <= at < ends[p.uid] for p in pods) for at in moments],
        "nodesHourlyUsd": [round(sum(prices[n.name] for n in nodes if n.exists_at(at)), 4) for at in moments],
    }


def nodes(timeline: Timeline, pools: Pools, price: NodePrice, end: float) -> list[dict[str, Any]]:
    """``nodes`` of the report, in the order of the pools, until ``end`` (seconds)."""
    pods = [pod for pod in timeline.pods if not pod.system_namespace and pod.running is not None]
    placed = [(timeline.node_of(pod), pod) for pod in pods]
    return [
        {
            "name": node.name,
            "pool": pool.name,
            "hourlyUsd": price(node, pool),
            "created": round(node.created, 1),
            "ready": _rounded(node.gpus_ready_at if pool.gpu_part else node.ready),
            "busy": _periods([pod for on, pod in placed if on is node and (pod.gpus or not pool.gpu_part)], end),
            "deleted": _rounded(node.deleted),
        }
        for pool in pools.all
        for node in timeline.nodes
        if node.pool == pool.name
    ]


def _periods(pods: list[PodRecord], end: float) -> list[list[float]]:
    """When at least one of them ran, without overlaps."""
    periods: list[list[float]] = []
    for start, until in sorted((round(pod.running or 0.0, 1), round(_ended(pod, end), 1)) for pod in pods):
        if periods and start <= periods[-1][1]:
            periods[-1][1] = max(periods[-1][1], until)
        else:
            periods.append([start, until])
    return periods


def _ended(pod: PodRecord, end: float) -> float:
    return min(at for at in (pod.finished, pod.deleted, end) if at is not None)


def _rounded(moment: float | None) -> float | None:
    return None if moment is None else round(moment, 1)
