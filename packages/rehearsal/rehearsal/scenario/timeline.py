"""Observations of a rehearsal: every node, pod and event, with the moment when each state was first observed.

Moments are seconds since the timeline began. Records are immutable; an observation replaces them, so that readers in
other threads always see a consistent one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar

from facts.concepts.kubernetes import GPU_PRESENT_LABEL, RESOURCES, gpu_limit, pod_requests, quantity
from facts.concepts.pool import POOL_LABEL, ROLE_LABEL, SIZE_KEY
from rehearsal.simulation import (
    MACHINE_GPUS,
    NO_DEVICE_PLUGIN,
    NO_DRIVER,
    NO_NODE,
    NOT_SCALED,
    OF_NO_CLOUD,
    PROGRAM_FAILED,
)

Kind = Literal["Node", "Pod", "Event"]
_Record = TypeVar("_Record")
_LOOK_SECONDS: Final = 0.05
_LONGEST: Final = 5
AUTOSCALER: Final = "karpenter"
_NOT_TRIGGERED: Final = "NotTriggerScaleUp"
"""https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/processors/status/eventing_scale_up_processor.go"""
NO_POOL: Final = "(no pool)"
MACHINE_REASONS: Final = frozenset({NO_DRIVER, NO_DEVICE_PLUGIN, NOT_SCALED, NO_NODE, PROGRAM_FAILED})
_STARTING: Final = ("karpenter.sh/unregistered", "rehearsal.gpucluster.dev/unseen")
"""Taints of a node that its autoscaler has not initialised."""
_PREEMPTION: Final = re.compile(r" (no new claims to deallocate|preemption: )")
"""What the scheduler appends to the reason why a pod fits nowhere:
https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/framework/types.go#L787 (``FitError.Error``)."""
_NO_POD: Final = "FailedCreate"
"""https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/controller_utils.go"""
_STANDING_REASONS: Final = frozenset({NO_NODE, PROGRAM_FAILED})
"""Problems that are reported even if their pod or node does not exist."""

# Node agents (DaemonSets; mirrors of static pods, owned by their Node) never keep a node from being removed.
NODE_AGENTS: Final = frozenset({"DaemonSet", "Node"})


@dataclass(frozen=True)
class NodeRecord:
    """One node's life.

    ``gpu_pool``: whether it belongs to a GPU pool, even if it advertises no GPU now; ``most_gpus``: the highest
    number that it advertised. ``registered``: whether its autoscaler has initialised it; labels and taints may be
    missing before. ``allocatable``: in cores, bytes and pieces. ``leaving``: when its deletion began. ``stamped``: its
    creation by the API server's clock, as Kubernetes writes it.
    """

    name: str
    pool: str
    role: str | None
    size: int
    gpu_pool: bool
    machine_type: str
    created: float
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    ready: float | None = None
    cpus: float = 0.0
    gpus: int = 0
    gpus_ready_at: float | None = None
    most_gpus: int = 0
    registered: bool = False
    allocatable: Mapping[str, float] = field(default_factory=dict)
    leaving: float | None = None
    deleted: float | None = None
    uid: str = ""
    stamped: str = ""

    def exists_at(self, moment: float) -> bool:
        """Whether the node existed (and was billed) at ``moment``."""
        return self.created <= moment and (self.deleted is None or moment < self.deleted)

    def stays_at(self, moment: float) -> bool:
        """Whether the node existed at ``moment`` and was not being deleted."""
        return self.exists_at(moment) and (self.leaving is None or moment < self.leaving)

    def leaves(self) -> bool:
        """Whether its deletion has begun or is announced by Karpenter's taint: its pods will be deleted."""
        return self.leaving is not None or any(taint.startswith("karpenter.sh/disrupted") for taint in self.taints)


@dataclass(frozen=True)
class PodRecord:
    """One pod's life. ``workload``: the name of its Job, else its own; ``owner``: its controller's kind.

    ``requests`` are those of the whole pod, in cores, bytes and pieces. ``disrupted`` is the reason of its
    condition ``DisruptionTarget``, if it did not end by itself.
    """

    uid: str
    namespace: str
    name: str
    workload: str
    owner: str | None
    gpus: int
    created: float
    labels: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, float] = field(default_factory=dict)
    phase: str = "Pending"
    node: str | None = None
    scheduled: float | None = None
    running: float | None = None
    finished: float | None = None
    deleted: float | None = None
    disrupted: str = ""

    @property
    def system(self) -> bool:
        """Whether it is a system pod that keeps its node from being removed: no user's pod, which has GPUs or is in the
        namespace default, and no node agent."""
        return self.system_namespace and self.owner not in NODE_AGENTS and not self.gpus

    @property
    def system_namespace(self) -> bool:
        """Whether it is a system pod, node agents included."""
        return self.namespace != "default"

    @property
    def waited(self) -> float | None:
        """Seconds from submission to running; ``None`` if it never ran."""
        return None if self.running is None else self.running - self.created


