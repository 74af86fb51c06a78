"""``gpu top``: pools, nodes, running and waiting jobs, and what they cost per hour, as they are now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from facts.concepts.kubernetes import gpu_limit
from facts.concepts.offer import Offer, PoolOffer
from gpu.cluster import ClusterClient, ClusterError, Object, job_path, pod_path
from gpu.commands import options
from gpu.commands.common import dollars, out, table_of
from gpu.commands.jobs import gpus_per_pod, with_reasons
from gpu.commands.offer import list_nodes, node_of
from gpu.ledger import hourly_usd, on_node
from gpu.start import gpus_in_use, gpus_of, node_state, pool_of
from gpu.why import Reason

_ENDED: Final = ("succeeded", "failed")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The cluster at a time. ``nodes``: name → node of a GPU pool, ``None`` for a user who may not list them. ``used``:
    name of a node → GPUs that visible pods use. ``namespace``: the only visible one, empty for all."""

    offer: Offer
    nodes: Mapping[str, Object] | None
    used: Mapping[str, int]
    jobs: Sequence[tuple[Object, Sequence[Object], Reason]]
    namespace: str
    at: datetime

    def nodes_of(self, pool: PoolOffer) -> list[str]:
        """Names of the pool's nodes."""
        return [name for name, node in (self.nodes or {}).items() if pool_of(node) == pool.name]


def top(
    once: Annotated[bool, typer.Option("--once", help="Print it once, as without a terminal.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=1, metavar="SECONDS", help="Refresh so often.")] = 5,
    team: Annotated[
        str | None, typer.Option("--team", "-n", metavar="NAME", help="Only this namespace. Default: all you may list.")
    ] = None,
    context: options.Context = None,
) -> None:
    """Watch pools, nodes, jobs and their cost per hour.

    Ctrl-C ends it, and nothing else.
    """
    cluster, console = ClusterClient(context, team), out()
    offer = cluster.offer()
    snapshot = _snapshot(cluster, offer, team)
    if once or not console.is_terminal:
        console.print(_view(snapshot))
        return
    try:
        with Live(_view(snapshot), console=console, auto_refresh=False) as live:
            while True:
                time.sleep(interval)
                problem = ""
                try:
                    snapshot = _snapshot(cluster, offer, team)
                except ClusterError as error:
                    problem = str(error)
                live.update(_view(snapshot, problem), refresh=True)
    except KeyboardInterrupt:
        return


def _snapshot(cluster: ClusterClient, offer: Offer, team: str | None) -> Snapshot:
    """Raises ClusterError."""
    namespace = team or ""
    jobs = cluster.list_if_allowed(job_path(namespace))
    if jobs is None or (pods := cluster.list_if_allowed(pod_path(namespace))) is None:
        namespace = cluster.namespace
        jobs, pods = cluster.list(job_path(namespace)), cluster.list(pod_path(namespace))
    known = with_reasons(cluster, namespace, [job for job in jobs if gpus_per_pod(job)], pods)
    nodes = list_nodes(cluster)
    names = {pool.name for pool in offer.pools}
    return Snapshot(
        offer=offer,
        nodes=None if nodes is None else {node["metadata"]["name"]: node for node in nodes if pool_of(node) in names},
        used=gpus_in_use(pods),
        jobs=[each for each in known if each[2].kind not in _ENDED],
        namespace=namespace,
        at=datetime.now(timezone.utc),
    )


def _view(snapshot: Snapshot, problem: str = "") -> Group:
    offer = snapshot.offer
    head = f"{offer.cluster} ({offer.cloud}, {offer.region}), {snapshot.at.astimezone():%H:%M:%S}: {_cost(snapshot)}"
    parts: list[RenderableType] = [head, *([f"[yellow]{escape(problem)}[/]"] if problem else []), _pools(snapshot)]
    if snapshot.nodes:
        parts += ["", _nodes(snapshot, snapshot.nodes)]
    parts += ["", _jobs(snapshot) if snapshot.jobs else "no GPU job runs or waits"]
    if snapshot.namespace:
        parts.append(f"[dim]jobs and used GPUs of namespace {snapshot.namespace} only[/]")
    return Group(*parts)


def _cost(snapshot: Snapshot) -> str:
    if snapshot.nodes is None:
        return "you may not list nodes"
    up = [pool for pool in snapshot.offer.pools for _ in snapshot.nodes_of(pool)]
    least = "at least " if any(pool.nodes.hourly_usd is None for pool in up) else ""
    return f"GPU nodes cost {least}{dollars(sum(pool.nodes.hourly_usd or 0 for pool in up))}/h"


def _pools(snapshot: Snapshot) -> Table:
    table = table_of("pool", "node", "nodes", "GPUs used", "$/h", numbers=("nodes", "GPUs used", "$/h"))
    for pool in snapshot.offer.pools:
        own, unknown = snapshot.nodes_of(pool), snapshot.nodes is None
        used = f"{sum(snapshot.used.get(name, 0) for name in own)}/{len(own) * pool.allocatable_gpus}" if own else ""
        price = None if pool.nodes.hourly_usd is None or unknown else len(own) * pool.nodes.hourly_usd
        count = f"{'?' if unknown else len(own)}/{pool.scaling.max_nodes}"
        table.add_row(pool.name, node_of(pool), count, used, dollars(price))
    return table


def _nodes(snapshot: Snapshot, nodes: Mapping[str, Object]) -> Table:
    table = table_of("node", "pool", "state", "GPUs used", "age", numbers=("GPUs used", "age"))
    pools = {pool.name: pool for pool in snapshot.offer.pools}
    for name, node in sorted(nodes.items(), key=lambda each: (pool_of(each[1]), each[0])):
        used = snapshot.used.get(name, 0)
        created = datetime.fromisoformat(node["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
        hours, minutes = divmod(int((snapshot.at - created).total_seconds() // 60), 60)
        age = f"{hours}h{minutes:02}m" if hours else f"{minutes}m"
        state = node_state(node, pools[pool_of(node)], used)
        table.add_row(name, pool_of(node), state, f"{used}/{gpus_of(node)}", age)
    return table


def _jobs(snapshot: Snapshot) -> Table:
    several = not snapshot.namespace
    table = table_of("job", *(["namespace"] if several else []), "GPUs", "$/h", "state", numbers=("GPUs", "$/h"))
    for job, pods, reason in snapshot.jobs:
        metadata, held = job["metadata"], sum(gpu_limit(pod["spec"]) for pod in pods if on_node(pod))
        table.add_row(
            metadata["name"],
            *([metadata["namespace"]] if several else []),
            str(held),
            dollars(hourly_usd(pods, [*(snapshot.nodes or {}).values()], snapshot.offer)),
            escape(reason.summary),
        )
    return table
