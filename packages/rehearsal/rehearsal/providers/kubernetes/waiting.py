"""Waits until an object is ready or deleted, and reports what is missing after a timeout.

When an object is ready: https://github.com/pulumi/pulumi-kubernetes/tree/v4.34.2/provider/pkg/await (DaemonSets by
https://pkg.go.dev/sigs.k8s.io/cli-utils/pkg/kstatus/status). Kinds without a rule are ready once they exist.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from facts.concepts.counts import counted
from rehearsal.cluster.api import ApiError
from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.manifest import Kind, object_id
from rehearsal.providers.kubernetes.settings import ObjectClient

STORAGE_CLASS: Final = Kind("storage.k8s.io/v1", "StorageClass")
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io/v1", "EndpointSlice")


class NeverReadyError(Exception):
    """The object has failed for good; waiting longer is useless."""


Rule = Callable[[Properties, ObjectClient], "str | None"]
"""What is still missing, to follow "waiting for"; ``None`` when the object is ready. Raises ``NeverReadyError``."""


def _deployment(live: Properties, cluster: ObjectClient) -> str | None:
    status, replicas = _status(live), _spec(live).get("replicas", 1)
    if not _observed(live):
        return "the deployment controller to see the change"
    progressing = _condition(live, "Progressing")
    if progressing.get("status") == "False":
        return f"pods ([{progressing.get('reason')}] {progressing.get('message')})"
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    if updated < replicas or min(ready, updated) < replicas:
        return f"pods to become ready ({min(ready, updated)} of {replicas})"
    if status.get("replicas", 0) > updated:
        return f"{counted(status['replicas'] - updated, 'pod')} of the previous version to go"
    if replicas and _condition(live, "Available").get("status") != "True":
        return f"the minimum of available pods ({status.get('availableReplicas', 0)} of {replicas})"
    return None


def _daemon_set(live: Properties, cluster: ObjectClient) -> str | None:
    status = _status(live)
    if not _observed(live) or "desiredNumberScheduled" not in status:
        return "the daemon set controller to see the change"
    # No node to run on is ready: a pool of zero nodes is the normal state here.
    desired = status["desiredNumberScheduled"]
    for field, what in (
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ):
        if status.get(field, 0) < desired:
            return f"pods to be {what} ({status.get(field, 0)} of {desired})"
    return None


def _stateful_set(live: Properties, cluster: ObjectClient) -> str | None:
    status, spec = _status(live), _spec(live)
    if not _observed(live):
        return "the stateful set controller to see the change"
    replicas, generation = spec.get("replicas", 1), live["metadata"].get("generation", 1)
    on_delete = (spec.get("updateStrategy") or {}).get("type") == "OnDelete" and generation > 1
    fields = ("replicas", "readyReplicas") if on_delete else ("replicas", "readyReplicas", "currentReplicas")
    if any(status.get(field, 0) != replicas for field in fields):
        return f"pods to become ready ({status.get('readyReplicas', 0)} of {replicas})"
    if not on_delete and status.get("currentRevision") != status.get("updateRevision"):
        return "the new revision to become current"
    return None


def _job(live: Properties, cluster: ObjectClient) -> str | None:
    status = _status(live)
    failed = _condition(live, "Failed")
    if failed.get("status") == "True":
        raise NeverReadyError(f"the job failed: [{failed.get('reason')}] {failed.get('message')}")
    if _condition(live, "Complete").get("status") == "True":
        return None
    if "startTime" not in status:
        return "the job to start"
    counts = ", ".join(f"{status.get(field, 0)} {field}" for field in ("active", "succeeded", "failed"))
    return f"the job to complete ({counts})"


def _pod(live: Properties, cluster: ObjectClient) -> str | None:
    phase = _status(live).get("phase")
    if phase == "Succeeded" or _condition(live, "Ready").get("status") == "True":
        return None
    scheduled = _condition(live, "PodScheduled")
    if scheduled.get("status") != "True":
        return f"the pod to be scheduled ({scheduled.get('message') or 'the scheduler has not seen it'})"
    return f"the pod to become ready (phase {phase})"


def _service(live: Properties, cluster: ObjectClient) -> str | None:
    spec, place = _spec(live), live["metadata"]
    if spec.get("type") == "LoadBalancer" and not (_status(live).get("loadBalancer") or {}).get("ingress"):
        return "the cloud to give the load balancer an address"
    needs_no_pods = spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None" or not spec.get("selector")
    if needs_no_pods:
        return None
    slices = cluster.list(
        ENDPOINT_SLICE, place["namespace"], labelSelector=f"kubernetes.io/service-name={place['name']}"
    )
    endpoints = [endpoint for each in slices for endpoint in each.get("endpoints") or []]
    if any((endpoint.get("conditions") or {}).get("ready") for endpoint in endpoints):
        return None
    return "a ready pod that the service's selector matches"


def _ingress(live: Properties, cluster: ObjectClient) -> str | None:
    addresses = (_status(live).get("loadBalancer") or {}).get("ingress")
    return None if addresses else "the cloud to give the ingress an address"


def _claim(live: Properties, cluster: ObjectClient) -> str | None:
    phase = _status(live).get("phase")
    if phase == "Bound":
        return None
    name = _spec(live).get("storageClassName")
    try:
        mode = cluster.get(STORAGE_CLASS, name, None).get("volumeBindingMode") if name else None
    except ApiError as error:
        return f"the storage class {name} ({error})"
    if phase == "Pending" and mode == "WaitForFirstConsumer":
        return None
    return f"the claim to be bound (phase {phase}, storage class {name or 'none'})"


def _volume(live: Properties, cluster: ObjectClient) -> str | None:
    phase = _status(live).get("phase")
    return None if phase in ("Available", "Bound") else f"the volume to become available (phase {phase})"


def _quota(live: Properties, cluster: ObjectClient) -> str | None:
    counted = _status(live).get("hard") == _spec(live).get("hard")
    return None if counted else "the quota controller to see the limits"


def _secret(live: Properties, cluster: ObjectClient) -> str | None:
    filled = live.get("type") != "kubernetes.io/service-account-token" or live.get("data")
    return None if filled else "the service account's token"


def _replication_controller(live: Properties, cluster: ObjectClient) -> str | None:
    replicas, ready = _spec(live).get("replicas", 1), _status(live).get("readyReplicas", 0)
    return None if ready >= replicas else f"pods to become ready ({ready} of {replicas})"


def _has(type: str) -> Rule:
    def rule(live: Properties, cluster: ObjectClient) -> str | None:
        condition = _condition(live, type)
        if condition.get("status") == "True":
            return None
        return f"the condition {type} ({condition.get('message') or condition.get('reason') or 'not reported yet'})"

    return rule


_RULES: Final[Mapping[str, Rule]] = {
    "apiextensions.k8s.io/v1/CustomResourceDefinition": _has("Established"),
    "apiregistration.k8s.io/v1/APIService": _has("Available"),
    "apps/v1/DaemonSet": _daemon_set,
    "apps/v1/Deployment": _deployment,
    "apps/v1/StatefulSet": _stateful_set,
    "batch/v1/Job": _job,
    "networking.k8s.io/v1/Ingress": _ingress,
    "v1/PersistentVolume": _volume,
    "v1/PersistentVolumeClaim": _claim,
    "v1/Pod": _pod,
    "v1/ReplicationController": _replication_controller,
    "v1/ResourceQuota": _quota,
    "v1/Secret": _secret,
    "v1/Service": _service,
}


def _spec(live: Properties) -> dict[str, Any]:
    return live.get("spec") or {}


def _status(live: Properties) -> dict[str, Any]:
    return live.get("status") or {}


def _condition(live: Properties, type: str) -> dict[str, Any]:
    return next((each for each in _status(live).get("conditions") or [] if each.get("type") == type), {})


def _observed(live: Properties) -> bool:
    """Whether the status speaks of the current spec."""
    return int(_status(live).get("observedGeneration", 0)) >= int(live["metadata"].get("generation", 0))


DEFAULT_TIMEOUT_SECONDS: Final = 600.0
"""The real provider's: ten minutes for every kind."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_POD: Final = Kind("v1", "Pod")
_EVENT: Final = Kind("v1", "Event")
_MOST_MESSAGES: Final = 10
_INTERRUPTED: Final = "interrupted"


