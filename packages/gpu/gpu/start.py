"""How soon a job starts in a cluster: free GPUs of its nodes, and what other pods for the same pools wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from facts.concepts import broken_nodes
from facts.concepts.counts import counted
from facts.concepts.kubernetes import gpu_count, gpu_limit, quantity
from facts.concepts.offer import PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at
from facts.jobs.fit import Fit, PodRequest
from gpu.ledger import allowed_pools, on_node
from gpu.why import View, of_pod

Object = Mapping[str, Any]
Stage = Literal["now", "if-room", "minutes", "unknown", "waits"]

_RANK: Final[Mapping[Stage, int]] = {"now": 0, "if-room": 1, "minutes": 2, "unknown": 2, "waits": 3}
_BLOCKED: Final = ("no-capacity", "cloud-quota", "pool-full", "configuration", "did-not-join", "unknown")


@dataclass(frozen=True)
class Start:
    """``stage``: at once, at once if a node has room, in the minutes that a node takes, unknown, or after ``why``."""

    stage: Stage
    why: str

    @property
    def rank(self) -> int:
        """Orders clusters, the soonest first; what is unknown counts as minutes."""
        return _RANK[self.stage]


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a user sees of a cluster. ``nodes``: of GPU pools, ``None`` if they may not be listed. ``everywhere``:
    ``pods`` are those of all namespaces. ``quotas``: ResourceQuotas of the job's namespace."""

    nodes: Sequence[Object] | None
    pods: Sequence[Object]
    events: Sequence[Object]
    quotas: Sequence[Object]
    everywhere: bool


def start_of(fit: Fit, request: PodRequest, usage: Usage) -> Start:
    """How soon all pods of the request start on the pools of ``fit``. CPU and memory in use are not counted."""
    names = {pool.name for pool in fit.pools}
    asked = request.gpus * request.workers
    lefts = [_left(quota, fit.resource) for quota in usage.quotas]
    left = min((left for left in lefts if left is not None), default=asked)
    if left < asked:
        return Start("waits", f"the namespace's quota has {counted(left, 'GPU')} left")
    if begins := fit.begins(request.start):
        return Start("waits", f"its capacity block begins on {begins}")
    blocked = _blocked(names, usage)
    if usage.nodes is None:
        return blocked or Start("unknown", "you may not list nodes")
    own = [node for node in usage.nodes if pool_of(node) in names]
    room = _room(own, request.gpus, usage.pods, {pool.name: pool for pool in fit.pools})
    if usage.everywhere and room >= request.workers:
        return Start("now", f"a node has {counted(request.gpus, 'GPU')} free")
    if blocked is not None:
        return blocked
    if room >= request.workers:
        return Start("if-room", "starts at once if a node has room")
    further = -(-(request.workers - room) // fit.pods_per_node)
    most = sum(pool.scaling.max_nodes for pool in fit.pools)
    if all(pool.scaling.owned for pool in fit.pools) and len(own) < most:
        return Start("waits", f"{len(own)} of {counted(most, 'machine')} are there, and too few GPUs are free")
    if len(own) + further > most:
        return Start("waits", f"{counted(len(own), 'node')} of at most {most} are up, and too few GPUs are free")
    return Start("minutes", "no node has room" if own else "no node is up")


def waits_for_node(pod: Object) -> bool:
    """Whether it has GPUs and no node yet."""
    return at(pod, "status", "phase") == "Pending" and not on_node(pod) and bool(gpu_limit(pod["spec"]))


def node_state(node: Object, pool: PoolOffer, used: int) -> str:
    """What a node of the pool does now, or what it waits for; ``used``: GPUs of its pods."""
    conditions = {each["type"]: each["status"] for each in at(node, "status", "conditions") or ()}
    if node["metadata"].get("deletionTimestamp"):
        return "terminating"
    if conditions.get("Ready") != "True":
        return "not ready"
    if broken_nodes.is_out_of_service(node):
        return "out of service"
    if broken_nodes.is_starting(node, [pool.gpus.resource]):
        return "waits for its GPU driver"
    if problem := broken_nodes.problem(node, broken_nodes.created_with(node, pool.devices)):
        return problem
    if at(node, "spec", "unschedulable"):
        return "cordoned"
    return "in use" if used else "idle"


def gpus_of(node: Object) -> int:
    """The GPUs that pods of the node can have."""
    return gpu_count(at(node, "status", "allocatable") or {})


def pool_of(node: Object) -> str:
    """The pool of a node with GPUs."""
    return str(node["metadata"]["labels"][POOL_LABEL])


def gpus_in_use(pods: Sequence[Object]) -> Counter[str]:
    """Name of a node → GPUs that these pods use there."""
    used: Counter[str] = Counter()
    for pod in filter(on_node, pods):
        used[pod["spec"]["nodeName"]] += gpu_limit(pod["spec"])
    return used


def _room(nodes: Sequence[Object], gpus: int, pods: Sequence[Object], pools: Mapping[str, PoolOffer]) -> int:
    """How many pods with so many GPUs the nodes of these ``pools`` have room for."""
    used = gpus_in_use(pods)
    idle = (node for node in nodes if node_state(node, pools[pool_of(node)], 0) == "idle")
    free = [gpus_of(node) - used[node["metadata"]["name"]] for node in idle]
    return sum(max(0, count) // gpus for count in free)


def _blocked(names: set[str], usage: Usage) -> Start | None:
    """What a pod waits for that may use all of the pools, and for which the autoscaler cannot add a node."""
    for pod in usage.pods:
        if waits_for_node(pod) and names <= {*allowed_pools(pod)}:
            reason = of_pod(pod, usage.events, View(nodes=usage.nodes))
            if reason.kind in _BLOCKED:
                return Start("waits", reason.summary)
    return None


def _left(quota: Object, resource: str) -> int | None:
    """GPUs that a ResourceQuota leaves; ``None`` if it limits none."""
    hard, used = (at(quota, "status", each, f"requests.{resource}") for each in ("hard", "used"))
    return None if hard is None else int(quantity(hard) - quantity(used or "0"))
