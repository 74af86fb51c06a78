"""``gpu top``: pools, nodes, running and waiting jobs, and what they cost per hour, as they are now."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer
from facts.concepts.pool import POOL_LABEL
from gpu.cluster import ClusterClient, ClusterError, Object, job_path, pod_path
from gpu.commands.common import ContextOption, dollars, out, table_of
from gpu.commands.jobs import gpus_per_pod, with_reasons
from gpu.commands.offer import node_of
from gpu.ledger import gpus_of, hourly_usd, on_node
from gpu.why import Reason

_ENDED: Final = ("succeeded", "failed")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The cluster at a time. ``nodes``: of GPU pools, ``None`` for a user who may not list them. ``namespace``: the
    only one that the user may see, or asked for; empty for all. ``pods`` have a node and have not ended."""

    offer: Offer
    nodes: Sequence[Object] | None
    pods: Sequence[Object]
    jobs: Sequence[tuple[Object, Sequence[Object], Reason]]
    namespace: str
    at: datetime

    def used_on(self, names: Iterable[str]) -> int:
        """GPUs of these nodes that visible pods use."""
        nodes = set(names)
        return sum(gpus_of(pod["spec"]) for pod in self.pods if pod["spec"]["nodeName"] in nodes)


def top(
    once: Annotated[bool, typer.Option("--once", help="Print it once, as without a terminal.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=1, metavar="SECONDS", help="Refresh so often.")] = 5,
    team: Annotated[
        str | None, typer.Option("--team", "-n", metavar="NAME", help="Only this namespace. Default: all you may list.")
    ] = None,
    context: ContextOption = None,
) -> None:
    """Watch pools, nodes, jobs and their cost per hour.

    Ctrl-C ends it, and nothing else.
    """
    cluster, console = ClusterClient(context), out()
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
        namespace = team or cluster.namespace
        jobs, pods = cluster.list(job_path(namespace)), cluster.list(pod_path(namespace))
    known = with_reasons(cluster, namespace, [job for job in jobs if gpus_per_pod(job)], pods)
    return Snapshot(
        offer=offer,
        nodes=cluster.list_if_allowed("/api/v1/nodes", labelSelector=POOL_LABEL),
        pods=[pod for pod in pods if on_node(pod)],
        jobs=[each for each in known if each[2].kind not in _ENDED],
        namespace=namespace,
        at=datetime.now(timezone.utc),
    )


def _view(snapshot: Snapshot, problem: str = "") -> Group:
    offer, nodes = snapshot.offer, snapshot.nodes
    by_pool = {
        pool.name: [node for node in nodes or () if node["metadata"]["labels"][POOL_LABEL] == pool.name]
        for pool in offer.pools
    }
    now = sum(len(by_pool[pool.name]) * (pool.hourly_usd or 0) for pool in offer.pools)
    unpriced = any(pool.hourly_usd is None and by_pool[pool.name] for pool in offer.pools)
    pools = table_of("pool", "node", "nodes", "GPUs used", "$/h", numbers=("nodes", "GPUs used", "$/h"))
    for pool in offer.pools:
        own = by_pool[pool.name]
        used = f"{snapshot.used_on(_name(node) for node in own)}/{len(own) * pool.allocatable_gpus}"
        count = "?" if nodes is None else str(len(own))
        price = None if pool.hourly_usd is None or nodes is None else len(own) * pool.hourly_usd
        pools.add_row(pool.name, node_of(pool), f"{count}/{pool.max_nodes}", used if own else "", dollars(price))
    parts: list[RenderableType] = [
        f"{offer.cluster} ({offer.cloud}, {offer.region}), {snapshot.at.astimezone():%H:%M:%S}: "
        + (
            f"GPU nodes cost {'at least ' if unpriced else ''}{dollars(now)}/h"
            if nodes is not None
            else "you may not list nodes"
        ),
        *([f"[yellow]{escape(problem)}[/]"] if problem else []),
        pools,
    ]
    if nodes:
        parts += ["", _nodes(snapshot, nodes)]
    parts += ["", _jobs(snapshot) if snapshot.jobs else "no GPU job runs or waits"]
    if snapshot.namespace:
        parts.append(f"[dim]jobs and used GPUs of namespace {snapshot.namespace} only[/]")
    return Group(*parts)


def _nodes(snapshot: Snapshot, nodes: Sequence[Object]) -> Table:
    table = table_of("node", "pool", "state", "GPUs used", "age", numbers=("GPUs used", "age"))
    for node in sorted(nodes, key=lambda node: (node["metadata"]["labels"][POOL_LABEL], _name(node))):
        used, gpus = snapshot.used_on([_name(node)]), _gpus(node)
        age = snapshot.at - datetime.fromisoformat(node["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
        pool = node["metadata"]["labels"][POOL_LABEL]
        minutes = int(age.total_seconds() // 60)
        table.add_row(
            _name(node),
            pool,
            _state(node, used),
            f"{used}/{gpus}",
            f"{minutes // 60}h{minutes % 60:02}m" if minutes >= 60 else f"{minutes}m",
        )
    return table


def _state(node: Object, used: int) -> str:
    """What a node does now, or what it waits for."""
    conditions = {each["type"]: each["status"] for each in (node.get("status") or {}).get("conditions") or ()}
    if node["metadata"].get("deletionTimestamp"):
        return "terminating"
    if conditions.get("Ready") != "True":
        return "not ready"
    if not _gpus(node):
        return "waits for its GPU driver"
    if (node.get("spec") or {}).get("unschedulable"):
        return "cordoned"
    return "in use" if used else "idle"


def _jobs(snapshot: Snapshot) -> Table:
    several = not snapshot.namespace
    table = table_of("job", *(["namespace"] if several else []), "GPUs", "$/h", "state", numbers=("GPUs", "$/h"))
    for job, pods, reason in snapshot.jobs:
        metadata, held = job["metadata"], sum(gpus_of(pod["spec"]) for pod in pods if on_node(pod))
        table.add_row(
            metadata["name"],
            *([metadata["namespace"]] if several else []),
            str(held),
            dollars(hourly_usd(pods, snapshot.nodes or (), snapshot.offer)),
            escape(reason.summary),
        )
    return table


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _gpus(node: Object) -> int:
    return int(((node.get("status") or {}).get("allocatable") or {}).get(GPU_RESOURCE, 0))
