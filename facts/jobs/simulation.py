"""What a trace costs on pools that scale from zero, and how long its jobs wait: a discrete-event simulation. Pure.

Pools that a job may use, and their order, are those of ``gpu submit`` (``fit.py``). As in a cluster:

- A pod goes to the fullest node with room. All workers of a job start together, or none.
- Jobs without room get nodes of the first pool that may have more, unless nodes that are starting have room for them.
- A node is paid from its request to its end, the start included. It ends ``idle_minutes`` after its last pod.
- Spot machines are reclaimed at random. A job continues from its last checkpoint, on other nodes.

Not simulated: CPUs and memory, images, the time that a machine takes to stop, a cloud without spot capacity.
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from facts.concepts.durations import HOURS_PER_MONTH
from facts.concepts.offer import Offer, PoolOffer
from facts.jobs.fit import PodRequest, fits
from facts.jobs.trace import TraceJob

CHECKPOINT_SECONDS: Final = 1800.0
"""Between two checkpoints of a job. What ran since the last one is lost with a spot node."""
DEFAULT_IDLE_MINUTES: Final = 10
"""Where a cloud publishes none: cluster-autoscaler's ``--scale-down-unneeded-time``."""
_HOUR: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class NodeLife:
    """How long a node takes from its request until pods get its GPUs, ``low`` to ``high`` seconds, evenly spread; and
    how often a spot node is reclaimed."""

    low: float
    high: float
    reclaims_per_hour: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Design:
    """Pools of one cluster. ``lives`` and ``always_on`` (nodes) are by pool name.

    ``isolated``: a job runs on nodes of the first size that fits alone (ADR 0001). Otherwise on any node with room.
    """

    offer: Offer
    lives: Mapping[str, NodeLife]
    always_on: Mapping[str, int] = field(default_factory=dict)
    isolated: bool = True


@dataclass(frozen=True, kw_only=True)
class TraceCost:
    """GPU hours ``paid`` (``paid_spot`` of them on spot nodes) and ``used`` by jobs; their price.

    ``usd`` is ``None`` if the price of a node that ran is not known. ``waits`` are the seconds in which each job was
    pending, without jobs that fit no pool (``unplaced``); ``late`` counts jobs that waited longer than they may.
    ``peaks``: pool → the most nodes at once.
    """

    paid: float
    paid_spot: float
    used: float
    usd: float | None
    hours: float
    waits: tuple[float, ...]
    late: int
    unplaced: int
    reclaims: int
    peaks: Mapping[str, int]

    def wait(self, percent: float) -> float:
        """The percentile of the waits (nearest rank), in seconds."""
        return sorted(self.waits)[max(0, math.ceil(len(self.waits) * percent / 100) - 1)] if self.waits else 0.0

    def beyond(self, max_wait: float) -> float:
        """By how many seconds the 95th percentile of the waits is above ``max_wait``."""
        return max(0.0, self.wait(95) - max_wait)

    @property
    def ratio(self) -> float:
        """GPU hours paid ÷ used."""
        return self.paid / self.used if self.used else math.inf

    @property
    def monthly_usd(self) -> float | None:
        """The price of a month of such jobs."""
        return None if self.usd is None or not self.hours else self.monthly(self.usd)

    def monthly(self, usd: float) -> float:
        """What ``usd`` for such jobs are in a month."""
        return usd / self.hours * HOURS_PER_MONTH


_Shape = tuple[str | None, int, int]


@dataclass(eq=False, kw_only=True)
class _Node:
    pool: PoolOffer
    created: float
    free: int
    ready: bool = False
    ended: float | None = None
    idle_since: float = 0.0
    runs: set[_Run] = field(default_factory=set)


@dataclass(eq=False, kw_only=True)
class _Run:
    """A job; ``order`` is its place among those that wait, ``nodes`` has the node of each worker while it
    runs, ``attempt`` counts its starts."""

    job: TraceJob
    pools: tuple[PoolOffer, ...]
    order: tuple[float, float, int]
    left: float
    pending_since: float = 0.0
    waited: float = 0.0
    started: float = 0.0
    attempt: int = 0
    nodes: list[_Node] = field(default_factory=list)


def simulate(jobs: Sequence[TraceJob], design: Design, seed: int = 0) -> TraceCost:
    """Run the jobs on the design's pools."""
    return _Simulation(design, seed).outcome(jobs)


