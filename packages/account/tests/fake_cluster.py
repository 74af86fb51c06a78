"""A cluster in a few objects whose time goes by when somebody sleeps: enough for ``prove``, and ways to break it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from facts.concepts.kubernetes import RESOURCES, gpu_limit
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from gpu.cluster import ClusterClient, ClusterError, Reply

Object = dict[str, Any]

START: Final = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)
SCALE_UP_SECONDS: Final = 15
JOIN_SECONDS: Final = 90
DRIVER_SECONDS: Final = 150
REGISTERED_SECONDS: Final = 170
RUN_SECONDS: Final = 20
REMOVE_SECONDS: Final = 60
END_SECONDS: Final = 20
_UNREGISTERED: Final = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
"""Until Karpenter has written the pool's taints:
https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/registration.go"""
_CANDIDATE: Final = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
"""https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.34.0/cluster-autoscaler/utils/taints/taints.go"""


@dataclass(kw_only=True)
class Faults:
    """What is wrong with the cluster. ``event``: what its autoscaler says of each pod, instead of adding a node."""

    no_driver: bool = False
    no_taints: bool = False
    autoscaler_dead: bool = False
    event: tuple[str, str] | None = None
    labels: dict[str, str | None] = field(default_factory=dict)
    never_ready: bool = False
    stays: bool = False
    system_pod: bool = False
    pod_of_another: bool = False
    nodes_at_once: int = 1
    failing_program: bool = False
    refuses_jobs: bool = False
    more_memory: int = 0
    """MiB that each node has beyond what is published."""
    quota: str = ""
    """Of the namespace: what the API server says of a pod's creation."""
    hidden: tuple[str, ...] = ()
    """Paths that the user may not list."""
    output: tuple[str, ...] = ()
    """Of each job, in place of ``nvidia-smi``'s."""


