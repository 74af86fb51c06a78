"""``gpu fit``: where a job would run, in one cluster or in all of the kubeconfig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from facts.concepts.offer import OfferError
from facts.jobs.fit import Fit, Miss, PodRequest, fits, misses
from facts.jobs.plan import NothingFits, place
from gpu.cluster import ClusterClient, ClusterError, all_clusters
from gpu.commands.common import (
    EXIT_BAD_INPUT,
    EXIT_NO,
    ContextOption,
    CpusOption,
    DiskOption,
    GpuOption,
    GpusOption,
    JsonOption,
    MemoryOption,
    SpotOption,
    WorkersOption,
    dollars,
    err,
    fail,
    out,
    print_json,
    table_of,
)
from gpu.commands.offer import as_json, described, node_of, nodes_up, request_of

_AT_ONCE: Final = 16


def fit(
    gpus: GpusOption = 1,
    gpu: GpuOption = None,
    memory: MemoryOption = None,
    cpus: CpusOption = None,
    disk: DiskOption = None,
    spot: SpotOption = None,
    workers: WorkersOption = 1,
    everywhere: Annotated[bool, typer.Option("--all", help="Compare all clusters of your kubeconfig.")] = False,
    context: ContextOption = None,
    json: JsonOption = False,
) -> None:
    """Show where a job would run, its price and when it starts.

    Exit code 1 if no pool fits.
    """
    request = request_of(gpus=gpus, gpu=gpu, memory=memory, cpus=cpus, disk=disk, spot=spot, pods=workers)
    if everywhere:
        if context is not None:
            fail("--all asks all clusters, --context one; write one of them", EXIT_BAD_INPUT)
        if not _fit_everywhere(request, json=json):
            raise typer.Exit(EXIT_NO)
        return
    cluster = ClusterClient(context)
    offer = cluster.offer()
    fitting, others = fits(offer, request), misses(offer, request)
    nodes = nodes_up(cluster)
    if json:
        print_json(
            {"fits": [as_json(each, request, nodes) for each in fitting], "misses": [_miss(each) for each in others]}
        )
    elif fitting:
        for each in fitting:
            out().print(described(each, request, nodes))
    else:
        out().print(str(NothingFits(others)))
        for miss in others[1:]:
            out().print(f"  {miss.pool.name}: {'; '.join(miss.lacks)}")
    if not fitting:
        raise typer.Exit(EXIT_NO)


def _miss(miss: Miss) -> dict[str, Any]:
    return {"pool": miss.pool.name, "lacks": list(miss.lacks)}


@dataclass(frozen=True)
class Place:
    """Where ``gpu submit`` would put the job in one cluster; ``nodes`` as of ``nodes_up``."""

    context: str
    fit: Fit
    request: PodRequest
    nodes: Mapping[str, int] | None

    @property
    def up(self) -> int | None:
        """Nodes of its pools that are up; ``None`` if unknown."""
        return None if self.nodes is None else sum(self.nodes.get(pool.name, 0) for pool in self.fit.pools)

    @property
    def hourly_usd(self) -> float | None:
        """List price of the job's nodes."""
        needed = -(-self.request.pods // self.fit.pods_per_node)
        return None if self.fit.hourly_usd is None else needed * self.fit.hourly_usd

    @property
    def price_order(self) -> tuple[bool, float]:
        """Cheapest first, unknown prices last."""
        return self.hourly_usd is None, self.hourly_usd or 0.0


def _fit_everywhere(request: PodRequest, *, json: bool) -> bool:
    """Print where the job fits, soonest first, and why not elsewhere; whether it fits anywhere. Raises ClusterError."""
    clusters = all_clusters()
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = dict(threads.map(lambda each: (each.context, _ask(each, request)), clusters))
    places = [answer for answer in answers.values() if isinstance(answer, Place)]
    places.sort(key=lambda each: (not each.up, each.price_order))
    problems = {context: answer for context, answer in answers.items() if isinstance(answer, str)}
    if json:
        fitting = [{"context": each.context, **as_json(each.fit, each.request, each.nodes)} for each in places]
        print_json({"fits": fitting, "others": problems})
        return bool(places)
    if places:
        out().print(_table(places))
        out().print(escape(_advice(places)))
    for context, problem in problems.items():
        err().print(f"[dim]{escape(f'{context}: {problem}')}[/]")
    if not places:
        out().print("no pool fits in any cluster of your kubeconfig that answered")
    return bool(places)


def _ask(cluster: ClusterClient, request: PodRequest) -> Place | str:
    """The cheapest place in a cluster, or why there is none."""
    try:
        return Place(cluster.context, place(cluster.offer(), request), request, nodes_up(cluster))
    except (ClusterError, NothingFits, OfferError) as error:
        if isinstance(error, ClusterError) and error.status == HTTPStatus.NOT_FOUND:
            return "publishes no GPU pools"
        return str(error).removeprefix(f"context {cluster.context}: ")


def _table(places: Sequence[Place]) -> Table:
    table = table_of("context", "pools", "node", "$/h", "nodes up", numbers=("$/h", "nodes up"))
    for each in places:
        first = each.fit.pools[0]
        table.add_row(
            escape(each.context),
            ", then ".join(pool.name for pool in each.fit.pools),
            node_of(first),
            dollars(each.hourly_usd),
            "?" if each.up is None else str(each.up),
        )
    return table


def _advice(places: Sequence[Place]) -> str:
    """Where it starts soonest and where it is cheapest, and the option that chooses the cluster."""
    soonest, cheapest = places[0], min(places, key=lambda each: each.price_order)
    waits = "starts at once if a node has room" if soonest.up else "no node is up anywhere; a node takes some minutes"
    if soonest is cheapest:
        return f"soonest and cheapest: --context {soonest.context} ({waits})"
    return f"soonest: --context {soonest.context} ({waits})\ncheapest: --context {cheapest.context}"
