"""Which pools to write for a trace: sizes, capacity, idle time and most nodes, with what they cost. Pure.

Every set of sizes is simulated with every idle time, and each size on spot and on-demand machines. The cheapest is
recommended of those whose jobs wait no longer than allowed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from facts import catalog
from facts.catalog.tables import rows
from facts.concepts.offer import Offer, PoolOffer
from facts.jobs.fit import names
from facts.jobs.simulation import Design, NodeLife, TraceCost, simulate
from facts.jobs.trace import TraceError, TraceJob

IDLE_MINUTES: Final = (1, 2, 5, 10, 20, 30)
"""Those that are compared, where a stack file can choose."""
_UNLIMITED: Final = 100_000
_DISK_GB: Final = 100


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The pools and what the trace costs on them. ``idle_minutes`` is ``None`` where a stack file cannot choose it."""

    design: Design
    outcome: TraceCost
    idle_minutes: int | None

    def stack_file(self) -> str:
        """Its lines of a stack file."""
        lines = [] if self.idle_minutes is None else ["autoscaling:", f"  unneededMinutes: {self.idle_minutes}"]
        lines.append("gpuPools:")
        for pool in self.design.offer.pools:
            lines += [
                f"  - name: {_short(pool.gpu)}",
                f"    gpu: {pool.gpu}",
                f"    gpusPerNode: {pool.gpus_per_node}",
                f"    capacity: {'spot-with-fallback' if pool.spot else 'on-demand'}",
                f"    maxNodes: {pool.max_nodes}",
            ]
        return "\n".join(line if line.startswith(" ") else f"gpucluster:{line}" for line in lines)


@dataclass(frozen=True)
class Market:
    """Where machines are rented: a cloud of the catalogue and a region.

    ``spot_percent`` is what a spot machine costs of one on demand, where its price is not known.
    """

    cloud: str
    region: str
    spot_percent: float | None = None

    @property
    def spot_prices(self) -> bool:
        """Whether spot prices of GPU machines are known."""
        known = catalog.of(self.cloud)
        sizes = ((gpu, size) for gpu in known.accelerators for size in known.machines.gpu_counts(gpu))
        return any(self.pool(gpu, size, spot=True, idle=None) for gpu, size in sizes)

    def design(self, pools: Sequence[PoolOffer], **further: object) -> Design:
        """A cluster with the pools; ``further`` fields of the design."""
        offer = Offer(stack="", cloud=self.cloud, region=self.region, cluster="", pools=tuple(pools))
        return replace(Design(offer=offer, lives={pool.name: self.life(pool) for pool in pools}), **further)

    def life(self, pool: PoolOffer) -> NodeLife:
        """How long a node of the pool takes to start, and how often it is reclaimed if it is a spot node."""
        machine = catalog.of(self.cloud).machines.get(pool.machine_types[0])
        known = {row["family"]: row for row in rows("", "node_starts") if row["cloud"] == self.cloud}
        row = known.get(machine.family if machine else "*") or known["*"]
        low, high, rate = (float(row[name]) for name in ("low_seconds", "high_seconds", "reclaims_per_hour"))
        return NodeLife(low=low, high=high, reclaims_per_hour=rate)

    def pool(self, gpu: str, size: int, *, spot: bool, idle: int | None) -> PoolOffer | None:
        """A pool without a limit; ``None`` if there is no such machine, or its price is not known."""
        known = catalog.of(self.cloud)
        machine = next(iter(known.machines.having(gpu, size)), None)
        if machine is None or (machine.provisioning != "any" and not spot):
            return None
        usd = known.prices.node(self.region, machine, _DISK_GB, spot=spot)
        if known.prices.machine(self.region, machine, spot=spot) is None:
            if usd is None or self.spot_percent is None:
                return None
            usd *= self.spot_percent / 100
        return PoolOffer(
            name=f"{_short(gpu)}-{size}",
            gpu=gpu,
            gpus_per_node=size,
            allocatable_gpus=size,
            gpus_per_pod=size,
            machine_types=(machine.type,),
            zones=(),
            max_nodes=_UNLIMITED,
            spot=spot,
            hourly_usd=usd,
            idle_minutes=idle,
            labels={},
        )

    def cheapest(self, gpu: str, size: int) -> float | None:
        """The lowest known price of one GPU of a machine, in USD an hour."""
        pools = [self.pool(gpu, size, spot=spot, idle=None) for spot in (True, False)]
        return min((pool.hourly_usd / size for pool in pools if pool and pool.hourly_usd), default=None)

    def gpus(self) -> Mapping[str, float]:
        """GPU type → the lowest known price of one."""
        known = catalog.of(self.cloud)
        prices = {gpu: [self.cheapest(gpu, n) for n in known.machines.gpu_counts(gpu)] for gpu in known.accelerators}
        return {gpu: min(usd) for gpu, each in prices.items() if (usd := [one for one in each if one is not None])}