class FakeCluster(ClusterClient):
    """One namespace, and GPU pools that scale from zero."""

    others = 0
    among = ""
    option = ""

    def __init__(self, offer: Offer, faults: Faults | None = None) -> None:
        self.context, self.namespace = "here", "default"
        self.published, self.faults, self.now = offer, faults or Faults(), START
        self.jobs: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.nodes: dict[str, Object] = {}
        self.events: list[Object] = []
        self.billed: list[tuple[PoolOffer, datetime, str]] = []
        self.removed: dict[str, datetime] = {}
        self.user = "developer"
        self.unreachable = False
        self.deleted: list[str] = []
        self.on_sleep: Any = lambda: None

    # The client's interface.

    def offer(self) -> Offer:
        return self.published

    def get(self, path: str, **query: str) -> Object:
        return {"gitVersion": "v1.34.4"}

    def list(
        self, path: str, *, page: int = 0, keep: Callable[[Object], Object | None] = lambda item: item, **query: str
    ) -> list[Object]:
        items = self._items(path, query)
        if items is None:
            raise ClusterError(f"{path}: forbidden", 403)
        return items

    def list_if_allowed(
        self, path: str, *, page: int = 0, keep: Callable[[Object], Object | None] = lambda item: item, **query: str
    ) -> list[Object] | None:
        return self._items(path, query)

    def _items(self, path: str, query: dict[str, str]) -> list[Object] | None:
        if self.unreachable:
            raise ClusterError("no answer from the cluster")
        if path in self.faults.hidden:
            return None
        label, _, value = query.get("labelSelector", "").partition("=")
        kinds = {"/jobs": self.jobs, "/pods": self.pods, "/nodes": self.nodes}
        by_name = next((each for end, each in kinds.items() if path.endswith(end)), None)
        found = [*by_name.values()] if by_name is not None else self.events if path.endswith("default/events") else []
        if label and by_name is not None:
            labels = ((each, each["metadata"].get("labels") or {}) for each in found)
            found = [each for each, own in labels if label in own and value in ("", own[label])]
        if node := query.get("fieldSelector", "").partition("spec.nodeName=")[2]:
            found = [each for each in found if each["spec"].get("nodeName") == node]
        return copy.deepcopy(found)

    def create(self, manifest: Object) -> Reply:
        if manifest["kind"] == "SelfSubjectReview":
            return Reply({"status": {"userInfo": {"username": self.user}}})
        if self.faults.refuses_jobs:
            raise ClusterError("jobs are refused by a policy", 403)
        name = manifest["metadata"]["name"]
        stored = copy.deepcopy(manifest)
        stored["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": _text(self.now)}
        self.jobs[name] = {**stored, "status": {}}
        if self.faults.quota:
            self._event(
                stored, "FailedCreate", f"Error creating: pods is forbidden: exceeded quota: {self.faults.quota}"
            )
        for index in range(0 if self.faults.quota else stored["spec"].get("completions", 1)):
            self._add_pod(stored, index)
        return Reply(stored)

    def delete(self, path: str) -> None:
        if self.unreachable:
            raise ClusterError("no answer from the cluster")
        name = path.rpartition("/")[2]
        self.deleted.append(name)
        self._drop(name)

    def log(self, namespace: str, pod: str, since: str | None = None) -> list[tuple[str, str]]:
        lines = ["| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2 |", "| 0 Tesla T4 |"]
        return [
            ("", line)
            for line in (["nvidia-smi: not found"] if self.faults.failing_program else self.faults.output or lines)
        ]

    # The clock's interface.

    def sleep(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.now += timedelta(seconds=1)
            self._step()
        self.on_sleep()

    def clock(self) -> Clock:
        return Clock(self)

    # What the machines cost, by the test's own count: from their order to their end.

    def usd(self) -> float:
        return sum(
            (self.removed.get(name, self.now) - ordered).total_seconds() / 3600 * (pool.nodes.hourly_usd or 0)
            for pool, ordered, name in self.billed
        )

    # What happens each second.

    def _step(self) -> None:
        for name, job in [*self.jobs.items()]:
            created = _time(job["metadata"]["creationTimestamp"])
            late = self._age(created) - job["spec"]["activeDeadlineSeconds"]
            if not _ended(job) and late >= 0:
                for pod in [*self._pods_of(job)]:
                    self.pods.pop(pod["metadata"]["name"])
                # Once its pods are gone: https://kubernetes.io/docs/concepts/workloads/controllers/job/#termination-of-job-pods
                if late >= END_SECONDS:
                    self._end(job, "Failed", "DeadlineExceeded")
            ended = _ended(job)
            if ended and self._age(_time(ended)) >= job["spec"]["ttlSecondsAfterFinished"]:
                self._drop(name)
        for pod in [*self.pods.values()]:
            self._step_pod(pod)
        for node in [*self.nodes.values()]:
            self._step_node(node)

    def _step_pod(self, pod: Object) -> None:
        if pod["metadata"]["namespace"] != self.namespace or pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        created = _time(pod["metadata"]["creationTimestamp"])
        if "nodeName" not in pod["spec"]:
            fitting = [node for node in self.nodes.values() if self._fits(pod, node)]
            if fitting:
                pod["spec"]["nodeName"] = fitting[0]["metadata"]["name"]
                pod["status"]["started"] = _text(self.now)
                return
            message = (
                f"0/{len(self.nodes) + 1} nodes are available: untolerated taint(s), Insufficient. preemption: no."
            )
            pod["status"]["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            ]
            if self._age(created) == SCALE_UP_SECONDS and gpu_limit(pod["spec"]):
                self._scale_up(pod)
            return
        pod["status"]["phase"] = "Running"
        started = _time(pod["status"]["started"])
        pod["status"]["containerStatuses"] = [{"state": {"running": {"startedAt": _text(started)}}}]
        if gpu_limit(pod["spec"]) and self._age(started) >= RUN_SECONDS:
            failed = self.faults.failing_program
            pod["status"]["phase"] = "Failed" if failed else "Succeeded"
            state = {"startedAt": _text(started), "finishedAt": _text(self.now), "exitCode": 127 if failed else 0}
            pod["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": state}}]
            (job,) = (each for each in self.jobs.values() if pod in [*self._pods_of(each)])
            if failed or all(_pod_ended(each) for each in self._pods_of(job)):
                self._end(job, "Failed" if failed else "Complete", "BackoffLimitExceeded" if failed else "")

    def _scale_up(self, pod: Object) -> None:
        pool = next((each for each in self.published.pools if self._selects(pod, each)), None)
        if self.faults.autoscaler_dead:
            return
        if pool is None:
            self._event(pod, "NotTriggerScaleUp", "pod didn't trigger scale-up: 2 Insufficient nvidia.com/gpu")
        elif self.faults.event is not None:
            self._event(pod, *self.faults.event)
        else:
            self._event(pod, "TriggeredScaleUp", f"pod triggered scale-up: [{{{pool.name} 0->1 (max: 3)}}]")
            for number in range(self.faults.nodes_at_once):
                self._add_node(pool, f"{pool.name}-{len(self.billed)}-{number}")

    def _add_node(self, pool: PoolOffer, name: str) -> None:
        self.billed.append((pool, self.now, name))
        labels = {**pool.nodes.labels, **pool.nodes.cloud_labels, **self.faults.labels}
        machine = {"node.kubernetes.io/instance-type": pool.nodes.machine_types[0]}
        self.nodes[name] = {
            "metadata": {
                "name": name,
                "ordered": _text(self.now),
                "labels": {key: value for key, value in {**labels, **machine}.items() if value is not None},
                "creationTimestamp": _text(self.now + timedelta(seconds=JOIN_SECONDS)),
            },
            "pool": pool,
            "spec": {"taints": [_UNREGISTERED]},
            "status": {"conditions": [{"type": "Ready", "status": "False", "message": "cni plugin not initialized"}]},
        }

    def _step_node(self, node: Object) -> None:
        pool, name = node["pool"], node["metadata"]["name"]
        age = self._age(_time(node["metadata"]["ordered"]))
        if age == JOIN_SECONDS and not self.faults.never_ready:
            node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            node["status"]["allocatable"] = _allocatable(pool, 0, self.faults.more_memory)
            if self.faults.system_pod:
                self.add_pod("kube-system", "metrics-server-7d", name, gpus=0)
        if age == DRIVER_SECONDS and not self.faults.no_driver and not self.faults.never_ready:
            node["status"]["allocatable"] = _allocatable(pool, pool.allocatable_gpus, self.faults.more_memory)
        if age == REGISTERED_SECONDS:
            node["spec"]["taints"] = [] if self.faults.no_taints else [vars(taint) for taint in pool.nodes.taints]
        busy = [pod for pod in self.pods.values() if pod["spec"].get("nodeName") == name and not _pod_ended(pod)]
        if busy or age < REGISTERED_SECONDS:
            node["idle"] = self.now
            if self.faults.pod_of_another and not any(pod["metadata"]["namespace"] == "team" for pod in busy):
                self.add_pod("team", "training-0", name, gpus=1)
        elif self._age(node["idle"]) >= SCALE_UP_SECONDS and node["spec"]["taints"][-1:] != [_CANDIDATE]:
            node["spec"]["taints"] = [*node["spec"]["taints"], _CANDIDATE]
        unneeded = 60 * (pool.scaling.unneeded_minutes or 10) + REMOVE_SECONDS
        if not self.faults.stays and self._age(node.get("idle", self.now)) >= unneeded:
            self.removed[name] = self.now
            del self.nodes[name]

    def add_node(self, name: str, pod: str) -> None:
        """A node of the first pool that is up already, with a GPU pod of somebody else."""
        self._add_node(self.published.pools[0], name)
        self.billed.clear()
        self.sleep(REGISTERED_SECONDS - 1)
        namespace, _, name_of_pod = pod.partition("/")
        self.add_pod(namespace, name_of_pod, name, gpus=1)
        self.sleep(2)

    def add_pod(self, namespace: str, name: str, node: str, *, gpus: int) -> None:
        """A running pod of somebody else."""
        limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
        self.pods[name] = {
            "metadata": {"name": name, "namespace": namespace, "uid": name, "creationTimestamp": _text(self.now)},
            "spec": {"nodeName": node, "containers": [{"name": "main", "resources": limits}]},
            "status": {"phase": "Running"},
        }

    def _add_pod(self, job: Object, index: int) -> None:
        template, name = job["spec"]["template"], f"{job['metadata']['name']}-{index}"
        labels = {**(template["metadata"].get("labels") or {})}
        labels["batch.kubernetes.io/controller-uid"] = job["metadata"]["uid"]
        self.pods[name] = {
            "metadata": {
                "name": name, "namespace": self.namespace, "uid": f"uid-{name}", "labels": labels,
                "creationTimestamp": _text(self.now),
            },
            "spec": copy.deepcopy(template["spec"]),
            "status": {"phase": "Pending"},
        }  # fmt: skip

    def _pods_of(self, job: Object) -> Iterator[Object]:
        for pod in self.pods.values():
            if (pod["metadata"].get("labels") or {}).get("batch.kubernetes.io/controller-uid") == job["metadata"][
                "uid"
            ]:
                yield pod

    def _selects(self, pod: Object, pool: PoolOffer) -> bool:
        values = _selected(pod)
        return pool.name in values if values else pool.allocatable_gpus >= gpu_limit(pod["spec"])

    def _fits(self, pod: Object, node: Object) -> bool:
        ready = any(each["status"] == "True" for each in node["status"]["conditions"])
        used = sum(
            gpu_limit(other["spec"])
            for other in self.pods.values()
            if other["spec"].get("nodeName") == node["metadata"]["name"] and not _pod_ended(other)
        )
        free = sum(int(node["status"].get("allocatable", {}).get(each, 0)) for each in RESOURCES.values()) - used
        selected = node["metadata"]["labels"].get(POOL_LABEL) in _selected(pod)
        keys = {each["key"] for each in pod["spec"].get("tolerations") or ()}
        tolerated = all(
            taint["key"] in keys for taint in node["spec"]["taints"] if taint["effect"] != "PreferNoSchedule"
        )
        return ready and selected and tolerated and gpu_limit(pod["spec"]) <= free

    def _event(self, of: Object, reason: str, message: str) -> None:
        about = {"kind": of.get("kind", "Pod"), "name": of["metadata"]["name"], "namespace": self.namespace}
        about["uid"] = of["metadata"]["uid"]
        when = _text(self.now)
        self.events.append(
            {
                "metadata": {"name": f"e{len(self.events)}", "creationTimestamp": when},
                "involvedObject": about, "reason": reason, "message": message, "lastTimestamp": when,
            }
        )  # fmt: skip

    def _end(self, job: Object, kind: str, reason: str) -> None:
        when = _text(self.now)
        job["status"]["conditions"] = [
            {"type": kind, "status": "True", "reason": reason, "message": reason, "lastTransitionTime": when}
        ]

    def _drop(self, name: str) -> None:
        job = self.jobs.pop(name, None)
        if job is not None:
            for pod in [*self._pods_of(job)]:
                self.pods.pop(pod["metadata"]["name"])

    def _age(self, since: datetime) -> float:
        return (self.now - since).total_seconds()


class Clock:
    """The cluster's own."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def now(self) -> datetime:
        return self._cluster.now

    def sleep(self, seconds: float) -> None:
        self._cluster.sleep(seconds)


def _allocatable(pool: PoolOffer, gpus: int, more_memory: int) -> Object:
    memory = (pool.memory_mib or 0) + more_memory
    room = {"cpu": f"{pool.milli_cpu}m", "memory": f"{memory}Mi", "ephemeral-storage": f"{pool.disk_mib}Mi"}
    return {**room, **({pool.gpus.resource: str(gpus)} if gpus else {})}


def _selected(pod: Object) -> list[str]:
    selector = (pod["spec"].get("nodeSelector") or {}).get(POOL_LABEL)
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms") or ()
    named = [value for term in terms for each in term["matchExpressions"] if each["key"] == POOL_LABEL
             for value in each["values"]]  # fmt: skip
    return [selector] if selector else named


def _ended(job: Object) -> str:
    return next((each["lastTransitionTime"] for each in job["status"].get("conditions") or ()), "")


def _pod_ended(pod: Object) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def _text(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


@functools.cache
def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
