"""``gpu pools``: the cluster's GPU pools; ``gpu fit``: where a job would run, in one cluster or in several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from facts.concepts.counts import counted
from facts.concepts.offer import OfferError, PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.jobs.fit import Fit, PodRequest, fits, gib, misses
from facts.jobs.plan import NothingFits, place
from gpu.cluster import ClusterClient, ClusterError, all_clusters
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, dollars, err, fail, out, print_json, table_of
from gpu.submit import mebibytes, millicores

_NODES: Final = "/api/v1/nodes"


def pools(context: options.Context = None, json: options.Json = False) -> None:
    """List the GPU pools: what a pod can request, prices, nodes."""
    cluster = ClusterClient(context)
    offer = cluster.offer()
    nodes = nodes_up(cluster)
    if json:
        counts = {pool.name: None if nodes is None else nodes.get(pool.name, 0) for pool in offer.pools}
        print_json([{**_in_camel_case(asdict(pool)), "nodes": counts[pool.name]} for pool in offer.pools])
        return
    console = out()
    console.print(f"{offer.cluster} ({offer.cloud}, {offer.region}), stack {offer.stack}")
    table = table_of("pool", "GPU", "max per pod", "$/h", "nodes", "scale-down", numbers=("$/h", "nodes"))
    for pool in offer.pools:
        count = "?" if nodes is None else str(nodes.get(pool.name, 0))
        table.add_row(
            pool.name,
            node_of(pool),
            room(pool),
            dollars(pool.hourly_usd),
            f"{count}/{pool.max_nodes}",
            f"after {pool.idle_minutes} min idle" if pool.idle_minutes is not None else "cloud default",
        )
    console.print(table)


def request_of(*, memory: str | None, cpus: str | None, disk: str | None, **same: Any) -> PodRequest:
    """The options as a request; ``same`` are those that a request calls and writes the same. Raises AskError."""
    return PodRequest(
        memory_mib=mebibytes("--memory", memory) if memory else 0,
        milli_cpu=millicores("--cpus", cpus) if cpus else 0,
        disk_mib=mebibytes("--disk", disk) if disk else 0,
        **same,
    )


def described(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> str:
    """One line: pools, size, price, and how soon it starts; ``nodes`` as of ``nodes_up``."""
    first = fit.pools[0]
    names = ", then ".join(f"{pool.name}{_limits(pool)}" for pool in fit.pools)
    price = "" if fit.hourly_usd is None else f", {dollars(fit.hourly_usd)}/h per node"
    per_node = f", {fit.pods_per_node} pods per node" if fit.pods_per_node > 1 else ""
    total = f", {-(-request.workers // fit.pods_per_node)} nodes" if request.workers > fit.pods_per_node else ""
    return f"{names}: {first.gpus_per_node} {first.gpu} per node{price}{per_node}{total}; {_start(fit, nodes)}"


def _limits(pool: PoolOffer) -> str:
    """How long its nodes are available, if that is limited."""
    return capacity(pool).removeprefix(f" {pool.capacity_type}") if pool.max_run_hours or pool.until else ""


def as_json(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> dict[str, Any]:
    """The same as JSON."""
    needed = -(-request.workers // fit.pods_per_node)
    return {
        "pools": [pool.name for pool in fit.pools],
        "gpu": fit.pools[0].gpu,
        "gpusPerNode": fit.pools[0].gpus_per_node,
        "podsPerNode": fit.pods_per_node,
        "nodes": needed,
        "hourlyUsdPerNode": fit.hourly_usd,
        "hourlyUsd": None if fit.hourly_usd is None else round(needed * fit.hourly_usd, 4),
        "nodesUp": None if nodes is None else sum(nodes.get(pool.name, 0) for pool in fit.pools),
        "largerThanNeeded": fit.larger,
    }


def node_of(pool: PoolOffer) -> str:
    """A node of the pool in a few words: ``4 t4 spot``."""
    return f"{pool.gpus_per_node} {pool.gpu.removeprefix('nvidia-')}{capacity(pool)}"


def capacity(pool: PoolOffer) -> str:
    """The capacity type with a leading space, and its limits; empty for on-demand."""
    capacity_type = "spot" if pool.spot else pool.capacity_type
    if capacity_type == "on-demand":
        return ""
    limits = [f"up to {pool.max_run_hours} h"] if pool.max_run_hours else []
    days = [f"from {pool.since}"] if pool.since else []
    days += [f"until {pool.until}"] if pool.until else []
    limits += [" ".join(days)] if days else []
    return f" {capacity_type}" + (f" ({', '.join(limits)})" if limits else "")


def nodes_up(cluster: ClusterClient) -> dict[str, int] | None:
    """Pool → number of its nodes; ``None`` for a user who may not list nodes."""
    nodes = cluster.list_if_allowed(_NODES, labelSelector=POOL_LABEL)
    if nodes is None:
        return None
    counts: dict[str, int] = {}
    for node in nodes:
        pool = node["metadata"]["labels"][POOL_LABEL]
        counts[pool] = counts.get(pool, 0) + 1
    return counts


def room(pool: PoolOffer) -> str:
    """What one pod can request."""
    parts: Sequence[str] = (
        counted(pool.gpus_per_pod, "GPU"),
        *([f"{pool.milli_cpu / 1000:g} CPU"] if pool.milli_cpu is not None else []),
        *([gib(pool.memory_mib)] if pool.memory_mib is not None else []),
    )
    return ", ".join(parts)


def _start(fit: Fit, nodes: Mapping[str, int] | None) -> str:
    if nodes is None:
        return "you may not list nodes, so whether one is up is unknown"
    count = sum(nodes.get(pool.name, 0) for pool in fit.pools)
    if count:
        return f"{counted(count, 'node')} up, starts at once if one has room"
    return "no node up, provisioning takes some minutes"


def _in_camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name[:1] + name.title().replace("_", "")[1:]: value for name, value in fields.items()}


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
