"""The result of a rehearsal, as data: ``report.json``.

Schema version 1, all keys in camelCase, durations in seconds, money in US dollars:

- ``schemaVersion``, ``stack``, ``stackFile``, ``startedAt`` (ISO 8601, UTC), ``seconds``
- ``verdict``: ``pass`` only if every check passed and nothing interrupted; ``reasons``: why not, in words
- ``scope``: ``{notRehearsed, estimates}``: what a pass says nothing about, subject → sentence;
  ``seed``: the order in which the jobs were submitted follows from it
- ``stages``: ``{name, seconds, passed}`` in the order in which they ran
- ``checks``: ``{id, title, passed, detail}``
- ``pools``: ``{name, gpu, gpusPerNode, maxNodes, peak, series}``; ``series``: the pool's size in equal slices of the
  timeline's ``seconds``
- ``overTime``: ``{seconds, nodes, pendingPods, runningPods, nodesHourlyUsd}``: at each change (``seconds``),
  pool → its nodes, GPU pods of users by phase, and the list price of all nodes together
- ``nodes``: ``{name, pool, hourlyUsd, created, ready, busy, deleted}`` of each node that ever existed; ``ready``: with
  its GPUs; ``busy``: ``[from, until]`` of each period with pods of users, on GPU nodes with GPU pods of users
- ``events``: ``{at, text}``, what happened, in words
- ``changes``: ``{titles, diff}`` of the stack file, while a job ran
- ``workloads``: ``{id, title, accepted, warnings, message, pods}``; a pod: ``{name, pool, node, waitedSeconds, phase}``
- ``applied``: ``{kind, namespace, name, accepted, warnings, message, pods}`` of each of the user's own manifests
- ``systemPodsOnGpuNodes``: ``{namespace, name, node}``, node agents (DaemonSets) left out
- ``waiting``: ``{pods, medianSeconds, longestSeconds, byGpu}``; ``byGpu``: GPU type → the seconds that each pod waited
- ``cost``: ``{idleHourlyUsd, peakHourlyUsd, maxHourlyUsd, unpricedPools}``, list prices an hour
- ``real``, ``simulated``: program, API or machine → its version
- ``evidence``: logs of real programs and their calls to the simulated cloud
- ``logs``: the directory with every log, or null when the verdict is pass and nothing was kept
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from components.settings import Settings
from facts import catalog
from facts.concepts.pool import Pool
from rehearsal.checks.cluster import CAPACITY, placements
from rehearsal.day_two.play import Changed
from rehearsal.engine.events import PolicyViolation
from rehearsal.report.record import RehearsalRecord
from rehearsal.scenario import autoscaler_messages
from rehearsal.scenario.check import Pools
from rehearsal.scenario.manifests import Applied
from rehearsal.scenario.player import Played
from rehearsal.scenario.timeline import EventRecord, NodeRecord, PodRecord, Timeline
from rehearsal.scenario.user import SubmissionReply

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
            "ready": _rounded(node.gpus_ready_at if pool.role == "gpu" else node.ready),
            "busy": _periods([pod for on, pod in placed if on is node and (pod.gpus or pool.role != "gpu")], end),
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


SERIES_POINTS: Final = 60


@dataclass(frozen=True)
class ListPrices:
    """List prices per hour; ``peak``: of the machines that ran at the most expensive moment.

    There is no total: time is compressed, by a different factor for each node.
    """

    idle_hourly: float | None
    peak_hourly: float
    max_hourly: float | None
    unpriced: tuple[str, ...] = ()


def node_prices(settings: Settings) -> NodePrice:
    """Prices of the actual machines in their actual capacity type, even where these differ from the pool."""
    known = catalog.of(settings.cloud)

    def price(node: NodeRecord, pool: Pool) -> float | None:
        bare = known.machines.get(node.machine_type)
        gpus = pool.gpus
        machine = (
            known.machines.with_gpus(node.machine_type, gpus.type, gpus.per_node) or bare if gpus.per_node else bare
        )
        spot = node.labels.get(CAPACITY, "spot" if pool.scaling.spot else "") == "spot"
        if machine is None:
            return None
        hourly = known.prices.node(settings.region, machine, pool.nodes.disk_gb, spot=spot)
        return None if hourly is None else hourly.usd

    return price


@dataclass(kw_only=True)
class RunRecord(RehearsalRecord):
    """The record of a rehearsal against simulated clouds."""

    pools: Pools
    price: NodePrice
    played: Played = field(default_factory=Played)
    violations: tuple[PolicyViolation, ...] = ()
    declared_cost: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    applied: tuple[Applied, ...] = ()
    changes: list[Changed] = field(default_factory=list)

    def _content(self, logs: Path | None) -> dict[str, Any]:
        return {**super()._content(logs), **_observed(self)}


def cost_of(record: RunRecord) -> ListPrices:
    """List prices of the observed nodes. Pools without a known price are listed, not estimated."""
    pools = {pool.name: pool for pool in record.pools.all}
    nodes = [node for node in record.timeline.nodes if node.pool in pools]
    priced = [(node, record.price(node, pools[node.pool]) or 0.0) for node in nodes]
    moments = [node.created for node in nodes]
    peak = max((sum(usd for node, usd in priced if node.exists_at(moment)) for moment in moments), default=0.0)
    return ListPrices(
        idle_hourly=record.declared_cost.get("idleHourlyUsd"),
        peak_hourly=peak,
        max_hourly=record.declared_cost.get("maxHourlyUsd"),
        unpriced=tuple(pool.name for pool in pools.values() if pool.nodes.hourly_usd is None),
    )


def system_pods_on_gpu_nodes(timeline: Timeline) -> list[tuple[PodRecord, str]]:
    """System pods, except node agents, that were placed on GPU nodes, with the node's name."""
    return [(pod, node.name) for pod, node in placements(timeline) if pod.system and node.gpu_pool]