def pools_for(job: TraceJob, design: Design) -> tuple[PoolOffer, ...]:
    """The pools that the job may use, in the order in which they get nodes; none if it fits nowhere."""
    fitting = fits(design.offer, PodRequest(gpus=job.gpus, gpu=job.gpu, workers=job.workers))
    return tuple(pool for fit in (fitting[:1] if design.isolated else fitting) for pool in fit.pools)


class _Simulation:
    def __init__(self, design: Design, seed: int) -> None:
        self._design = design
        self._random = random.Random(seed)
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._now = self._last_end = 0.0
        self._all: list[_Node] = []
        self._up: list[_Node] = []
        self._pending: dict[_Shape, list[_Run]] = {}
        self._ended = 0
        self._reclaims = 0
        self._counts = {pool.name: 0 for pool in design.offer.pools}
        self._peaks = dict(self._counts)

    def outcome(self, jobs: Sequence[TraceJob]) -> TraceCost:
        pools = {_shape(job): pools_for(job, self._design) for job in jobs}
        runs = [
            _Run(job=job, pools=able, order=(-job.priority, job.submit, index), left=job.duration)
            for index, job in enumerate(jobs)
            if (able := pools[_shape(job)])
        ]
        start = self._now = self._last_end = min((run.job.submit for run in runs), default=0.0)
        for pool in self._design.offer.pools:
            for _ in range(self._design.always_on.get(pool.name, 0)):
                self._become_ready(self._create(pool))
        for run in runs:
            self._at(run.job.submit, partial(self._submit, run))
        while self._events:
            self._now = self._events[0][0]
            while self._events and self._events[0][0] == self._now:
                heapq.heappop(self._events)[2]()
            self._schedule()
        if self._ended < len(runs):
            raise AssertionError(f"{len(runs) - self._ended} jobs never ended")
        return self._result(runs, start, unplaced=len(jobs) - len(runs))

    def _result(self, runs: Sequence[_Run], start: float, *, unplaced: int) -> TraceCost:
        hours = [((self._last_end if each.ended is None else each.ended) - each.created) / _HOUR for each in self._all]
        lives = list(zip((node.pool for node in self._all), hours, strict=True))
        prices = [length * pool.nodes.hourly_usd for pool, length in lives if pool.nodes.hourly_usd is not None]
        return TraceCost(
            paid=sum(length * pool.gpus.per_node for pool, length in lives),
            paid_spot=sum(length * pool.gpus.per_node for pool, length in lives if pool.scaling.spot),
            used=sum(run.job.duration * run.job.all_gpus for run in runs) / _HOUR,
            usd=sum(prices) if len(prices) == len(lives) else None,
            hours=(self._last_end - start) / _HOUR,
            waits=tuple(run.waited for run in runs),
            late=sum(run.job.max_wait is not None and run.waited > run.job.max_wait for run in runs),
            unplaced=unplaced,
            reclaims=self._reclaims,
            peaks=self._peaks,
        )

    def _at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), action))

    def _submit(self, run: _Run) -> None:
        run.pending_since = self._now
        bisect.insort(self._pending.setdefault(_shape(run.job), []), run, key=lambda each: each.order)

    def _schedule(self) -> None:
        """Start what has room on ready nodes, then request nodes for the rest."""
        free = {node: node.free for node in self._up if node.ready}
        for shape, count in self._while_room(lambda run: self._start_with_room(run, free)).items():
            del self._pending[shape][:count]
        free = {node: node.free for node in self._up}
        self._while_room(lambda run: self._request_room(run, free))

    def _while_room(self, has_room: Callable[[_Run], bool]) -> Mapping[_Shape, int]:
        """Try pending jobs in their order, none of a shape after one without room; returns how many had some."""
        had = dict.fromkeys(self._pending, 0)
        waiting = {shape for shape, runs in self._pending.items() if runs}
        while waiting:
            shape = min(waiting, key=lambda each: self._pending[each][had[each]].order)
            if has_room(self._pending[shape][had[shape]]):
                had[shape] += 1
            else:
                waiting.remove(shape)
            if had[shape] == len(self._pending[shape]):
                waiting.discard(shape)
        return had

    def _start_with_room(self, run: _Run, free: dict[_Node, int]) -> bool:
        nodes = _room(run, free)
        if len(nodes) == run.job.workers:
            self._start(run, nodes)
            return True
        for node in nodes:
            free[node] += run.job.gpus
        return False

    def _request_room(self, run: _Run, free: dict[_Node, int]) -> bool:
        """Whether nodes that start have room, or may be requested, for the workers that no ready node has room for."""
        nodes = _room(run, free)
        missing = run.job.workers - len(nodes)
        if sum(self._may_add(pool) * (pool.allocatable_gpus // run.job.gpus) for pool in run.pools) < missing:
            for node in nodes:
                free[node] += run.job.gpus
            return False
        while missing > 0:
            node = self._request(next(pool for pool in run.pools if self._may_add(pool)))
            placed = min(missing, node.free // run.job.gpus)
            free[node] = node.free - placed * run.job.gpus
            missing -= placed
        return True

    def _may_add(self, pool: PoolOffer) -> int:
        return pool.scaling.max_nodes - self._counts[pool.name]

    def _create(self, pool: PoolOffer) -> _Node:
        node = _Node(pool=pool, created=self._now, free=pool.allocatable_gpus)
        self._all.append(node)
        self._up.append(node)
        self._counts[pool.name] += 1
        self._peaks[pool.name] = max(self._peaks[pool.name], self._counts[pool.name])
        return node

    def _request(self, pool: PoolOffer) -> _Node:
        node, life = self._create(pool), self._design.lives[pool.name]
        self._at(self._now + self._random.uniform(life.low, life.high), partial(self._become_ready, node))
        return node

    def _become_ready(self, node: _Node) -> None:
        node.ready = True
        self._become_idle(node)
        rate = self._design.lives[node.pool.name].reclaims_per_hour
        if node.pool.scaling.spot and rate:
            self._at(self._now + self._random.expovariate(rate) * _HOUR, partial(self._reclaim, node))

    def _become_idle(self, node: _Node) -> None:
        node.idle_since = self._now
        minutes = (
            DEFAULT_IDLE_MINUTES if node.pool.scaling.unneeded_minutes is None else node.pool.scaling.unneeded_minutes
        )
        self._at(self._now + 60 * minutes, partial(self._remove_idle, node, self._now))

    def _remove_idle(self, node: _Node, since: float) -> None:
        idle = node.ended is None and not node.runs and node.idle_since == since
        if idle and self._counts[node.pool.name] > self._design.always_on.get(node.pool.name, 0):
            self._end(node)

    def _end(self, node: _Node) -> None:
        node.ended = self._now
        self._up.remove(node)
        self._counts[node.pool.name] -= 1

    def _start(self, run: _Run, nodes: list[_Node]) -> None:
        run.waited += self._now - run.pending_since
        run.started, run.nodes = self._now, nodes
        run.attempt += 1
        for node in nodes:
            node.free -= run.job.gpus
            node.runs.add(run)
        self._at(self._now + run.left, partial(self._finish, run, run.attempt))

    def _finish(self, run: _Run, attempt: int) -> None:
        if run.attempt == attempt and run.nodes:
            self._release(run)
            self._ended += 1
            self._last_end = self._now

    def _release(self, run: _Run) -> None:
        for node in run.nodes:
            node.free += run.job.gpus
            node.runs.discard(run)
            if not node.runs and node.ended is None:
                self._become_idle(node)
        run.nodes = []

    def _reclaim(self, node: _Node) -> None:
        if node.ended is not None:
            return
        self._end(node)
        self._reclaims += bool(node.runs)
        for run in sorted(node.runs, key=lambda each: each.order):
            run.left -= (self._now - run.started) // CHECKPOINT_SECONDS * CHECKPOINT_SECONDS
            self._release(run)
            self._submit(run)


def _shape(job: TraceJob) -> _Shape:
    """Of jobs with the same shape, all have room on some nodes, or none."""
    return job.gpu, job.gpus, job.workers


def _room(run: _Run, free: dict[_Node, int]) -> list[_Node]:
    """The fullest nodes with room for each worker, as many as have some; takes their GPUs from ``free``."""
    names = {pool.name for pool in run.pools}
    nodes: list[_Node] = []
    for _ in range(run.job.workers):
        able = (node for node, gpus in free.items() if gpus >= run.job.gpus and node.pool.name in names)
        node = min(able, key=lambda each: free[each], default=None)
        if node is None:
            break
        free[node] -= run.job.gpus
        nodes.append(node)
    return nodes
