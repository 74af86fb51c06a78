"""Where a job would run, before it is submitted and whether or not a node is up: from what the cluster offers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from facts.concepts.kubernetes import DEFAULT_NAMESPACE, GPU_RESOURCE, Taint, resource_of
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import ARCH_LABEL, kind_labels, selected_labels

_MIB_PER_GIB = 1024


@dataclass(frozen=True, kw_only=True)
class PodRequest:
    """The resources of each of ``workers`` pods that run at the same time; 0 and ``None`` request nothing.

    ``gpu`` is a type's name or a part of it (``a100``); ``None`` is any of NVIDIA's. ``start`` (ISO, UTC) is when they
    start at the earliest; no pool fits whose machines end before. Without it all do. No pool for teams fits pods of
    another ``namespace`` than theirs.
    """

    gpus: int = 1
    gpu: str | None = None
    milli_cpu: int = 0
    memory_mib: int = 0
    disk_mib: int = 0
    spot: bool | None = None
    workers: int = 1
    start: str = ""
    namespace: str = DEFAULT_NAMESPACE


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Pools of one GPU type and size that fit the job, in fallback order.

    ``pods_per_node``: how many such pods fit on a node. ``larger``: a node with fewer GPUs would have enough GPUs, but
    not enough of another resource.
    """

    pools: tuple[PoolOffer, ...]
    pods_per_node: int
    larger: bool

    @property
    def hourly_usd(self) -> float | None:
        """A node's list price: the first pool's or, where that is unknown, the lowest known one."""
        return self._priced.nodes.hourly_usd

    @property
    def price_at_most(self) -> bool:
        """Whether ``hourly_usd`` is an upper limit."""
        return self._priced.nodes.price_at_most

    @property
    def spot(self) -> bool:
        """Whether ``hourly_usd`` is that of a spot node."""
        return bool(self._priced.scaling.spot)

    @property
    def on_demand_usd(self) -> float | None:
        """The same node's list price on demand, as far as the cluster publishes it."""
        nodes = self._priced.nodes
        return nodes.hourly_usd if nodes.on_demand_usd is None else nodes.on_demand_usd

    @property
    def _priced(self) -> PoolOffer:
        first, *_ = self.pools
        known = [pool for pool in self.pools if pool.nodes.hourly_usd is not None]
        return first if first in known else min(known, key=lambda pool: pool.nodes.hourly_usd or 0.0, default=first)

    @property
    def size(self) -> tuple[str, int]:
        """The type of the GPUs, and how many a node has."""
        return self.pools[0].gpus.type, self.pools[0].gpus.per_node

    @property
    def resource(self) -> str:
        """The resource by which pods request the GPUs."""
        return resource_of(self.pools[0].gpus.type)

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of the pools, which pods must tolerate."""
        return tuple(dict.fromkeys(taint for pool in self.pools for taint in pool.nodes.taints))

    @property
    def kind(self) -> Mapping[str, str]:
        """The labels of their type and size, and those that pods have to select."""
        return kind_labels(self.pools[0].nodes.labels, self.pools[0].nodes.cloud_labels)

    @property
    def platform(self) -> str:
        """What an image must be built for, as a builder and a registry spell it."""
        return f"linux/{self.kind.get(ARCH_LABEL, 'amd64')}"

    @property
    def selected(self) -> Mapping[str, str]:
        """The labels that pods have to select: of a ComputeClass, of MPS, of Arm CPUs, of a topology; mostly none."""
        return selected_labels(self.pools[0].nodes.labels, self.pools[0].nodes.cloud_labels)

    @property
    def most_pods(self) -> int:
        """How many such pods can run at once."""
        return self.pods_per_node * sum(pool.scaling.max_nodes for pool in self.pools)

    @property
    def most_pods_of_one_pool(self) -> int:
        """How many such pods can run at once in the largest of the pools."""
        return self.pods_per_node * max(pool.scaling.max_nodes for pool in self.pools)

    @property
    def calculated(self) -> tuple[PoolOffer, ...]:
        """The pools of whose machines no real node was compared with what is published: a node may have less."""
        return tuple(pool for pool in self.pools if pool.compared is False)

    def begins(self, start: str) -> str | None:
        """The first day (ISO, UTC) on which one of the pools has machines; ``None``: one has some at ``start``."""
        blocks = [pool.scaling.block for pool in self.pools]
        first = min((block.first if block else "" for block in blocks), default="")
        return first if start and start < first else None

    @property
    def grace_seconds(self) -> int | None:
        """Seconds of notice before a spot node is reclaimed; ``None`` without spot nodes."""
        notices = [pool.notice_seconds for pool in self.pools if pool.notice_seconds is not None]
        return min(notices, default=None)


@dataclass(frozen=True, kw_only=True)
class Miss:
    """A pool that does not fit the job, with all reasons."""

    pool: PoolOffer
    lacks: tuple[str, ...]


def fits(offer: Offer, request: PodRequest) -> list[Fit]:
    """The pools that fit, cheapest type and size first, and of each those for the pods' team and those that are paid
    for anyway; without a known price last, smallest first."""
    fitting = []
    for pools in _sizes(offer):
        taking = _connected([pool for pool in pools if not any(_lacks(pool, request))], request)
        if not taking:
            continue
        fit = Fit(
            pools=tuple(sorted(taking, key=lambda pool: (not pool.scaling.prepaid, pool.scaling.preference))),
            pods_per_node=min(pods_per_node(pool, request) for pool in taking),
            larger=_enough_gpus_in_smaller(offer, taking[0], request),
        )
        if fit.most_pods >= request.workers:
            fitting.append(fit)
    priced = [(math.inf if usd is None else usd, fit) for usd, fit in zip(comparable(fitting), fitting, strict=True)]
    cheapest: dict[tuple[str, int], float] = {}
    for usd, fit in priced:
        cheapest[fit.size] = min(usd, cheapest.get(fit.size, math.inf))

    def order(each: tuple[float, Fit]) -> tuple[float, int, str, bool, bool, float, bool]:
        usd, fit = each
        (kind, size), first = fit.size, fit.pools[0]
        return cheapest[fit.size], size, kind, not first.nodes.teams, not first.scaling.prepaid, usd, not fit.spot

    return [fit for _, fit in sorted(priced, key=order)]


def comparable(fits: Sequence[Fit]) -> list[float | None]:
    """The list price of a node of each, like with like: where that of a spot node is not known, so that its price on
    demand stands for it, all spot nodes count at their price on demand."""
    on_demand = any(fit.spot and fit.price_at_most for fit in fits)
    return [fit.on_demand_usd if on_demand else fit.hourly_usd for fit in fits]


def misses(offer: Offer, request: PodRequest) -> list[Miss]:
    """The pools that do not fit the job, the nearest first."""
    missing = []
    for pools in _sizes(offer):
        taking = [pool for pool in pools if not any(_lacks(pool, request))]
        room = sum(pod_room(pool, request) for pool in taking)
        for pool in pools:
            lacks = tuple(_lacks(pool, request))
            if not lacks and room < request.workers:
                lacks = (f"room for {room} such pod{'' if room == 1 else 's'} at once, not {request.workers}",)
            if lacks:
                missing.append(Miss(pool=pool, lacks=lacks))
    return sorted(
        missing, key=lambda miss: (len(miss.lacks), -miss.pool.gpus_per_pod, miss.pool.nodes.hourly_usd or math.inf)
    )


def pod_room(pool: PoolOffer, request: PodRequest) -> int:
    """How many such pods fit on all nodes of the pool."""
    return pool.scaling.max_nodes * pods_per_node(pool, request)


def pods_per_node(pool: PoolOffer, request: PodRequest) -> int:
    """How many such pods fit on one node; an unknown resource limits nothing."""
    pairs = [
        (pool.allocatable_gpus, request.gpus),
        (pool.milli_cpu, request.milli_cpu),
        (pool.memory_mib, request.memory_mib),
        (pool.disk_mib, request.disk_mib),
    ]
    return min(has // asked for has, asked in pairs if asked and has is not None)


def names(gpu: str, asked: str) -> bool:
    """Whether ``asked`` names the GPU type: in full, without the vendor, or by some of its words."""
    words, requested = gpu.lower().split("-"), asked.lower().split("-")
    return any(words[start : start + len(requested)] == requested for start in range(len(words)))


def _sizes(offer: Offer) -> Iterator[Sequence[PoolOffer]]:
    """Pools of one kind: fallback pools, and those of several zones."""
    groups: dict[tuple[object, ...], list[PoolOffer]] = {}
    for pool in offer.pools:
        # The nodes of two slices are not connected.
        own = pool.name if pool.gpus.slice_nodes > 1 else None
        selected = selected_labels(pool.nodes.labels, pool.nodes.cloud_labels).items()
        kind = (pool.gpus.type, pool.gpus.per_node, pool.allocatable_gpus, own, *selected)
        groups.setdefault(kind, []).append(pool)
    yield from groups.values()


def _connected(pools: list[PoolOffer], request: PodRequest) -> list[PoolOffer]:
    """For several workers the one pool whose fabric connects them all, if there is one."""
    able = [pool for pool in pools if pool.nodes.fabric is not None and pod_room(pool, request) >= request.workers]
    return able[:1] if able and request.workers > 1 else pools


def _lacks(pool: PoolOffer, request: PodRequest) -> Iterator[str]:
    if pool.nodes.teams and request.namespace not in pool.nodes.teams:
        yield f"for pods of namespace {' or '.join(pool.nodes.teams)} only"
    if request.gpu is not None and not names(pool.gpus.type, request.gpu):
        yield f"{pool.gpus.type}, not {request.gpu}"
    if request.gpu is None and resource_of(pool.gpus.type) != GPU_RESOURCE:
        yield f"{pool.gpus.type}, which runs no program for NVIDIA's GPUs, so a job has to name it"
    elif request.gpu is None and ARCH_LABEL in pool.nodes.labels:
        yield f"{pool.gpus.type} with Arm CPUs, on which no image for x86 runs, so a job has to name it"
    if request.gpus > pool.gpus_per_pod:
        shared = " (its GPUs are shared)" if pool.allocatable_gpus > pool.gpus.per_node else ""
        most = f"{pool.gpus_per_pod} GPU{'' if pool.gpus_per_pod == 1 else 's'} per pod"
        yield f"at most {most}{shared}, not {request.gpus}"
    if pool.gpus.slice_nodes and request.gpus != pool.gpus.per_node:
        yield f"a pod has all {pool.gpus.per_node} chips of a node, not {request.gpus}"
    if pool.gpus.slice_nodes > 1 and request.workers != pool.gpus.slice_nodes:
        nodes = pool.gpus.slice_nodes
        yield f"a slice is {nodes} nodes that start together and need a worker each, not {request.workers}"
    if pool.ends is not None and request.start >= pool.ends:
        yield f"its capacity block ended at {pool.ends}"
    if request.spot is True and not pool.scaling.spot:
        yield "on-demand, not spot"
    if request.spot is False and pool.scaling.spot:
        yield "spot, not on-demand"
    if pool.milli_cpu is not None and request.milli_cpu > pool.milli_cpu:
        yield f"at most {pool.milli_cpu / 1000:g} CPU per pod, not {request.milli_cpu / 1000:g}"
    for has, asked, what in (
        (pool.memory_mib, request.memory_mib, "memory"),
        (pool.disk_mib, request.disk_mib, "ephemeral storage"),
    ):
        if has is not None and asked > has:
            yield f"at most {gib(has)} of {what} per pod, not {gib(asked)}"


def _enough_gpus_in_smaller(offer: Offer, pool: PoolOffer, request: PodRequest) -> bool:
    """As admission asks it (``gpu-placement.yaml``): of the same type and teams, and a smaller size."""
    return any(
        (one.gpus.type, one.nodes.teams) == (pool.gpus.type, pool.nodes.teams)
        and one.gpus.per_node < pool.gpus.per_node
        and one.gpus_per_pod >= request.gpus
        for one in offer.pools
    )


def gib(mib: int) -> str:
    """``12.5Gi``."""
    return f"{mib / _MIB_PER_GIB:.4g}Gi" if mib >= _MIB_PER_GIB else f"{mib}Mi"