class NotReadyError(Exception):
    """The object did not become ready in time, or never will; ``live`` is what it looked like last."""

    def __init__(self, message: str, live: Properties) -> None:
        super().__init__(message)
        self.live = live


def until_ready(
    cluster: ObjectClient, kind: Kind, live: Properties, timeout: float, cancelled: threading.Event
) -> Properties:
    """The object once it is ready, by the rule of its kind. Patches are never waited for.

    Raises ``NotReadyError`` with what is missing, the pods' problems and the events.
    """
    rule = _RULES.get(str(kind))
    if rule is None or kind.patch:
        return live
    place, missing = live["metadata"], "the first answer"
    started = time.monotonic()
    for _ in _attempts(timeout, cancelled):
        live = cluster.get(kind, place["name"], place.get("namespace"))
        try:
            state = rule(live, cluster)
        except NeverReadyError as error:
            raise NotReadyError(_explain(cluster, kind, live, str(error)), live) from error
        if state is None:
            return live
        missing = state
    ended = _INTERRUPTED if cancelled.is_set() else f"not ready after {time.monotonic() - started:.0f} s"
    raise NotReadyError(_explain(cluster, kind, live, f"{ended}, waiting for {missing}"), live)


def until_gone(
    cluster: ObjectClient, kind: Kind, name: str, namespace: str | None, timeout: float, cancelled: threading.Event
) -> None:
    """Return once the object does not exist. Raises ``NotReadyError`` if it still does after ``timeout`` seconds."""
    live: Properties = {"metadata": {"name": name}}
    uid = None
    for _ in _attempts(timeout, cancelled):
        try:
            live = cluster.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return
            raise
        uid = uid or live["metadata"]["uid"]
        if live["metadata"]["uid"] != uid:
            return  # its controller made a new one of the same name
    finalizers = ", ".join(live["metadata"].get("finalizers") or []) or "none"
    ended = f"{_INTERRUPTED}, still there" if cancelled.is_set() else f"still there after {timeout:.0f} s"
    raise NotReadyError(_explain(cluster, kind, live, f"{ended} (finalizers: {finalizers})"), live)