@dataclass(frozen=True)
class EventRecord:
    """One Kubernetes event: about ``kind`` ``name``, reported by ``source`` (a component's name).

    ``pool`` is the GPU pool that the event names in a label, empty for most.
    """

    at: float
    kind: str
    name: str
    type: str
    reason: str
    message: str
    source: str
    pool: str = ""

    @property
    def machines(self) -> bool:
        """Whether machines are the cause: they are unusable, or the cloud refuses to start them."""
        return self.reason in MACHINE_REASONS

    @property
    def unfit(self) -> bool:
        """Whether an autoscaler reports that no pool fits a pod: Karpenter by a warning, cluster-autoscaler by a normal
        event."""
        return self.reason == _NOT_TRIGGERED or (self.source == AUTOSCALER and self.type == "Warning")


class Timeline:
    """The record of one rehearsal. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, own_nodes_only: bool = False) -> None:
        """Begin now. ``own_nodes_only``: leave out nodes without the label of a pool, which others may have made."""
        self._clock = clock
        self._own_nodes_only = own_nodes_only
        self._zero = clock()
        self._lock = threading.Lock()
        self._nodes: dict[str, NodeRecord] = {}
        self._pods: dict[str, PodRecord] = {}
        self._events: dict[str, EventRecord] = {}
        self._changed_at = self._zero

    def now(self) -> float:
        """Seconds since the timeline began."""
        return self._clock() - self._zero

    @property
    def nodes(self) -> tuple[NodeRecord, ...]:
        """Every node observed, oldest first."""
        with self._lock:
            return tuple(self._nodes.values())

    @property
    def pods(self) -> tuple[PodRecord, ...]:
        """Every pod observed, oldest first."""
        with self._lock:
            return tuple(self._pods.values())

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """Every event observed, oldest first."""
        with self._lock:
            return tuple(self._events.values())

    def observe(self, kind: Kind, change: str, item: Mapping[str, Any]) -> None:
        """Record one watch event: ``change`` is ADDED, MODIFIED or DELETED, ``item`` the object."""
        moment, key = self.now(), str(item["metadata"]["uid"])
        if kind == "Node" and self._own_nodes_only and POOL_LABEL not in (item["metadata"].get("labels") or {}):
            return
        with self._lock:
            if kind == "Node":
                self._record(self._nodes, key, _node(self._nodes.get(key), change, item, moment))
            elif kind == "Pod":
                self._record(self._pods, key, _pod(self._pods.get(key), change, item, moment))
            elif change != "DELETED":
                self._events[key] = _event(item, moment)

    def _record(self, records: dict[str, _Record], key: str, record: _Record) -> None:
        if records.get(key) != record:
            self._changed_at = self._clock()
        records[key] = record

    def forget_absent(self, kind: Kind, present: Iterable[str]) -> None:
        """After a new list, mark objects that are not in it as deleted."""
        alive, moment = set(present), self.now()
        records: dict[str, Any] = {"Node": self._nodes, "Pod": self._pods}.get(kind, {})
        with self._lock:
            for key, record in records.items():
                if key not in alive and record.deleted is None:
                    records[key] = replace(record, deleted=moment)

    def wait_until(self, condition: Callable[[], bool], timeout: float, poll: Callable[[], None] | None = None) -> bool:
        """Wait for an observation that makes ``condition`` true; ``poll`` runs several times a second and may raise.

        False if no node and no pod has changed for ``timeout`` seconds, or after five times as long: a slow machine
        still makes progress, and a pod that restarts forever must not block.
        """
        began = self._clock()
        while True:
            if condition():
                return True
            quiet_since = max(began, self._changed_at)
            remaining = min(quiet_since + timeout, began + _LONGEST * timeout) - self._clock()
            if remaining <= 0:
                return False
            if poll is not None:
                poll()
            # Poll: thousands of pods cause tens of thousands of observations.
            time.sleep(min(remaining, _LOOK_SECONDS))

    def living_nodes(self) -> tuple[NodeRecord, ...]:
        """The nodes that exist now."""
        return tuple(node for node in self.nodes if node.deleted is None)

    def gpu_nodes_now(self) -> tuple[NodeRecord, ...]:
        """The GPU nodes that exist now."""
        return tuple(node for node in self.living_nodes() if node.gpu_pool)

    def pods_of(self, workload: str, namespace: str = "default") -> tuple[PodRecord, ...]:
        """The pods of one workload, oldest first."""
        return tuple(pod for pod in self.pods if pod.workload == workload and pod.namespace == namespace)

    def node_of(self, pod: PodRecord) -> NodeRecord | None:
        """The node that a pod was placed on: the one with that name at that time."""
        moment = pod.scheduled if pod.scheduled is not None else pod.created
        named = [node for node in self.nodes if node.name == pod.node]
        return next((node for node in named if node.exists_at(moment)), named[-1] if named else None)

    def count(self, pool: str, moment: float) -> int:
        """Nodes of a pool at a moment."""
        return sum(node.pool == pool and node.exists_at(moment) for node in self.nodes)

    def peak(self, pool: str) -> int:
        """The highest number of nodes of a pool, without those being deleted, which autoscalers do not count.

        ``MarkedForDeletion``: https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/state/cluster.go
        """
        mine = [node for node in self.nodes if node.pool == pool]
        return max((sum(other.stays_at(node.created) for other in mine) for node in mine), default=0)

    def lowest(self, pool: str, since: float, until: float) -> int:
        """The lowest number of nodes of a pool in a period."""
        mine = [node for node in self.nodes if node.pool == pool]
        moments = [
            since,
            *(node.deleted for node in mine if node.deleted is not None and since <= node.deleted <= until),
        ]
        return min(sum(node.exists_at(moment) for node in mine) for moment in moments)

    def series(self, pool: str, until: float, points: int) -> list[int]:
        """A pool's size over time: for each of ``points`` equal slices, its highest number of nodes."""
        mine = [node for node in self.nodes if node.pool == pool]
        width = until / points if points else 0.0
        sizes = []
        for index in range(points):
            start, end = index * width, (index + 1) * width
            moments = [start, *(node.created for node in mine if start <= node.created < end)]
            sizes.append(max(sum(node.exists_at(moment) for node in mine) for moment in moments))
        return sizes

    def why_pending(self, pod: str) -> str:
        """The newest warning about a pod; empty if there is none.

        Without the scheduler's suffix about preemption. A reason why no node can start takes precedence: scheduler and
        autoscaler do not know it. Then cluster-autoscaler's, as the scheduler only knows the nodes that there are.
        """
        own = [event for event in self.events if event.name == pod and (event.type == "Warning" or event.unfit)]
        by_machines = [event for event in own if event.machines]
        warnings = by_machines or [event for event in own if event.reason == _NOT_TRIGGERED] or own
        return _PREEMPTION.split(warnings[-1].message)[0] if warnings else ""

    def why_no_pod(self, kind: str, name: str) -> str:
        """Why a controller's last attempt to create a pod was refused; empty if none was. A Deployment's are made by a
        ReplicaSet, whose name ends in digits of its own."""
        made_by = "ReplicaSet" if kind == "Deployment" else kind

        def is_own(event: EventRecord) -> bool:
            return event.name.rpartition("-")[0] == name if kind == "Deployment" else event.name == name

        refusals = [e.message for e in self.events if e.reason == _NO_POD and e.kind == made_by and is_own(e)]
        return refusals[-1] if refusals else ""

    def why_failed(self, pod: str) -> str:
        """Why a pod's program did not do what it should, although the pod ran; empty if nothing is known of that."""
        return next((each.message for each in self.events if each.name == pod and each.reason == PROGRAM_FAILED), "")

    def unusable_machines(self) -> tuple[EventRecord, ...]:
        """What keeps pods from GPUs now: their node has no usable GPU, or nothing may start a node for them.

        Each problem once, even if it is reported for several pods or nodes; oldest first.
        """
        with self._lock:
            events = [event for event in self._events.values() if event.machines]
            if not events:
                return ()
            stuck = {pod.name for pod in self._pods.values() if pod.scheduled is None and pod.deleted is None}
            stuck |= {node.name for node in self._nodes.values() if node.gpus_ready_at is None and node.deleted is None}
        current = [event for event in events if event.name in stuck or event.reason in _STANDING_REASONS]
        return tuple({event.message: event for event in reversed(current)}.values())[::-1]

    def lacks_devices(self) -> bool:
        """Whether a node now has no usable GPU, because nothing in the cluster makes it usable."""
        return any(event.reason in (NO_DRIVER, NO_DEVICE_PLUGIN) for event in self.unusable_machines())

    def considered(self, pod: str) -> bool:
        """Whether the autoscaler has reported that no pool fits a pod; the scheduler reports before it."""
        return any(event.name == pod and event.unfit for event in self.events)


