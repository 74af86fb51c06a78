"""``gpu pools``: the cluster's GPU pools; and how all commands describe pools and where a job would run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer, PoolOffer, written_pool
from facts.concepts.pool import ARCH_LABEL, POOL_LABEL
from facts.jobs.fit import Fit, PodRequest, gib
from facts.jobs.job import AskError
from gpu.cluster import ClusterClient, Object
from gpu.commands import options
from gpu.commands.common import dollars, out, print_json, table_of
from gpu.commands.record import PodOptions, WorkerOptions
from gpu.fitting import measured
from gpu.start import pool_of
from gpu.submit import mebibytes, millicores

_SIZES: Final = ("milli_cpu", "memory_mib", "disk_mib")
"""What pods request of a node beside GPUs: fields of ``PoolOffer`` and of ``PodRequest``."""


def pools(context: options.Context = None, json: options.Json = False) -> None:
    """List the GPU pools: what a pod can request, prices, nodes."""
    cluster = ClusterClient(context)
    offer = offer_of(cluster)
    nodes = nodes_up(cluster)
    if json:
        counts = {pool.name: None if nodes is None else nodes.get(pool.name, 0) for pool in offer.pools}
        print_json([{**_in_camel_case(written_pool(pool)), "nodes": counts[pool.name]} for pool in offer.pools])
        return
    console = out()
    console.print(f"{offer.cluster} ({offer.cloud}, {offer.region}), stack {offer.stack}")
    table = table_of("pool", "GPU", "max per pod", "$/h", "nodes", "scale-down", numbers=("$/h", "nodes"))
    for pool in offer.pools:
        count = "?" if nodes is None else str(nodes.get(pool.name, 0))
        table.add_row(
            pool.name,
            f"{node_of(pool)}{_of_teams(pool)}",
            room(pool),
            dollars(pool.nodes.hourly_usd, at_most=pool.nodes.price_at_most),
            f"{count}/{pool.scaling.max_nodes}",
            f"after {pool.scaling.unneeded_minutes} min idle"
            if pool.scaling.unneeded_minutes is not None
            else "cloud default",
        )
    console.print(table)


def offer_of(cluster: ClusterClient) -> Offer:
    """The published pools; of own machines, whose size is not published, that of the largest node.

    Raises:
        ClusterError: as ``ClusterClient.offer``.
        OfferError: the same.
    """
    offer = cluster.offer()
    unpublished = any(pool.scaling.owned and getattr(pool, name) is None for pool in offer.pools for name in _SIZES)
    return measured(offer, list_nodes(cluster) or ()) if unpublished else offer


def request_of(pod: PodOptions) -> PodRequest:
    """The options as a request of pods in the default namespace, before a cluster is known. Raises AskError."""
    return PodRequest(
        gpus=pod.gpus,
        gpu=pod.gpu,
        memory_mib=mebibytes("--memory", pod.memory) if pod.memory else 0,
        milli_cpu=millicores("--cpus", pod.cpus) if pod.cpus else 0,
        disk_mib=mebibytes("--disk", pod.disk) if pod.disk else 0,
        spot=pod.spot,
        workers=pod.workers if isinstance(pod, WorkerOptions) else 1,
        start=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def described(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> str:
    """One line: pools, size, price, how soon it starts, and what is not sure; ``nodes`` as of ``nodes_up``."""
    first = fit.pools[0]
    names = ", then ".join(f"{pool.name}{_limits(pool)}" for pool in fit.pools)
    price = "" if fit.hourly_usd is None else f", {dollars(fit.hourly_usd, at_most=fit.price_at_most)}/h per node"
    per_node = f", {fit.pods_per_node} pods per node" if fit.pods_per_node > 1 else ""
    total = f", {nodes_for(fit, request)} nodes" if request.workers > fit.pods_per_node else ""
    arm = f", Arm CPUs: the image must be for {fit.platform}" if ARCH_LABEL in fit.kind else ""
    # Of a fallback order the pools' names say which is spot.
    spot = " spot" if all(pool.scaling.spot for pool in fit.pools) else ""
    node = f"{first.gpus.per_node} {first.gpus.type}{spot} per node{_of_teams(first)}"
    notes = calculated(fit, request) + unknown_size(fit, request, nodes)
    return f"{names}: {node}{price}{per_node}{total}{arm}; {_start(fit, request, nodes)}{notes}"


def _of_teams(pool: PoolOffer) -> str:
    """For whom alone it is, if not for all."""
    return f", only {', '.join(pool.nodes.teams)}" if pool.nodes.teams else ""


def calculated(fit: Fit, request: PodRequest) -> str:
    """That nobody compared a node with what is published, to those who rely on more of it than GPUs."""
    if not fit.calculated or not (request.milli_cpu or request.memory_mib or request.disk_mib):
        return ""
    names = ", ".join(pool.name for pool in fit.calculated)
    return f" (CPU, memory and disk of {names} are calculated: no real node was compared)"


def unknown_size(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> str:
    """That nobody knows whether a node has what is requested; ``nodes`` as of ``nodes_up``."""
    pools = _unknown_to(fit, request)
    if not pools:
        return ""
    if not all(pool.scaling.owned for pool in pools):
        because = "an autoscaler adds its nodes"
    else:
        because = "you may not list its nodes" if nodes is None else "none of its machines is in the cluster"
    asked = [
        *([f"{request.milli_cpu / 1000:g} CPU"] if request.milli_cpu else []),
        *([f"{gib(request.memory_mib)} of memory"] if request.memory_mib else []),
        *([f"{gib(request.disk_mib)} of disk"] if request.disk_mib else []),
    ]
    names = ", ".join(pool.name for pool in pools)
    return f" ({names}: its size is not published, and {because}: whether {', '.join(asked)} fits is unknown)"


def _unknown_to(fit: Fit, request: PodRequest) -> list[PoolOffer]:
    """The pools of which the cluster does not know what the pods request."""
    asked = [name for name in _SIZES if getattr(request, name)]
    return [pool for pool in fit.pools if any(getattr(pool, name) is None for name in asked)]


def _limits(pool: PoolOffer) -> str:
    """How long its nodes are available, if that is limited."""
    limited = pool.scaling.max_run_hours is not None or pool.scaling.block is not None
    return capacity(pool).removeprefix(f" {pool.scaling.capacity_type}") if limited else ""


def as_json(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "pools": [pool.name for pool in fit.pools],
        "gpu": fit.pools[0].gpus.type,
        "gpusPerNode": fit.pools[0].gpus.per_node,
        "podsPerNode": fit.pods_per_node,
        "nodes": nodes_for(fit, request),
        "hourlyUsdPerNode": fit.hourly_usd,
        "hourlyUsd": hourly_usd(fit, request),
        "priceAtMost": fit.price_at_most,
        "nodesUp": None if nodes is None else sum(nodes.get(pool.name, 0) for pool in fit.pools),
        "begins": fit.begins(request.start),
        "largerThanNeeded": fit.larger,
        "calculated": [pool.name for pool in fit.calculated],
        "unknownSize": [pool.name for pool in _unknown_to(fit, request)],
    }


def hourly_usd(fit: Fit, request: PodRequest) -> float | None:
    """Price of all nodes that the job needs; ``None`` if unknown."""
    return None if fit.hourly_usd is None else round(nodes_for(fit, request) * fit.hourly_usd, 4)


def nodes_for(fit: Fit, request: PodRequest) -> int:
    """How many nodes the job needs."""
    return -(-request.workers // fit.pods_per_node)


def node_of(pool: PoolOffer) -> str:
    """A node of the pool in a few words: ``4 t4 spot``."""
    return f"{pool.gpus.per_node} {pool.gpus.type.removeprefix('nvidia-')}{capacity(pool)}"


def refuse_default_image(fit: Fit) -> None:
    """Raises AskError: the image that jobs get by default has CUDA for x86, and does not run on the fitting nodes."""
    if fit.resource != GPU_RESOURCE:
        raise AskError(
            f"{fit.pools[0].gpus.type}: the default image is for NVIDIA GPUs; write --image IMAGE, or a Dockerfile"
        )
    if ARCH_LABEL in fit.kind:
        raise AskError(
            f"{fit.pools[0].gpus.type}: its nodes have Arm CPUs, and the default image is for x86; write "
            f"--image IMAGE, which must be for {fit.platform}, or a Dockerfile"
        )


def capacity(pool: PoolOffer) -> str:
    """The capacity type with a leading space, and its limits; empty for on-demand."""
    scaling = pool.scaling
    if scaling.capacity_type == "on-demand":
        return ""
    limits = [] if scaling.max_run_hours is None else [f"up to {scaling.max_run_hours} h"]
    limits += [] if scaling.block is None else [f"from {scaling.block.first} until {scaling.block.last}"]
    return f" {scaling.capacity_type}" + (f" ({', '.join(limits)})" if limits else "")


def list_nodes(cluster: ClusterClient) -> list[Object] | None:
    """The nodes of GPU pools; ``None`` for a user who may not list nodes."""
    return cluster.list_if_allowed("/api/v1/nodes", labelSelector=POOL_LABEL)


def nodes_up(cluster: ClusterClient) -> dict[str, int] | None:
    """Pool → number of its nodes; ``None`` for a user who may not list nodes."""
    return by_pool(list_nodes(cluster))


def by_pool(nodes: Sequence[Object] | None) -> dict[str, int] | None:
    """The same of listed ``nodes``."""
    return None if nodes is None else dict(Counter(map(pool_of, nodes)))


def room(pool: PoolOffer) -> str:
    """What one pod can request."""
    parts: Sequence[str] = (
        counted(pool.gpus_per_pod, "GPU"),
        *([f"{pool.milli_cpu / 1000:g} CPU"] if pool.milli_cpu is not None else []),
        *([gib(pool.memory_mib)] if pool.memory_mib is not None else []),
    )
    return ", ".join(parts)


def _start(fit: Fit, request: PodRequest, nodes: Mapping[str, int] | None) -> str:
    if begins := fit.begins(request.start):
        return f"no node before {begins}, when its capacity block begins: a job waits until then"
    if nodes is None:
        return "you may not list nodes, so whether one is up is unknown"
    count = sum(nodes.get(pool.name, 0) for pool in fit.pools)
    if count:
        return f"{counted(count, 'node')} up, starts at once if one has room"
    if all(pool.scaling.owned for pool in fit.pools):
        return "none of its machines is in the cluster: a job waits until one is"
    return "no node up, provisioning takes some minutes"


def _in_camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name[:1] + name.title().replace("_", "")[1:]: value for name, value in fields.items()}
