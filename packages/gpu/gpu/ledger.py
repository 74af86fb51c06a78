"""What a job costs at list prices: while its programs run, while its nodes are provisioned, and while they are idle.

A pod pays for its share of a node's GPUs, at the prices that the cluster publishes now. Pods that were deleted with
their node (a reclaimed spot node, for example) count as far as events still list them (``finished_pods``). The start
of a node that was deleted, or that the user may not list, is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at

Object = Mapping[str, Any]
_SECONDS_PER_HOUR: Final = 3600


@dataclass(frozen=True, kw_only=True)
class GpuCost:
    """US dollars, and hours of one GPU.

    ``running``: containers ran. ``provisioning``: their nodes existed and they did not run yet. ``idle``: until
    scale-down removes their nodes, at most. ``notes`` say what is not counted; ``whole``: no pod is left out.
    """

    gpu_hours: float = 0.0
    running: float = 0.0
    provisioning: float = 0.0
    idle: float = 0.0
    notes: tuple[str, ...] = ()
    whole: bool = True

    @property
    def so_far(self) -> float:
        """All parts but idle time, which is still to come."""
        return self.running + self.provisioning

    @property
    def total(self) -> float:
        """All parts."""
        return self.so_far + self.idle

    def __add__(self, other: GpuCost) -> GpuCost:
        return GpuCost(
            gpu_hours=self.gpu_hours + other.gpu_hours,
            running=self.running + other.running,
            provisioning=self.provisioning + other.provisioning,
            idle=self.idle + other.idle,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            whole=self.whole and other.whole,
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
    return of_pods([*pods, *deleted], nodes, offer, now) + GpuCost(notes=notes, whole=lost <= 0)


def hourly_usd(pods: Iterable[Object], nodes: Sequence[Object], offer: Offer) -> float | None:
    """What these pods cost per hour now, by their share of the nodes that they are on; ``None`` if one is unknown."""
    pools = {pool.name: pool for pool in offer.pools}
    by_name = {node["metadata"]["name"]: node for node in nodes}
    placed = [(pod, _pool(pod, by_name.get(pod["spec"]["nodeName"]), pools)) for pod in pods if on_node(pod)]
    costs = [
        None if pool is None or pool.nodes.hourly_usd is None else _share(pod, pool) * pool.nodes.hourly_usd
        for pod, pool in placed
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
        if pool is None or pool.nodes.hourly_usd is None:
            name = "an unknown pool" if pool is None else f"pool {pool.name}"
            total += GpuCost(notes=(f"node price of {name} unknown; its pods are not included",), whole=False)
            total += _while_up(pod, node, 0.0, now)
            continue
        hourly = pool.nodes.hourly_usd * _share(pod, pool)
        total += _while_up(pod, node, hourly, now)
        if pool.nodes.price_at_most:
            total += GpuCost(notes=(f"node price of pool {pool.name} not known exactly; its upper limit counts",))
        if pool.scaling.unneeded_minutes is None:
            total += GpuCost(notes=("scale-down delay unknown on this cloud; idle time not included",))
        else:
            idle_by_node[node_name] = max(idle_by_node.get(node_name, 0.0), hourly * pool.scaling.unneeded_minutes / 60)
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
        gpu_hours=running * gpu_limit(pod["spec"]),
        running=running * hourly,
        provisioning=_hours(node_created if for_pod else scheduled, started or ended or now) * hourly,
        notes=(unknown_start,) if node is None else (),
    )


def _pool(pod: Object, node: Object | None, pools: Mapping[str, PoolOffer]) -> PoolOffer | None:
    """The pool in its node's label; of a deleted node, the most expensive pool that the pod may use."""
    if node is not None:
        return pools.get(at(node, "metadata", "labels", POOL_LABEL))
    allowed = [pools[name] for name in allowed_pools(pod) if name in pools]
    return max(allowed, key=lambda pool: pool.nodes.hourly_usd or 0, default=None)


def allowed_pools(pod: Object) -> list[str]:
    """The pools that a pod selects; empty if it names none."""
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
    return min(1.0, gpu_limit(pod["spec"]) / pool.allocatable_gpus)


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


# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/controller_utils.go
_CREATED: Final = re.compile(r"Created pod: (\S+)")
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/schedule_one.go
_SCHEDULED: Final = re.compile(r"Successfully assigned \S+ to (\S+)")
# What a kubelet says as it ends or rejects a pod, in an event and in the pod's status:
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/eviction/eviction_manager.go (evictPod),
# https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/kubelet.go (rejectPod)
_BY_KUBELET: Final = re.compile(
    "Evicted|UnexpectedAdmissionError|OutOf.+|NodeAffinity|NodeShutdown|TopologyAffinityError|SysctlForbidden|AppArmor"
)
_ENDING: Final = ("Killing", "NodeNotReady", "TaintManagerEviction", "Evicted", "Preempted", "Preempting", "Drained")


def finished_pods(job: Object, pods: Sequence[Object], events: Sequence[Object]) -> list[dict[str, Any]]:
    """The job's pods that had a node and are no longer among ``pods``, as manifests with what the ledger reads, and the
    reason why their kubelet ended them.

    The Job's events list the pods that it created; each pod's events say when it was scheduled and started. Events are
    kept for an hour, and the Job controller combines them when it creates many pods at once:
    https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (``--event-ttl``).
    Without an event for its end, a pod counts until the job created its successor or completed.
    """
    existing = {pod["metadata"]["name"] for pod in pods}
    uid = job["metadata"].get("uid")
    created_pods = sorted(
        (_when(event), match[1])
        for event in events
        if at(event, "involvedObject", "uid") == uid
        and event.get("reason") == "SuccessfulCreate"
        and (match := _CREATED.fullmatch(event.get("message") or ""))
    )
    finished = []
    for created, name in created_pods:
        if name not in existing:
            own = [each for each in events if _about(each, job["metadata"].get("namespace"), name)]
            # The successor has the same index, if the Job is indexed: <job>-<index>-<random>.
            successor = next(
                (when for when, other in created_pods if when > created and _stem(other) == _stem(name)), None
            )
            finished += _rebuilt(job, name, created, own, successor)
    return finished


def replaced_pods(job: Object, pods: Sequence[Object], deleted: Sequence[Object]) -> int:
    """How many of the job's ``deleted`` pods have a successor. Pods of a Job that runs several without an index cannot
    be told apart; none of them counts."""
    spec = job["spec"]
    if spec.get("completionMode") != "Indexed" and (spec.get("parallelism") or 1) > 1:
        return 0
    successors = {(pod["metadata"].get("creationTimestamp") or "", _stem(pod["metadata"]["name"])) for pod in pods}
    return sum(
        any(
            when >= each["metadata"]["creationTimestamp"] and stem == _stem(each["metadata"]["name"])
            for when, stem in successors
        )
        for each in deleted
    )


def _rebuilt(
    job: Object, name: str, created: str, events: Sequence[Object], successor: str | None
) -> Iterator[dict[str, Any]]:
    scheduled = [(_when(each), match[1]) for each in events if (match := _SCHEDULED.match(each.get("message") or ""))]
    if not scheduled:
        return
    (when, node), started = scheduled[0], _first(events, "Started")
    ended = _first(events, *_ENDING) or successor or at(job, "status", "completionTime")
    ran = {**({"startedAt": started} if started else {}), **({"finishedAt": ended} if ended else {})}
    state = {"terminated" if ended else "running": ran} if ran else {}
    reports = [each for each in events if _by_kubelet(each) and _BY_KUBELET.fullmatch(str(each.get("reason")))]
    report = {key: reports[-1].get(key) for key in ("reason", "message")} if reports else {}
    yield {
        "metadata": {"name": name, "creationTimestamp": created},
        "spec": {**job["spec"]["template"]["spec"], "nodeName": node},
        "status": {
            "phase": "Failed",
            **report,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": when}],
            "containerStatuses": [{"state": state}],
        },
    }


def _stem(name: str) -> str:
    return name.rpartition("-")[0]


def _about(event: Object, namespace: str | None, name: str) -> bool:
    about = event.get("involvedObject") or {}
    return (about.get("kind"), about.get("name"), about.get("namespace")) == ("Pod", name, namespace)


def _by_kubelet(event: Object) -> bool:
    """Karpenter writes events of the same reason about pods that it drains."""
    return "kubelet" in (at(event, "source", "component"), event.get("reportingComponent"))


def _first(events: Sequence[Object], *reasons: str) -> str | None:
    return min((_when(each) for each in events if each.get("reason") in reasons), default=None)


def _when(event: Object) -> str:
    """When it happened first; the two ways of writing events leave the other's field empty."""
    return str(event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"])
