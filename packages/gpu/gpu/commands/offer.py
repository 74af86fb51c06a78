"""``gpu pools`` and ``gpu fit``: what the cluster offers, and where something would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

from facts.concepts.offer import PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.jobs.fit import Fit, PodRequest, fits, gib, misses
from facts.jobs.plan import NothingFits
from gpu.cluster import ClusterClient
from gpu.commands.common import (
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
    out,
    print_json,
)
from gpu.submit import mebibytes, millicores

_NODES = "/api/v1/nodes"


def pools(context: ContextOption = None, json: JsonOption = False) -> None:
    """The GPU pools: what a pod can ask for, what a node costs, how many there are and may be."""
    cluster = ClusterClient(context)
    offer = cluster.offer()
    up = nodes_up(cluster)
    if json:
        print_json([{**asdict(pool), "nodes": None if up is None else up.get(pool.name, 0)} for pool in offer.pools])
        return
    console = out()
    console.print(f"{offer.cluster} ({offer.cloud}, {offer.region}), stack {offer.stack}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("pool", "GPU", "a pod gets at most", "$/h", "nodes", "idle node goes"):
        table.add_column(name, justify="right" if name in ("$/h", "nodes") else "left", overflow="fold")
    for pool in offer.pools:
        count = "?" if up is None else str(up.get(pool.name, 0))
        table.add_row(
            pool.name,
            f"{pool.gpus_per_node} {pool.gpu.removeprefix('nvidia-')}{had(pool)}",
            room(pool),
            dollars(pool.hourly_usd),
            f"{count}/{pool.max_nodes}",
            f"after {pool.idle_minutes} min" if pool.idle_minutes is not None else "as the cloud likes",
        )
    console.print(table)


def fit(
    gpus: GpusOption = 1,
    gpu: GpuOption = None,
    memory: MemoryOption = None,
    cpus: CpusOption = None,
    disk: DiskOption = None,
    spot: SpotOption = None,
    workers: WorkersOption = 1,
    context: ContextOption = None,
    json: JsonOption = False,
) -> None:
    """Where a job would run, for how much, and whether a node is up. Exit code 1 if no pool takes it."""
    request = request_of(gpus=gpus, gpu=gpu, memory=memory, cpus=cpus, disk=disk, spot=spot, pods=workers)
    cluster = ClusterClient(context)
    offer = cluster.offer()
    found, others = fits(offer, request), misses(offer, request)
    up = nodes_up(cluster)
    if json:
        print_json({"fits": [as_json(each, request, up) for each in found], "misses": [_miss(each) for each in others]})
    elif found:
        for each in found:
            out().print(described(each, request, up))
    else:
        out().print(str(NothingFits(others)))
        for miss in others[1:]:
            out().print(f"  {miss.pool.name} {', and '.join(miss.lacks)}")
    if not found:
        raise typer.Exit(EXIT_NO)


def request_of(
    *,
    gpus: int,
    gpu: str | None,
    memory: str | None,
    cpus: str | None,
    disk: str | None,
    spot: bool | None,
    pods: int = 1,
) -> PodRequest:
    """What the options ask for. Raises AskError."""
    return PodRequest(
        gpus=gpus,
        gpu=gpu,
        memory_mib=mebibytes("--memory", memory) if memory else 0,
        milli_cpu=millicores("--cpus", cpus) if cpus else 0,
        disk_mib=mebibytes("--disk", disk) if disk else 0,
        spot=spot,
        pods=pods,
    )


def described(fit: Fit, request: PodRequest, up: Mapping[str, int] | None) -> str:
    """One line, or two: pools, size, price, and how it starts."""
    first = fit.pools[0]
    names = ", then ".join(f"{pool.name}{_lasts(pool)}" for pool in fit.pools)
    price = "" if fit.hourly_usd is None else f", {dollars(fit.hourly_usd)} an hour per node"
    per_node = f", {fit.pods_per_node} such pods on a node" if fit.pods_per_node > 1 else ""
    many = f", {-(-request.pods // fit.pods_per_node)} nodes" if request.pods > fit.pods_per_node else ""
    return f"{names}: {first.gpus_per_node} {first.gpu} per node{price}{per_node}{many}; {_start(fit, up)}"


def _lasts(pool: PoolOffer) -> str:
    """For how long one has its nodes, where that is limited."""
    return had(pool).removeprefix(f" {pool.rung}") if pool.max_run_hours or pool.until else ""


def as_json(fit: Fit, request: PodRequest, up: Mapping[str, int] | None) -> dict[str, Any]:
    """The same for programs."""
    nodes = -(-request.pods // fit.pods_per_node)
    return {
        "pools": [pool.name for pool in fit.pools],
        "gpu": fit.pools[0].gpu,
        "gpusPerNode": fit.pools[0].gpus_per_node,
        "podsPerNode": fit.pods_per_node,
        "nodes": nodes,
        "hourlyUsdPerNode": fit.hourly_usd,
        "hourlyUsd": None if fit.hourly_usd is None else round(nodes * fit.hourly_usd, 4),
        "nodesUp": None if up is None else sum(up.get(pool.name, 0) for pool in fit.pools),
        "largerThanNeeded": fit.larger,
    }


def had(pool: PoolOffer) -> str:
    """How its machines are had, as an adjective; nothing for those on demand."""
    rung = "spot" if pool.spot else pool.rung
    if rung == "on-demand":
        return ""
    limits = [f"{pool.max_run_hours} h at most"] if pool.max_run_hours else []
    days = [f"from {pool.since}"] if pool.since else []
    days += [f"until {pool.until}"] if pool.until else []
    limits += [" ".join(days)] if days else []
    return f" {rung}" + (f" ({', '.join(limits)})" if limits else "")


def nodes_up(cluster: ClusterClient) -> dict[str, int] | None:
    """Pool → its nodes; ``None`` for a user who may not see nodes."""
    nodes = cluster.list_if_allowed(_NODES, labelSelector=POOL_LABEL)
    if nodes is None:
        return None
    counts: dict[str, int] = {}
    for node in nodes:
        pool = node["metadata"]["labels"][POOL_LABEL]
        counts[pool] = counts.get(pool, 0) + 1
    return counts


def room(pool: PoolOffer) -> str:
    """What one pod can ask for."""
    parts: Sequence[str] = (
        f"{pool.gpus_per_pod} GPU",
        *([f"{pool.milli_cpu / 1000:g} CPU"] if pool.milli_cpu is not None else []),
        *([gib(pool.memory_mib)] if pool.memory_mib is not None else []),
    )
    return ", ".join(parts)


def _start(fit: Fit, up: Mapping[str, int] | None) -> str:
    if up is None:
        return "whether a node is up is not yours to see"
    nodes = sum(up.get(pool.name, 0) for pool in fit.pools)
    if nodes:
        return f"{nodes} node{'' if nodes == 1 else 's'} up: it starts at once if there is room"
    return "no node is up: one is started first, which takes some minutes"


def _miss(miss: Any) -> dict[str, Any]:
    return {"pool": miss.pool.name, "lacks": list(miss.lacks)}
