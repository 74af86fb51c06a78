"""What a job costs by list prices: what it used, what waking its nodes took, and how long they stay after it.

A pod pays for its share of a node, by GPUs. Prices are those that the cluster publishes now. Pods that are gone (a spot
node was taken away) count as far as events still tell of them (``departed.py``). A node that is gone, or that the user
may not see, does not say when it appeared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from gpu.departed import departed

Object = Mapping[str, Any]
_SECONDS_PER_HOUR: Final = 3600


@dataclass(frozen=True, kw_only=True)
class GpuCost:
    """US dollars, and hours of one GPU. ``used``: programs ran. ``waking``: their nodes were up and they did not run
    yet. ``tail``: at most, until their nodes go after them. ``notes`` say what is left out.
    """

    gpu_hours: float = 0.0
    used: float = 0.0
    waking: float = 0.0
    tail: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """All parts."""
        return self.used + self.waking + self.tail

    def __add__(self, other: GpuCost) -> GpuCost:
        return GpuCost(
            gpu_hours=self.gpu_hours + other.gpu_hours,
            used=self.used + other.used,
            waking=self.waking + other.waking,
            tail=self.tail + other.tail,
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
    """What a job's ``pods`` cost, and those that are gone as far as ``events`` of its namespace tell; notes say so."""
    gone = departed(job, pods, events)
    status = job.get("status") or {}
    ran = (status.get("succeeded") or 0) + (status.get("failed") or 0)
    ended = sum((pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") for pod in pods)
    name = job["metadata"]["name"]
    lost = ran - ended - len(gone)
    notes = (
        *((f"{len(gone)} pods of {name} are gone: what they cost is told by events, at most",) if gone else ()),
        *((f"at least {lost} pods of {name} are gone and not counted",) if lost > 0 else ()),
    )
    return of_pods([*pods, *gone], nodes, offer, now) + GpuCost(notes=notes)


def of_pods(pods: Iterable[Object], nodes: Sequence[Object], offer: Offer, now: datetime) -> GpuCost:
    """What these pods cost until ``now``, with the end of their nodes to come."""
    pools = {pool.name: pool for pool in offer.pools}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    total, last_on = GpuCost(), {}
    for pod in pods:
        node_name = pod["spec"].get("nodeName")
        if not node_name:
            continue
        node = by_name.get(node_name)
        pool = _pool(pod, node, pools)
        if pool is None or pool.hourly_usd is None:
            name = "of an unknown pool" if pool is None else f"of pool {pool.name}"
            price: float | None = None
            total += GpuCost(notes=(f"the price of nodes {name} is not known: its pods count no dollars",))
        else:
            price = pool.hourly_usd
        total += _while_up(pod, node, pool, price, now)
        if pool is not None and price is not None and pool.idle_minutes is None:
            total += GpuCost(notes=("the cloud does not say how long idle nodes stay: no tail is counted",))
        elif pool is not None and price is not None and pool.idle_minutes is not None:
            last_on[node_name] = max(last_on.get(node_name, 0.0), _share(pod, pool) * price * pool.idle_minutes / 60)
    return total + GpuCost(tail=sum(last_on.values()))


def _while_up(pod: Object, node: Object | None, pool: PoolOffer | None, price: float | None, now: datetime) -> GpuCost:
    """Used and waking of one pod."""
    appeared = _time(node["metadata"]["creationTimestamp"]) if node is not None else None
    made = _time(pod["metadata"]["creationTimestamp"])
    placed = (each for each in _conditions(pod) if each["type"] == "PodScheduled" and each["status"] == "True")
    bound = next((_time(each.get("lastTransitionTime")) for each in placed), None)
    started, ended = _ran(pod)
    # A node that was up before the pod was made was not woken for it.
    waits_from = appeared if appeared is not None and made is not None and appeared >= made else bound
    unseen = "a node that is gone, or not yours to see, counts as awake from when its pod was placed"
    hourly = 0.0 if price is None or pool is None else price * _share(pod, pool)
    running = _hours(started, ended or now)
    return GpuCost(
        gpu_hours=running * _gpus(pod),
        used=running * hourly,
        waking=_hours(waits_from, started or ended or now) * hourly,
        notes=(unseen,) if node is None else (),
    )


def _pool(pod: Object, node: Object | None, pools: Mapping[str, PoolOffer]) -> PoolOffer | None:
    """By its node's label; where the node is gone, the dearest of those that the pod may use."""
    if node is not None:
        return pools.get((node["metadata"].get("labels") or {}).get(POOL_LABEL, ""))
    allowed = [pools[name] for name in _allowed(pod) if name in pools]
    return max(allowed, key=lambda pool: pool.hourly_usd or 0, default=None)


def _allowed(pod: Object) -> list[str]:
    spec = pod["spec"]
    named = (spec.get("nodeSelector") or {}).get(POOL_LABEL)
    terms = (
        ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
        or {}
    ).get("nodeSelectorTerms") or ()
    listed = [
        value
        for term in terms
        for expression in term.get("matchExpressions") or ()
        if (expression["key"], expression["operator"]) == (POOL_LABEL, "In")
        for value in expression["values"]
    ]
    return [named] if named else listed


def _share(pod: Object, pool: PoolOffer) -> float:
    return min(1.0, _gpus(pod) / pool.allocatable_gpus)


def _gpus(pod: Object) -> int:
    return sum(
        int(((container.get("resources") or {}).get("limits") or {}).get(GPU_RESOURCE, 0))
        for container in pod["spec"]["containers"]
    )


def _ran(pod: Object) -> tuple[datetime | None, datetime | None]:
    """When its first container started and its last one ended; a restarted one counts from its last start."""
    starts, ends = [], []
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        state = status.get("state") or {}
        at = state.get("running") or state.get("terminated") or {}
        starts.append(_time(at.get("startedAt")))
        ends.append(_time((state.get("terminated") or {}).get("finishedAt")))
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


def _conditions(pod: Object) -> Sequence[Object]:
    return (pod.get("status") or {}).get("conditions") or ()