def unusable_machines(record: RunRecord) -> list[EventRecord]:
    """Problems that kept pods from GPUs, each once, with its first subject.

    A node whose GPUs were only late does not count. The pool of a node is read from the node.
    """
    nodes = {node.name: node for node in record.timeline.nodes}
    events: dict[str, EventRecord] = {}
    for event in record.timeline.events:
        node = nodes.get(event.name) if event.kind == "Node" else None
        if event.machines and (node is None or node.gpus_ready_at is None):
            pool = event.pool or (node.pool if node is not None else "")
            events.setdefault(event.message, replace(event, pool=pool))
    return list(events.values())


def waits(record: RunRecord) -> list[float]:
    """Seconds that each of the scenario's GPU pods waited until it ran."""
    return [pod.waited for pod in _started(record) if pod.waited is not None]


def _started(record: RunRecord) -> list[PodRecord]:
    names = {(one.submission.namespace, one.submission.workload) for one in record.played.submitted}
    pods = [pod for pod in record.timeline.pods if (pod.namespace, pod.workload) in names]
    return [pod for pod in pods if pod.running is not None and pod.gpus]


def _waits_by_gpu(record: RunRecord) -> dict[str, list[float]]:
    types = {pool.name: pool.gpus.type for pool in record.pools.gpu}
    by_gpu: dict[str, list[float]] = {}
    for pod in _started(record):
        node = record.timeline.node_of(pod)
        if node is not None and node.pool in types and pod.waited is not None:
            by_gpu.setdefault(types[node.pool], []).append(round(pod.waited, 1))
    return by_gpu


def _observed(record: RunRecord) -> dict[str, Any]:
    waited, cost, timeline = waits(record), cost_of(record), record.timeline
    return {
        "seed": record.seed,
        "pools": [_pool(record, pool) for pool in record.pools.all],
        "overTime": over_time(timeline, record.pools, record.price, record.end),
        "nodes": nodes(timeline, record.pools, record.price, record.end),
        "changes": [asdict(change) for change in record.changes],
        "workloads": [
            {
                "id": asked.id,
                "title": asked.title,
                **_reply(one.reply),
                "pods": [_pod(timeline, pod) for pod in timeline.pods_of(asked.workload, asked.namespace)],
            }
            for one in record.played.submitted
            for asked in (one.submission,)
        ],
        "applied": [_applied(timeline, one, record.played.ended) for one in record.applied],
        "systemPodsOnGpuNodes": [
            {"namespace": pod.namespace, "name": pod.name, "node": node}
            for pod, node in system_pods_on_gpu_nodes(timeline)
        ],
        "waiting": {
            "pods": len(waited),
            "medianSeconds": round(statistics.median(waited), 1) if waited else None,
            "longestSeconds": round(max(waited), 1) if waited else None,
            "byGpu": _waits_by_gpu(record),
        },
        "cost": {
            "idleHourlyUsd": cost.idle_hourly,
            "peakHourlyUsd": round(cost.peak_hourly, 4),
            "maxHourlyUsd": cost.max_hourly,
            "unpricedPools": list(cost.unpriced),
        },
    }


def write_atomically(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON so that a reader sees either the old file or the complete new one."""
    replace_file(path, f"{json.dumps(content, indent=2)}\n".encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in place of what has its name: a link there is replaced, not followed. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _pool(record: RunRecord, pool: Pool) -> dict[str, Any]:
    return {
        "name": pool.name,
        "gpu": pool.gpus.type or None,
        "gpusPerNode": pool.gpus.per_node,
        "maxNodes": record.pools.maxima[pool.name],
        "peak": record.timeline.peak(pool.name),
        "series": record.timeline.series(pool.name, record.end, SERIES_POINTS),
    }


def _reply(reply: SubmissionReply) -> dict[str, Any]:
    return {"accepted": reply.ok, "warnings": list(reply.warnings), "message": reply.message}


def _applied(timeline: Timeline, one: Applied, until: float | None) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "namespace": one.namespace or None,
        "name": one.name,
        **_reply(one.reply),
        "pods": [
            {**_pod(timeline, pod), "reason": timeline.why_pending(pod.name) if pod.running is None else ""}
            for pod in one.pods(timeline, until)
        ],
    }


def _pod(timeline: Timeline, pod: PodRecord) -> dict[str, Any]:
    node = timeline.node_of(pod)
    return {
        "name": pod.name,
        "pool": node.pool if node is not None else None,
        "node": pod.node,
        "waitedSeconds": None if pod.waited is None else round(pod.waited, 1),
        "phase": pod.phase,
    }


EVIDENCE: Final = "evidence"
_PATTERNS: Final = ("pods/*.log", autoscaler_messages.FILES)
"""In the run's ``logs``: the logs of pods whose program really ran, and the calls that a simulated cloud answered."""


def keep_evidence(run_dir: Path, folder: Path) -> tuple[Path, ...]:
    """Copy them to ``folder/evidence``, replacing those of the last run; returns the copies."""
    target = folder / EVIDENCE
    shutil.rmtree(target, ignore_errors=True)
    logs = run_dir / "logs"
    files = sorted(path for pattern in _PATTERNS for path in logs.glob(pattern))
    for path in files:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / path.name)
    return tuple(target / path.name for path in files)