def resolved(jobs: Sequence[TraceJob], prices: Mapping[str, float], gpu: str | None = None) -> tuple[TraceJob, ...]:
    """The jobs with the full name of the cheapest GPU type of those that each can use. With ``gpu``, all use that.

    ``prices`` are by GPU type (``Market.gpus``).

    Raises:
        TraceError: a job can use none of the types.
    """

    @cache
    def type_of(asked: str | None) -> str | None:
        memory = TraceJob(submit=0, duration=1, gpu=asked).gpu_memory_gib
        able = (name for name in prices if asked is None or memory is not None or names(name, asked))
        able = (name for name in able if memory is None or catalog.GPUS[name].memory_gib >= memory)
        return min(able, key=lambda name: (prices[name], name), default=None)

    named = [replace(job, gpu=type_of(gpu or job.gpu)) for job in jobs]
    missing = {gpu or job.gpu: None for job, new in zip(jobs, named, strict=True) if new.gpu is None}
    if missing:
        there = ", ".join(sorted(prices)) or "none with a known price"
        raise TraceError([f"no GPU type for '{each}'; write one of: {there}" for each in missing])
    return tuple(named)


def recommend(jobs: Sequence[TraceJob], market: Market, *, max_wait: float, seed: int = 0) -> Recommendation:
    """The cheapest pools on which 95 % of the jobs wait ``max_wait`` seconds at most; if there are none, those on which
    they wait least. ``jobs`` name GPU types in full (``resolved``).

    Raises:
        TraceError: no machine has as many GPUs as a worker asks for.
    """
    choice = IDLE_MINUTES if catalog.of(market.cloud).unneeded_minutes else (None,)
    options = []
    for idle in choice:
        pools = [
            pool
            for gpu in sorted({job.gpu or "" for job in jobs})
            for pool in _sizes([job for job in jobs if job.gpu == gpu], market, gpu, idle, max_wait, seed)
        ]
        outcome = simulate(jobs, market.design(pools), seed)
        pools = [replace(pool, max_nodes=max(1, outcome.peaks[pool.name])) for pool in pools]
        options.append(Recommendation(design=market.design(pools), outcome=outcome, idle_minutes=idle))
    return min(options, key=lambda each: _rank(each.outcome, max_wait))


def _sizes(
    jobs: Sequence[TraceJob], market: Market, gpu: str, idle: int | None, max_wait: float, seed: int
) -> list[PoolOffer]:
    """The best sizes of one GPU type. A job runs on the smallest that has its GPUs, so each is simulated alone."""

    @cache
    def part(above: int, size: int) -> tuple[PoolOffer, TraceCost] | None:
        own = [job for job in jobs if above < job.gpus <= size]
        pools = [market.pool(gpu, size, spot=spot, idle=idle) for spot in (True, False)]
        runs = [(pool, simulate(own, market.design([pool]), seed)) for pool in pools if pool is not None]
        return min(runs, key=lambda run: _rank(run[1], max_wait), default=None)

    def parts(sizes: Sequence[int]) -> Iterator[tuple[PoolOffer, TraceCost] | None]:
        for above, size in itertools.pairwise([0, *sizes]):
            if any(above < job.gpus <= size for job in jobs):
                yield part(above, size)

    most = max(job.gpus for job in jobs)
    counts = [size for size in catalog.of(market.cloud).machines.gpu_counts(gpu) if market.cheapest(gpu, size)]
    largest = next((size for size in counts if size >= most), None)
    if largest is None:
        raise TraceError([f"a worker asks for {most} {gpu}, a machine has {max(counts)} at most; use more workers"])
    smaller = [size for size in counts if size < largest]
    sets = [list(parts([*some, largest])) for n in range(len(counts)) for some in itertools.combinations(smaller, n)]
    whole = [[each for each in every if each] for every in sets if None not in every]

    def rank(every: Sequence[tuple[PoolOffer, TraceCost]]) -> tuple[float, float]:
        late, usd = zip(*(_rank(outcome, max_wait) for _, outcome in every), strict=True)
        return sum(late), sum(usd)

    chosen = min(whole, key=rank)
    return [pool for pool, _ in chosen]


def _rank(outcome: TraceCost, max_wait: float) -> tuple[float, float]:
    """Sorts by how far the waits are above the allowed ones, then by price."""
    return max(0.0, outcome.wait(95) - max_wait), outcome.usd or 0.0


def _short(gpu: str) -> str:
    """``t4``, ``a10080gb``: the names of pools are short on AKS."""
    return gpu.removeprefix("nvidia-").replace("-", "")
