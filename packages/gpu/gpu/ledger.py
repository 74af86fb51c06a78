"""What a job costs at list prices: while its programs run, while its nodes are provisioned, and while they are idle.

A pod pays for its share of a node's GPUs, at the prices that the cluster publishes now. Pods that were deleted with
their node (a reclaimed spot node, for example) count as far as events still list them (``finished_pods.py``). The start
of a node that was deleted, or that the user may not list, is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at
from gpu.finished_pods import finished_pods

Object = Mapping[str, Any]
_SECONDS_PER_HOUR: Final = 3600


@dataclass(frozen=True, kw_only=True)
class GpuCost:
    """US dollars, and hours of one GPU.

    ``running``: containers ran. ``provisioning``: their nodes existed and they did not run yet. ``idle``: until
    scale-down removes their nodes, at most. ``notes`` say what is not counted.
    """

    gpu_hours: float = 0.0
    running: float = 0.0
    provisioning: float = 0.0
    idle: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """All parts."""
        return self.running + self.provisioning + self.idle

    def __add__(self, other: GpuCost) -> GpuCost:
        return GpuCost(
            gpu_hours=self.gpu_hours + other.gpu_hours,
            running=self.running + other.running,
            provisioning=self.provisioning + other.provisioning,
            idle=self.idle + other.idle,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def of_job(
    job: Object,
    pods: Sequence[Object],
    nodes: Sequence[Object],
    offer: Offer,
    now: datetime,
    events: Sequence[Object] = (),
) -> GpuCost:
    """What a job's ``pods`` cost, with those deleted pods that ``events`` of its namespace still list; notes say so."""
    deleted = finished_pods(job, pods, events)
    status = job.get("status") or {}
    finished = (status.get("succeeded") or 0) + (status.get("failed") or 0)
    existing = sum(at(pod, "status", "phase") in ("Succeeded", "Failed") for pod in pods)
    name = job["metadata"]["name"]
    lost = finished - existing - len(deleted)
    notes = (
        *((f"{counted(len(deleted), 'deleted pod')} of {name} estimated from events, at most",) if deleted else ()),
        *((f"at least {counted(lost, 'deleted pod')} of {name} not counted",) if lost > 0 else ()),
    )
    return of_pods([*pods, *deleted], nodes, offer, now) + GpuCost(notes=notes)


def hourly_usd(pods: Iterable[Object], nodes: Sequence[Object], offer: Offer) -> float | None:
    """What these pods cost per hour now, by their share of the nodes that they are on; ``None`` if one is unknown."""
    pools = {pool.name: pool for pool in offer.pools}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    placed = [(pod, _pool(pod, by_name.get(pod["spec"]["nodeName"]), pools)) for pod in pods if on_node(pod)]
    costs = [
        None if pool is None or pool.hourly_usd is None else _share(pod, pool) * pool.hourly_usd for pod, pool in placed
    ]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def on_node(pod: Object) -> bool:
    """Whether it has a node and has not ended."""
    return bool(pod["spec"].get("nodeName")) and at(pod, "status", "phase") not in ("Succeeded", "Failed")


def of_pods(pods: Iterable[Object], nodes: Sequence[Object], offer: Offer, now: datetime) -> GpuCost:
    """What these pods cost until ``now``, and the idle time of their nodes that is still to come."""
    pools = {pool.name: pool for pool in offer.pools}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    total, idle_by_node = GpuCost(), {}
    for pod in pods:
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            continue
        node = by_name.get(node_name)
        pool = _pool(pod, node, pools)
        if pool is None or pool.hourly_usd is None:
            name = "an unknown pool" if pool is None else f"pool {pool.name}"
            total += GpuCost(notes=(f"node price of {name} unknown; its pods are not included",))
            total += _while_up(pod, node, 0.0, now)
            continue
        hourly = pool.hourly_usd * _share(pod, pool)
        total += _while_up(pod, node, hourly, now)
        if pool.idle_minutes is None:
            total += GpuCost(notes=("scale-down delay unknown on this cloud; idle time not included",))
        else:
            idle_by_node[node_name] = max(idle_by_node.get(node_name, 0.0), hourly * pool.idle_minutes / 60)
    return total + GpuCost(idle=sum(idle_by_node.values()))


def _while_up(pod: Object, node: Object | None, hourly: float, now: datetime) -> GpuCost:
    """The running and provisioning cost of one pod, at ``hourly`` dollars."""
    node_created = _time(node["metadata"]["creationTimestamp"]) if node is not None else None
    created = _time(pod["metadata"]["creationTimestamp"])
    conditions = (
        each
        for each in at(pod, "status", "conditions") or ()
        if each["type"] == "PodScheduled" and each["status"] == "True"
    )
    scheduled = next((_time(each.get("lastTransitionTime")) for each in conditions), None)
    started, ended = _ran(pod)
    # A node that existed before the pod was not provisioned for it.
    for_pod = node_created is not None and created is not None and node_created >= created
    unknown_start = (
        "provisioning of a deleted node, or one that you may not list, counts from when its pod was scheduled"
    )
    running = _hours(started, ended or now)
    return GpuCost(
        gpu_hours=running * gpus_of(pod["spec"]),
        running=running * hourly,
        provisioning=_hours(node_created if for_pod else scheduled, started or ended or now) * hourly,
        notes=(unknown_start,) if node is None else (),
    )


def _pool(pod: Object, node: Object | None, pools: Mapping[str, PoolOffer]) -> PoolOffer | None:
    """The pool in its node's label; of a deleted node, the most expensive pool that the pod may use."""
    if node is not None:
        return pools.get(at(node, "metadata", "labels", POOL_LABEL))
    allowed = [pools[name] for name in _allowed(pod) if name in pools]
    return max(allowed, key=lambda pool: pool.hourly_usd or 0, default=None)


def _allowed(pod: Object) -> list[str]:
    named = at(pod, "spec", "nodeSelector", POOL_LABEL)
    required = at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    listed = [
        value
        for term in at(required, "nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        if (expression["key"], expression["operator"]) == (POOL_LABEL, "In")
        for value in expression["values"]
    ]
    return [named] if named else listed


def _share(pod: Object, pool: PoolOffer) -> float:
    return min(1.0, gpus_of(pod["spec"]) / pool.allocatable_gpus)


def gpus_of(pod_spec: Object) -> int:
    """GPUs that the pod's containers request."""
    return sum(int(at(each, "resources", "limits", GPU_RESOURCE) or 0) for each in pod_spec["containers"])


def _ran(pod: Object) -> tuple[datetime | None, datetime | None]:
    """When its first container started and its last one ended; a restarted one counts from its last start."""
    starts, ends = [], []
    for status in at(pod, "status", "containerStatuses") or ():
        state = status.get("state") or {}
        starts.append(_time(at(state.get("running") or state.get("terminated"), "startedAt")))
        ends.append(_time(at(state, "terminated", "finishedAt")))
    known = [start for start in starts if start is not None]
    finished = [end for end in ends if end is not None]
    return min(known, default=None), max(finished) if finished and len(finished) == len(ends) else None


def _hours(start: datetime | None, end: datetime | None) -> float:
    return 0.0 if start is None or end is None else max(0.0, (end - start).total_seconds()) / _SECONDS_PER_HOUR


def _time(text: str | None) -> datetime | None:
    """https://datatracker.ietf.org/doc/html/rfc3339, as Kubernetes writes it, with or without fractions."""
    if not text:
        return None
    pattern = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in text else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.strptime(text, pattern).replace(tzinfo=timezone.utc)