def _attempts(timeout: float, cancelled: threading.Event) -> Any:
    """A turn at once, then with growing pauses; a last one when ``timeout`` seconds are over or the user interrupts."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        yield
        remaining = deadline - time.monotonic()
        if remaining <= 0 or cancelled.is_set():
            return
        cancelled.wait(min(pause, remaining))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _explain(cluster: ObjectClient, kind: Kind, live: Properties, message: str) -> str:
    """``message`` and what the cluster itself has to say about the object and its pods."""
    problems: list[str] = []
    for look in (_pod_problems, _warnings):
        try:
            problems += look(cluster, kind, live)
        except ApiError as error:
            problems.append(f"(could not look further: {error})")
    distinct = list(dict.fromkeys(problems))
    listed = "".join(f"\n  - {problem}" for problem in distinct[:_MOST_MESSAGES])
    return f"{kind.kind} {object_id(live)}: {message}{listed}"


def _pods(cluster: ObjectClient, kind: Kind, live: Properties) -> list[Properties]:
    """The pods that ``live`` owns by its selector; a pod is its own."""
    if kind == _POD:
        return [live]
    selector = (live.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector if kind.kind == "Service" else {})
    if not labels:
        return []
    joined = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return cluster.list(_POD, live["metadata"]["namespace"], labelSelector=joined)


def _pod_problems(cluster: ObjectClient, kind: Kind, live: Properties) -> list[str]:
    problems = []
    for pod in _pods(cluster, kind, live):
        status, name = pod.get("status") or {}, pod["metadata"]["name"]
        for condition in status.get("conditions") or []:
            if condition["type"] == "PodScheduled" and condition["status"] != "True" and condition.get("message"):
                problems.append(f"pod {name}: [{condition.get('reason')}] {condition['message']}")
        for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
            problems += _container_problems(name, container)
    return problems


def _container_problems(pod: str, container: dict[str, Any]) -> list[str]:
    state = container.get("state") or {}
    waiting, ended = state.get("waiting"), state.get("terminated")
    where = f"pod {pod}, container {container['name']}"
    if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return [f"{where}: [{waiting['reason']}] {waiting.get('message', '')}".rstrip()]
    if ended and ended.get("exitCode"):
        return [f"{where}: exit code {ended['exitCode']} ({ended.get('reason')}) {ended.get('message', '')}".rstrip()]
    return []


def _warnings(cluster: ObjectClient, kind: Kind, live: Properties) -> list[str]:
    """Warning events of the object and of its pods."""
    place = live["metadata"]
    if not place.get("uid"):
        return []
    names: dict[str, str] = {place["uid"]: f"{kind.kind} {place['name']}"}
    names |= {pod["metadata"]["uid"]: f"pod {pod['metadata']['name']}" for pod in _pods(cluster, kind, live)}
    events = cluster.list(_EVENT, place.get("namespace"), fieldSelector="type=Warning")
    about = ((names.get((event.get("involvedObject") or {}).get("uid", "")), event) for event in events)
    return [f"{name}: [{event.get('reason')}] {event.get('message')}" for name, event in about if name]