def _node(known: NodeRecord | None, change: str, item: Mapping[str, Any], moment: float) -> NodeRecord:
    labels: Mapping[str, str] = item["metadata"].get("labels") or {}
    annotations: Mapping[str, str] = item["metadata"].get("annotations") or {}
    status = item.get("status") or {}
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())
    # Before it is Ready, a node advertises its template's GPUs, not its driver's.
    allocatable = status.get("allocatable") or {}
    gpus = sum(int(allocatable.get(each, 0)) for each in RESOURCES.values()) if ready else 0
    node = known or NodeRecord(
        name=item["metadata"]["name"],
        pool=NO_POOL,
        role=None,
        size=0,
        gpu_pool=False,
        machine_type="",
        created=moment,
        uid=item["metadata"].get("uid", ""),
        stamped=item["metadata"].get("creationTimestamp", ""),
    )
    taints = (item.get("spec") or {}).get("taints") or ()
    return replace(
        node,
        pool=labels.get(POOL_LABEL, node.pool),
        role=labels.get(ROLE_LABEL, node.role),
        size=int(labels.get(SIZE_KEY, node.size)),
        gpu_pool=node.gpu_pool or GPU_PRESENT_LABEL in labels or SIZE_KEY in labels or MACHINE_GPUS in annotations,
        machine_type=labels.get("node.kubernetes.io/instance-type", node.machine_type),
        labels={key: value for key, value in labels.items() if key not in OF_NO_CLOUD},
        taints=tuple(f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in taints),
        ready=moment if ready and node.ready is None else node.ready,
        cpus=float(quantity((status.get("capacity") or {}).get("cpu", "0"))),
        gpus=gpus,
        most_gpus=max(gpus, node.most_gpus),
        registered=node.registered or not any(taint["key"].startswith(_STARTING) for taint in taints),
        allocatable=_amounts(status.get("allocatable")) or node.allocatable,
        gpus_ready_at=moment if gpus and node.gpus_ready_at is None else node.gpus_ready_at,
        leaving=moment if node.leaving is None and item["metadata"].get("deletionTimestamp") else node.leaving,
        deleted=moment if change == "DELETED" else None,
    )


