"""Which pools to write for a trace: sizes, capacity, idle time and most nodes, with what they cost. Pure.

Every set of sizes is simulated with every idle time, and each size on spot and on-demand machines, with fewer and fewer
nodes. The cheapest is recommended of those whose jobs wait no longer than allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, NamedTuple

from facts import catalog
from facts.catalog.tables import rows
from facts.concepts.kubernetes import GPU_RESOURCE, resource_of
from facts.concepts.offer import Offer, PoolOffer, limited_to
from facts.concepts.parts import Gpus, Nodes, Scaling
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
    cost: TraceCost
    idle_minutes: int | None

    def stack_file(self) -> str:
        """Its lines of a stack file."""
        lines = [] if self.idle_minutes is None else ["autoscaling:", f"  unneededMinutes: {self.idle_minutes}"]
        lines.append("gpuPools:")
        for pool in self.design.offer.pools:
            lines += [
                f"  - name: {_short(pool.gpus.type)}",
                f"    gpu: {pool.gpus.type}",
                f"    gpusPerNode: {pool.gpus.per_node}",
                f"    capacity: {'spot-with-fallback' if pool.scaling.spot else 'on-demand'}",
                f"    maxNodes: {pool.scaling.max_nodes}",
            ]
        return "\n".join(line if line.startswith(" ") else f"gpucluster:{line}" for line in lines)


class GpuPrice(NamedTuple):
    """USD an hour for one GPU, and the ``most`` GPUs of a machine."""

    usd: float
    most: int


@dataclass(frozen=True)
class Market:
    """Where machines are rented: a cloud of the catalogue and a region.

    ``spot_percent`` is what a spot machine costs of one on demand, where its price is not known.
    """

    cloud: str
    region: str
    spot_percent: float | None = None

    def design(self, pools: Sequence[PoolOffer], **further: object) -> Design:
        """A cluster with the pools; ``further`` fields of the design."""
        offer = Offer(stack="", cloud=self.cloud, region=self.region, cluster="", pools=tuple(pools))
        return replace(Design(offer=offer, lives={pool.name: self.life(pool) for pool in pools}), **further)

    def life(self, pool: PoolOffer) -> NodeLife:
        """How long a node of the pool takes to start, and how often it is reclaimed if it is a spot node."""
        machine = catalog.of(self.cloud).machines.get(pool.nodes.machine_types[0])
        known = {row["family"]: row for row in rows("", "node_starts") if row["cloud"] == self.cloud}
        row = known.get(machine.family if machine else "*") or known["*"]
        low, high, rate = (float(row[name]) for name in ("low_seconds", "high_seconds", "reclaims_per_hour"))
        return NodeLife(low=low, high=high, reclaims_per_hour=rate)

    def pools(self, idle: int | None = None) -> list[PoolOffer]:
        """A pool without a limit of every machine whose price is known, on spot and on demand, the smallest first."""
        known = catalog.of(self.cloud)
        sizes = [(size, gpu) for gpu in known.machines.accelerators for size in known.machines.gpu_counts(gpu)]
        offers = (self._pool(gpu, size, spot, idle) for size, gpu in sorted(sizes) for spot in (True, False))
        return [pool for pool in offers if pool is not None]

    def _pool(self, gpu: str, size: int, spot: bool, idle: int | None) -> PoolOffer | None:
        known = catalog.of(self.cloud)
        machine = known.machines.having(gpu, size)[0]
        node = known.prices.node(self.region, machine, _DISK_GB, spot=spot)
        spot_price, on_demand = (known.prices.machine(self.region, machine, spot=each) for each in (True, False))
        if node is None or (spot_price is None and on_demand is None) or (machine.provisioning != "any" and not spot):
            return None
        if spot and spot_price is None:
            usd = None if self.spot_percent is None else node.usd * self.spot_percent / 100
        else:
            usd = None if on_demand is None and not spot else node.usd
        if usd is None:
            return None
        return PoolOffer(
            name=f"{_short(gpu)}-{size}",
            nodes=Nodes(machine_types=(machine.type,), zones=(), labels={}, hourly_usd=usd),
            scaling=Scaling(max_nodes=_UNLIMITED, capacity_type="spot" if spot else "on-demand", unneeded_minutes=idle),
            gpus=Gpus(type=gpu, per_node=size, resource=resource_of(gpu)),
            allocatable_gpus=size,
            gpus_per_pod=size,
        )


def types_of(pools: Sequence[PoolOffer]) -> Mapping[str, GpuPrice]:
    """GPU type → the lowest price of one, and the most that a pod gets. A price that is not known counts as 0."""
    types: dict[str, GpuPrice] = {}
    for pool in pools:
        known = types.get(pool.gpus.type, GpuPrice(math.inf, 0))
        usd = (pool.nodes.hourly_usd or 0.0) / pool.gpus.per_node
        types[pool.gpus.type] = GpuPrice(min(known.usd, usd), max(known.most, pool.gpus_per_pod))
    return types


def resolved(jobs: Sequence[TraceJob], types: Mapping[str, GpuPrice], gpu: str | None = None) -> tuple[TraceJob, ...]:
    """The jobs with the full name of the cheapest GPU type of those that each can use. With ``gpu``, all use that.

    Types of whose machines none has as many GPUs as a worker asks for come last.

    Raises:
        TraceError: a job can use none of the types.
    """

    @cache
    def type_of(asked: str | None, gpus: int) -> str | None:
        memory = TraceJob(submit=0, duration=1, gpu=asked).gpu_memory_gib
        # A program runs on another maker's accelerator only if it was written for it, and then the job names it.
        by_name = None if memory is not None else asked
        able = (name for name in types if (names(name, by_name) if by_name else resource_of(name) == GPU_RESOURCE))
        able = (name for name in able if memory is None or catalog.GPUS[name].memory_gib >= memory)
        return min(able, key=lambda name: (types[name].most < gpus, types[name].usd, name), default=None)

    named = [replace(job, gpu=type_of(gpu or job.gpu, job.gpus)) for job in jobs]
    missing = {gpu or job.gpu: None for job, new in zip(jobs, named, strict=True) if new.gpu is None}
    if missing:
        there = ", ".join(sorted(types)) or "none with a known price"
        raise TraceError([f"no GPU type for '{each}'; write one of: {there}" for each in missing])
    return tuple(named)


def recommend(jobs: Sequence[TraceJob], market: Market, *, max_wait: float, seed: int = 0) -> Recommendation:
    """The cheapest pools on which 95 % of the jobs wait ``max_wait`` seconds at most; if there are none, those on which
    they wait least. ``jobs`` name GPU types in full (``resolved``).

    Raises:
        TraceError: no machine has as many GPUs as a worker asks for.
    """
    options = []
    for idle in IDLE_MINUTES if catalog.of(market.cloud).choices.unneeded_minutes else (None,):
        by_gpu, every = [], market.pools(idle)
        for gpu in sorted({job.gpu or "" for job in jobs}):
            machines = [pool for pool in every if pool.gpus.type == gpu]
            by_gpu.append(_sizes([job for job in jobs if job.gpu == gpu], machines, market, max_wait, seed))
        for choice in zip(*by_gpu, strict=True):
            pools = [pool for each in choice for pool in each]
            cost = simulate(jobs, market.design(pools), seed)
            limited = [limited_to(pool, max(1, cost.peaks[pool.name])) for pool in pools]
            options.append(Recommendation(design=market.design(limited), cost=cost, idle_minutes=idle))
    return min(options, key=lambda each: (each.cost.beyond(max_wait), each.cost.usd or 0.0))


_Pools = tuple[PoolOffer, ...]


def _sizes(
    jobs: Sequence[TraceJob], machines: Sequence[PoolOffer], market: Market, max_wait: float, seed: int
) -> tuple[_Pools, _Pools]:
    """The best pools for jobs of one GPU type: those with short waits on each size, and the cheapest, on which the
    waits of all jobs may be short enough, too. A job runs on the smallest size that has its GPUs, so each is simulated
    alone.
    """
    most, there = max(job.gpus for job in jobs), max(pool.gpus.per_node for pool in machines)
    if most > there:
        raise TraceError([f"a worker asks for {most} {jobs[0].gpu}, a machine has {there} at most; use more workers"])

    @cache
    def costs(above: int, index: int) -> list[tuple[PoolOffer, TraceCost]]:
        """Without a limit, then with half as many nodes again and again, as long as no job waits too long."""
        pool = machines[index]
        own = [job for job in jobs if above < job.gpus <= pool.gpus.per_node]
        every = [(pool, simulate(own, market.design([pool]), seed))]
        while (nodes := every[-1][1].peaks[pool.name] // 2) and not every[-1][1].beyond(max_wait):
            pool = limited_to(pool, nodes)
            cost = simulate(own, market.design([pool]), seed)
            if cost.unplaced or cost.beyond(max_wait):
                break
            every.append((pool, cost))
        return every

    @cache
    def best(above: int, allowed: float) -> tuple[float, float, _Pools]:
        """For jobs with more GPUs: seconds that they wait too long, price, pools."""
        if above >= most:
            return 0.0, 0.0, ()
        options = []
        for index, machine in enumerate(machines):
            for pool, cost in costs(above, index) if machine.gpus.per_node > above else ():
                if cost.waits:
                    late, usd, rest = best(pool.gpus.per_node, allowed)
                    options.append((late + cost.beyond(allowed), usd + (cost.usd or 0.0), (pool, *rest)))
        return min(options, key=lambda option: option[:2])

    return best(0, max_wait)[2], best(0, math.inf)[2]


def _short(gpu: str) -> str:
    """``t4``, ``a10080gb``: the names of pools are short on AKS."""
    return gpu.removeprefix("nvidia-").replace("-", "")
