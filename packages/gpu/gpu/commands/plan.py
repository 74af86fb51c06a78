"""``gpu plan``: which pools to write for a trace of jobs, and what they cost; ``gpu trace``: a trace to try it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from facts import catalog
from facts.concepts.counts import counted
from facts.concepts.offer import PoolOffer
from facts.jobs.recommendation import Market, recommend, resolved, types_of
from facts.jobs.simulation import TraceCost, simulate
from facts.jobs.trace import PATTERNS, generated, read_trace, written
from gpu.cluster import ClusterClient
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, fail, out, print_json, problem_of, table_of
from gpu.commands.record import takes

_PERCENTILES: Final = (50, 95, 99)
_Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same result.")]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of ``gpu plan``."""

    file: Annotated[Path, typer.Argument(metavar="TRACE", help="A CSV file of jobs (docs/traces.md).")]
    cloud: Annotated[
        str | None, typer.Option("--cloud", metavar="NAME", help="gke, eks or aks. Default: the current cluster's.")
    ] = None
    region: Annotated[
        str | None, typer.Option("--region", metavar="NAME", help="Default: one with representative prices.")
    ] = None
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="TYPE", help="Run all jobs on this type, whatever the trace names.")
    ] = None
    max_wait: Annotated[
        int, typer.Option("--max-wait", min=0, metavar="MINUTES", help="How long 95 % of the jobs wait at most.")
    ] = 15
    spot_percent: Annotated[
        float | None,
        typer.Option(
            "--spot-percent", min=1, max=100, metavar="N", help="Price of spot machines in % of on-demand, if unknown."
        ),
    ] = None
    first: Annotated[int | None, typer.Option("--first", min=1, metavar="N", help="Only the first N jobs.")] = None
    seed: _Seed = 0
    context: options.Context = None
    json: options.Json = False


@takes(PlanOptions)
def plan(asked: PlanOptions) -> None:
    """Recommend GPU pools for a list of jobs, and show their bill.

    It simulates the jobs on pools of several sizes, spot and on-demand, with several idle times. Without --cloud it
    compares with the pools of your cluster.
    """
    try:
        jobs = read_trace(asked.file.read_text(encoding="utf-8"), str(asked.file))[: asked.first]
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{asked.file}: {problem_of(error)}", EXIT_BAD_INPUT)
    offer = None if asked.cloud else ClusterClient(asked.context).offer()
    place = asked.cloud or (offer.cloud if offer else "")
    if place not in catalog.clouds():
        fail(f"--cloud {place}: write one of {', '.join(catalog.clouds())}", EXIT_BAD_INPUT)
    known = catalog.of(place)
    market = Market(place, asked.region or (offer.region if offer else known.reference_region), asked.spot_percent)
    if market.region not in known.regions:
        fail(f"--region {market.region}: {place} has no such region", EXIT_BAD_INPUT)
    rows: dict[str, TraceCost] = {}
    if offer is not None:
        types = types_of(offer.pools)
        rows[f"stack {offer.stack}"] = simulate(
            resolved(jobs, types, asked.gpu), market.design([_of_all(pool) for pool in offer.pools]), asked.seed
        )
    on_market, max_wait = resolved(jobs, types_of(market.pools()), asked.gpu), 60 * asked.max_wait
    best = recommend(on_market, market, max_wait=max_wait, seed=asked.seed)
    rows["recommended"] = best.cost
    if asked.json:
        print_json({"stackFile": best.stack_file(), "costs": {name: _as_json(each) for name, each in rows.items()}})
        return
    console = out()
    console.print(
        f"{counted(len(jobs), 'job')} in {best.cost.hours / 24:.1f} days, {place} {market.region}, list prices"
    )
    console.print(outcome_table(rows))
    if best.cost.beyond(max_wait):
        console.print(f"No pools keep 95 % of the waits below {asked.max_wait} minutes; these come nearest.")
    if not any(pool.scaling.spot for pool in market.pools()):
        console.print(
            f"Spot machines are not compared: their prices in {market.region} are not known; see --spot-percent."
        )
    lines = textwrap.indent(best.stack_file(), "  ")
    console.print(f"\nWrite into the stack file:\n\nconfig:\n{lines}", markup=False)


def _of_all(pool: PoolOffer) -> PoolOffer:
    """The pool for jobs of a trace, which have no namespace."""
    return replace(pool, nodes=replace(pool.nodes, teams=()))


def trace(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help=f"{', '.join(PATTERNS)}.")],
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Number of jobs.")] = 500,
    days: Annotated[float, typer.Option("--days", min=0.01, metavar="N", help="Days in which they are submitted.")] = 7,
    largest: Annotated[int, typer.Option("--gpus", min=1, metavar="N", help="The most GPUs of a job.")] = 8,
    seed: _Seed = 0,
) -> None:
    """Print a generated list of jobs for `gpu plan`."""
    if pattern not in PATTERNS:
        fail(f"{pattern}: write one of {', '.join(PATTERNS)}", EXIT_BAD_INPUT)
    made = generated(pattern, jobs=jobs, days=days, seed=seed, largest=largest)
    typer.echo(written(made), nl=False)


def outcome_table(rows: Mapping[str, TraceCost]) -> Table:
    """Name → what the trace costs, in 80 columns: GPU hours paid, waits in minutes, US dollars."""
    columns = ("GPU h", "÷ used", "on spot", "wait p50", "p95", "p99 min", "$/month")
    table = table_of("", *columns, numbers=columns)
    for name, each in rows.items():
        waits = (f"{each.wait(percent) / 60:.1f}" for percent in _PERCENTILES)
        month = "?" if each.monthly_usd is None else f"{each.monthly_usd:,.0f}"
        spot = f"{100 * each.paid_spot / each.paid:.0f} %" if each.paid else "-"
        table.add_row(escape(name), f"{each.paid:,.0f}", f"{each.ratio:.2f}", spot, *waits, month)
    return table


def _as_json(outcome: TraceCost) -> dict[str, Any]:
    return {
        "gpuHoursPaid": round(outcome.paid, 2),
        "gpuHoursOnSpot": round(outcome.paid_spot, 2),
        "gpuHoursUsed": round(outcome.used, 2),
        "waitSeconds": {f"p{percent}": round(outcome.wait(percent), 1) for percent in _PERCENTILES},
        "usd": outcome.usd,
        "monthlyUsd": outcome.monthly_usd,
        "jobsAboveMaxWait": outcome.late,
        "jobsWithoutPool": outcome.unplaced,
        "reclaims": outcome.reclaims,
        "maxNodes": outcome.peaks,
    }