def _pod(known: PodRecord | None, change: str, item: Mapping[str, Any], moment: float) -> PodRecord:
    metadata, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    if known is None:
        owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
        known = PodRecord(
            uid=metadata["uid"],
            namespace=metadata["namespace"],
            name=metadata["name"],
            workload=owner["name"] if owner and owner["kind"] == "Job" else metadata["name"],
            owner=owner["kind"] if owner else None,
            gpus=gpu_limit(spec),
            created=moment,
            labels=dict(metadata.get("labels") or {}),
            requests={name: float(amount) for name, amount in pod_requests(spec).items()},
        )
    phase = status.get("phase", "Pending")
    placed = spec.get("nodeName")
    started = phase in ("Running", "Succeeded", "Failed")
    ended = phase in ("Succeeded", "Failed")
    return replace(
        known,
        phase=phase,
        node=placed or known.node,
        scheduled=moment if placed and known.scheduled is None else known.scheduled,
        running=moment if started and known.running is None else known.running,
        finished=moment if ended and known.finished is None else known.finished,
        deleted=moment if change == "DELETED" else known.deleted,
        disrupted=next((c["reason"] for c in status.get("conditions") or () if c["type"] == "DisruptionTarget"), ""),
    )


def _amounts(resources: Mapping[str, Any] | None) -> dict[str, float]:
    return {name: float(quantity(str(value))) for name, value in (resources or {}).items()}


def _event(item: Mapping[str, Any], moment: float) -> EventRecord:
    about = item.get("involvedObject") or {}
    return EventRecord(
        at=moment,
        kind=about.get("kind", ""),
        name=about.get("name", ""),
        type=item.get("type") or "Normal",
        reason=item.get("reason") or "",
        message=item.get("message") or "",
        source=item.get("reportingComponent") or (item.get("source") or {}).get("component") or "",
        pool=(item["metadata"].get("labels") or {}).get(POOL_LABEL, ""),
    )
