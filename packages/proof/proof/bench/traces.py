"""``make bench-trace``: what a trace of jobs costs on several designs, and at least.

The designs are five published ones, the pools of a stack, and those that ``gpu plan`` recommends.

Everything is simulated (``facts/jobs/simulation.py``) on the same machines, at the same list prices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console

from components.settings import Settings
from facts.concepts.offer import PoolOffer, limited_to, pool_offer
from facts.concepts.pool import Pool
from facts.jobs.bound import without_waiting
from facts.jobs.recommendation import Market, recommend, resolved, types_of
from facts.jobs.simulation import Design, TraceCost, simulate
from facts.jobs.trace import TraceError, TraceJob, generated, read_trace
from gpu.commands.plan import outcome_table

SEEDS: Final = Path(__file__).parent / "seeds.yaml"


@dataclass(frozen=True, kw_only=True)
class TraceBench:
    """Costs by design: the published ones, the stack's pools, recommended ones.

    ``best`` is the cheapest published one that runs all jobs. ``bound``: the fewest GPU hours if no job waits,
    ``bound_usd`` their price on the stack's cheapest machines.
    """

    published: Mapping[str, TraceCost]
    best: str
    stack: TraceCost
    recommended: TraceCost
    bound: float
    bound_usd: float


def measure(jobs: Sequence[TraceJob], settings: Settings, seed: int) -> TraceBench:
    """Simulate the jobs on all designs. Raises TraceError: a job asks for a GPU type that the stack does not have."""
    # As in the stack's own prices, a spot machine costs as much as one on demand where its price is not known.
    market = Market(settings.cloud, settings.region, spot_percent=100)
    own = [_whole(settings, pool) for pool in settings.gpu_pools]
    types = types_of(own)
    named = resolved(jobs, types)
    published = {each["name"]: simulate(named, built_design(each, named, market, seed), seed) for each in seeds()}
    usd = {name: cost.usd for name, cost in published.items() if cost.usd is not None and not cost.unplaced}
    if not usd:
        raise TraceError(["none of the published designs runs all jobs: more GPUs per worker than a machine has"])
    best = min(usd, key=lambda name: usd[name])
    # In whole minutes: by some seconds, the waits of all designs that start nodes differ by chance.
    allowed = 60 * math.ceil(published[best].wait(95) / 60)
    advised = recommend(named, market, max_wait=allowed, seed=seed)
    start = min(life.low for life in advised.design.lives.values())
    bounds = {
        gpu: without_waiting([job for job in named if job.gpu == gpu], start)
        for gpu in {job.gpu or "" for job in named}
    }
    return TraceBench(
        published=published,
        best=best,
        stack=simulate(named, market.design(own), seed),
        recommended=advised.cost,
        bound=sum(bounds.values()),
        bound_usd=sum(hours * types[gpu].usd for gpu, hours in bounds.items()),
    )


def seeds() -> list[Mapping[str, Any]]:
    """The published designs."""
    return list(yaml.safe_load(SEEDS.read_text(encoding="utf-8")))


def built_design(described: Mapping[str, Any], jobs: Sequence[TraceJob], market: Market, seed: int) -> Design:
    """The design's pools on the machines of the market, for each GPU type that jobs ask for."""
    pools: list[PoolOffer] = []
    spot = described.get("spot", False)
    machines = [pool for pool in market.pools(described.get("idle_minutes")) if pool.scaling.spot is spot]
    for gpu in sorted({job.gpu or "" for job in jobs}):
        every = [
            limited_to(pool, described.get("max_nodes", pool.scaling.max_nodes))
            for pool in machines
            if pool.gpus.type == gpu
        ]
        most = max(job.gpus for job in jobs if job.gpu == gpu)
        needed = next((index for index, pool in enumerate(every) if pool.gpus.per_node >= most), len(every) - 1)
        chosen = {"each": every[: needed + 1], "one": every[needed : needed + 1], "largest": every[-1:]}
        pools += chosen[described["sizes"]]
    design = market.design(pools, isolated=False)
    always_on = described.get("always_on", 0)
    if always_on == "peak":
        return replace(design, always_on=simulate(jobs, design, seed).peaks)
    return replace(design, always_on={pool.name: always_on for pool in pools})


def _whole(settings: Settings, pool: Pool) -> PoolOffer:
    """A pool of the stack whose GPUs nobody shares."""
    gpus = pool.gpus.per_node
    return pool_offer(pool, allocatable_gpus=gpus, gpus_per_pod=gpus, idle_minutes=settings.idle_minutes_of(pool))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError([f"{file}: {error}"]) from error


def run_trace_bench(console: Console, settings: Settings, stack: str, trace: Path | None, seed: int) -> TraceBench:
    """Print the costs of a trace, by default of a generated one, and how far the goals are met. Raises TraceError."""
    largest = max(pool.gpus.per_node for pool in settings.gpu_pools)
    jobs = (
        generated("mixed", jobs=500, days=7, seed=seed, largest=largest)
        if trace is None
        else read_trace(_text(trace), str(trace))
    )
    result = measure(jobs, settings, seed)
    used = result.recommended.used
    rows = {**result.published, f"stack {stack}": result.stack, "recommended": result.recommended}
    console.print(f"{len(jobs)} jobs, {used:,.0f} GPU hours, {settings.cloud} {settings.region}, list prices")
    console.print(outcome_table(rows))
    for name, cost in rows.items():
        if cost.unplaced:
            console.print(f"{name}: {cost.unplaced} jobs fit no pool and are left out")
    month = result.recommended.monthly(result.bound_usd)
    ratio = f"÷ used {result.bound / used:.2f}"
    console.print(f"\nbound, if no job waits: {result.bound:,.0f} GPU h ({ratio}), ${month:,.0f}/month")
    best = result.published[result.best]
    for name, cost in list(rows.items())[-2:]:
        if not cost.unplaced and cost.usd is not None and best.usd is not None:
            waits = f"p95 {cost.wait(95) / 60:.1f}, there {best.wait(95) / 60:.1f} min"
            console.print(f"{name}: {cost.paid / result.bound:.2f} × the bound (goal: at most 1.15)")
            console.print(f"  {100 * (1 - cost.usd / best.usd):.0f} % cheaper than {result.best} (goal: 30 %); {waits}")
    return result
