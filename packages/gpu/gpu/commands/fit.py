"""``gpu fit``: where a job would run, in one cluster or in all of the kubeconfig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from facts.concepts.offer import OfferError
from facts.jobs.fit import PodRequest, fits, misses
from facts.jobs.plan import NothingFits, place
from gpu.cluster import ClusterClient, ClusterError, all_clusters
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, dollars, err, fail, out, print_json, table_of
from gpu.commands.offer import as_json, described, node_of, nodes_up, request_of

_AT_ONCE: Final = 16


def fit(
    gpus: options.Gpus = 1,
    gpu: options.Gpu = None,
    memory: options.Memory = None,
    cpus: options.Cpus = None,
    disk: options.Disk = None,
    spot: options.Spot = None,
    workers: options.Workers = 1,
    everywhere: Annotated[bool, typer.Option("--all", help="Compare all clusters of your kubeconfig.")] = False,
    context: options.Context = None,
    json: options.Json = False,
) -> None:
    """Show where a job would run, its price and when it starts.

    Exit code 1 if no pool fits.
    """
    request = request_of(gpus=gpus, gpu=gpu, memory=memory, cpus=cpus, disk=disk, spot=spot, workers=workers)
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
        lacking = [{"pool": each.pool.name, "lacks": list(each.lacks)} for each in others]
        print_json({"fits": [as_json(each, request, nodes) for each in fitting], "misses": lacking})
    elif fitting:
        for each in fitting:
            out().print(described(each, request, nodes))
    else:
        out().print(str(NothingFits(others)))
        for miss in others[1:]:
            out().print(f"  {miss.pool.name}: {'; '.join(miss.lacks)}")
    if not fitting:
        raise typer.Exit(EXIT_NO)


def _fit_everywhere(request: PodRequest, *, json: bool) -> bool:
    """Print where the job fits, soonest first, and why not elsewhere; whether it fits anywhere. Raises ClusterError."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = dict(threads.map(lambda each: (each.context, _ask(each, request)), all_clusters()))
    places = [answer for answer in answers.values() if not isinstance(answer, str)]
    places.sort(key=lambda place: (not place["nodesUp"], _price_order(place)))
    problems = {context: answer for context, answer in answers.items() if isinstance(answer, str)}
    if json:
        print_json({"fits": places, "others": problems})
        return bool(places)
    if places:
        out().print(_table(places))
        out().print(escape(_advice(places)))
    for context, problem in problems.items():
        err().print(f"[dim]{escape(f'{context}: {problem}')}[/]")
    if not places:
        out().print("no pool fits in any cluster of your kubeconfig that answered")
    return bool(places)


def _ask(cluster: ClusterClient, request: PodRequest) -> dict[str, Any] | str:
    """Where ``gpu submit`` would put the job in a cluster, or why it fits nowhere."""
    try:
        fit = place(cluster.offer(), request)
        return {"context": cluster.context, "node": node_of(fit.pools[0]), **as_json(fit, request, nodes_up(cluster))}
    except (ClusterError, NothingFits, OfferError) as error:
        if isinstance(error, ClusterError) and error.status == HTTPStatus.NOT_FOUND:
            return "publishes no GPU pools"
        return str(error).removeprefix(f"context {cluster.context}: ")


def _price_order(place: Mapping[str, Any]) -> tuple[bool, float]:
    """Cheapest first, unknown prices last."""
    return place["hourlyUsd"] is None, place["hourlyUsd"] or 0.0


def _table(places: Sequence[Mapping[str, Any]]) -> Table:
    table = table_of("context", "pools", "node", "$/h", "nodes up", numbers=("$/h", "nodes up"))
    for each in places:
        up = "?" if each["nodesUp"] is None else str(each["nodesUp"])
        pools = ", then ".join(each["pools"])
        table.add_row(escape(each["context"]), pools, each["node"], dollars(each["hourlyUsd"]), up)
    return table


def _advice(places: Sequence[Mapping[str, Any]]) -> str:
    """Where it starts soonest and where it is cheapest, and the option that chooses the cluster."""
    soonest, cheapest = places[0], min(places, key=_price_order)
    waits = "starts at once if a node has room" if soonest["nodesUp"] else "no node is up; a node takes some minutes"
    if soonest is cheapest:
        return f"soonest and cheapest: --context {soonest['context']} ({waits})"
    return f"soonest: --context {soonest['context']} ({waits})\ncheapest: --context {cheapest['context']}"
