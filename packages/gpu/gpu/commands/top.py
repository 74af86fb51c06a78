"""``gpu top``: pools, nodes, running and waiting jobs, and what they cost per hour, as they are now."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Annotated, Any, Final

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
from gpu.commands.jobs import JOBS_AT_ONCE, gpu_job, with_reasons
from gpu.commands.offer import list_nodes, node_of
from gpu.ledger import hourly_usd, on_node
from gpu.start import gpus_in_use, gpus_of, node_state, pool_of
from gpu.why import Reason

_ENDED: Final = ("succeeded", "failed")
_ACCESS: Final = (None, "", "NoSchedule")
"""Effects of tolerations by which a pod gets access to a node; without one it is every effect."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The cluster at a time. ``nodes``: name → node of a GPU pool, ``None`` for a user who may not list them. ``pods``:
    the visible ones. ``namespace``: the only visible one, empty for all."""

    offer: Offer
    nodes: Mapping[str, Object] | None
    pods: Sequence[Object]
    jobs: Sequence[tuple[Object, Sequence[Object], Reason]]
    namespace: str
    at: datetime

    @cached_property
    def used(self) -> Mapping[str, int]:
        """Name of a node → GPUs that visible pods use."""
        return gpus_in_use(self.pods)

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
    jobs = cluster.list_if_allowed(job_path(namespace), page=JOBS_AT_ONCE, keep=gpu_job)
    if jobs is None or (pods := cluster.list_if_allowed(pod_path(namespace))) is None:
        namespace = cluster.namespace
        jobs = cluster.list(job_path(namespace), page=JOBS_AT_ONCE, keep=gpu_job)
        pods = cluster.list(pod_path(namespace))
    known = with_reasons(cluster, namespace, jobs, pods)
    nodes = list_nodes(cluster)
    names = {pool.name for pool in offer.pools}
    return Snapshot(
        offer=offer,
        nodes=None if nodes is None else {node["metadata"]["name"]: node for node in nodes if pool_of(node) in names},
        pods=pods,
        jobs=[each for each in known if each[2].kind not in _ENDED],
        namespace=namespace,
        at=datetime.now(timezone.utc),
    )


def _view(snapshot: Snapshot, problem: str = "") -> Group:
    offer = snapshot.offer
    head = f"{offer.cluster} ({offer.cloud}, {offer.region}), {snapshot.at.astimezone():%H:%M:%S}: {_cost(snapshot)}"
    parts: list[RenderableType] = [head, *([f"[yellow]{escape(problem)}[/]"] if problem else []), _pools(snapshot)]
    if snapshot.nodes:
        parts += ["", _nodes(snapshot, snapshot.nodes), *_holding(snapshot, snapshot.nodes)]
    parts += ["", _jobs(snapshot) if snapshot.jobs else "no GPU job runs or waits"]
    if snapshot.namespace:
        parts.append(f"[dim]jobs and used GPUs of namespace {snapshot.namespace} only[/]")
    return Group(*parts)


def _cost(snapshot: Snapshot) -> str:
    if snapshot.nodes is None:
        return "you may not list nodes"
    up = [pool for pool in snapshot.offer.pools for _ in snapshot.nodes_of(pool)]
    unknown = any(pool.nodes.hourly_usd is None for pool in up)
    at_most = not unknown and any(pool.nodes.price_at_most for pool in up)
    total = dollars(sum(pool.nodes.hourly_usd or 0 for pool in up), at_most=at_most)
    return f"GPU nodes cost {'at least ' if unknown else ''}{total}/h"


def _pools(snapshot: Snapshot) -> Table:
    table = table_of("pool", "node", "nodes", "GPUs used", "$/h", numbers=("nodes", "GPUs used", "$/h"))
    for pool in snapshot.offer.pools:
        own, unknown = snapshot.nodes_of(pool), snapshot.nodes is None
        used = f"{sum(snapshot.used.get(name, 0) for name in own)}/{len(own) * pool.allocatable_gpus}" if own else ""
        price = None if pool.nodes.hourly_usd is None or unknown else len(own) * pool.nodes.hourly_usd
        count = f"{'?' if unknown else len(own)}/{pool.scaling.max_nodes}"
        table.add_row(
            pool.name, node_of(pool), count, used, dollars(price, at_most=pool.nodes.price_at_most and bool(price))
        )
    return table


def _nodes(snapshot: Snapshot, nodes: Mapping[str, Object]) -> Table:
    table = table_of("node", "pool", "state", "GPUs used", "age", numbers=("GPUs used", "age"))
    pools = {pool.name: pool for pool in snapshot.offer.pools}
    for name, node in sorted(nodes.items(), key=lambda each: (pool_of(each[1]), each[0])):
        used = snapshot.used.get(name, 0)
        hours, minutes = divmod(_minutes(snapshot, node), 60)
        age = f"{hours}h{minutes:02}m" if hours else f"{minutes}m"
        state = node_state(node, pools[pool_of(node)], used)
        table.add_row(name, pool_of(node), state, f"{used}/{gpus_of(node)}", age)
    return table


def _holding(snapshot: Snapshot, nodes: Mapping[str, Object]) -> Iterator[str]:
    """Pods without GPUs that keep an idle node up longer than its pool's delay."""
    pools = {pool.name: pool for pool in snapshot.offer.pools}
    for pod in filter(on_node, snapshot.pods):
        metadata, name = pod["metadata"], pod["spec"]["nodeName"]
        if name not in nodes or snapshot.used.get(name) or _is_of_the_node(metadata):
            continue
        pool = pools[pool_of(nodes[name])]
        delay = pool.scaling.unneeded_minutes
        if delay is None or node_state(nodes[name], pool, 0) != "idle" or _minutes(snapshot, pod) < delay:
            continue
        held = f"{metadata['namespace']}/{metadata['name']}"
        why = _access_to_gpu_nodes(pod["spec"], pool)
        yield f"[yellow]{escape(name)} is idle, and {escape(held)} keeps it: it requests no GPU, and {escape(why)}[/]"


def _is_of_the_node(metadata: Mapping[str, Any]) -> bool:
    """Whether no autoscaler waits for its end: a pod of a DaemonSet, or the mirror of a static pod.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node
    """
    return any(owner["kind"] in ("DaemonSet", "Node") for owner in metadata.get("ownerReferences") or ())


def _access_to_gpu_nodes(spec: Mapping[str, Any], pool: PoolOffer) -> str:
    """Why no taint kept such a pod off."""
    keys = [each.get("key", "") for each in spec.get("tolerations") or () if each.get("effect") in _ACCESS]
    if "" in keys:
        return "tolerates all taints"
    return f"tolerates {pool.gpus.resource}" if pool.gpus.resource in keys else "names its node"


def _minutes(snapshot: Snapshot, item: Object) -> int:
    """Age of an object."""
    created = datetime.fromisoformat(item["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
    return int((snapshot.at - created).total_seconds() // 60)


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
