"""Follow a job from its first pod to its end, and show its output."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

import typer
from rich.markup import escape

from facts.concepts.offer import Offer, OfferError
from facts.concepts.rest import resource_path
from facts.concepts.unknown import at
from facts.jobs.job import INDEX_ANNOTATION
from gpu.causes import Reason
from gpu.cluster import ClusterClient, ClusterError, Object, event_path, job_path, pod_path
from gpu.commands.common import EXIT_NO, err, show_line
from gpu.commands.offer import list_nodes
from gpu.commands.saved_logs import show_saved
from gpu.why import NOTHING, View, of_job

OWNER_LABEL: Final = "batch.kubernetes.io/controller-uid"
_INDEX: Final = re.compile(r"[0-9]{1,9}")
_LONGEST_MESSAGE: Final = 4096
"""Of an event; recorders write 1024 characters at most: k8s.io/client-go/tools/events."""
_POLL_SECONDS: Final = 2.0
_CONFIRM_SECONDS: Final = 3.0
_AUTOSCALER_NAMESPACE: Final = "kube-system"
# Events of objects without a namespace, such as NodeClaims, are in this namespace.
_CLUSTER_EVENTS: Final = "default"
_NODE_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
# Discovery, which every user may read: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles
_KUEUE: Final = "/apis/kueue.x-k8s.io"


@dataclass(frozen=True)
class JobState:
    """A job, its pods (by index, oldest first) and the reason for its state."""

    job: Object
    pods: tuple[Object, ...]
    reason: Reason


def job_of(cluster: ClusterClient, name: str) -> Object:
    """The Job. Raises ClusterError if there is none."""
    job = cluster.find(job_path(cluster.namespace, name))
    if job is None:
        raise ClusterError(
            f"no job {name} in {cluster.namespace}; `gpu list` shows the jobs (--team: those of another namespace)", 404
        )
    return job


def pods_of(cluster: ClusterClient, job: Object) -> tuple[Object, ...]:
    """The Job's pods by index, the oldest first."""
    place = job["metadata"]
    pods = cluster.list(pod_path(place["namespace"]), labelSelector=f"{OWNER_LABEL}={place['uid']}")
    return tuple(sorted(pods, key=lambda pod: (index_of(pod), pod["metadata"]["creationTimestamp"])))


def index_of(pod: Object) -> int:
    """The pod's completion index: its run or worker; 0 in a job of one pod, and of what is no number."""
    index = str(at(pod, "metadata", "annotations", INDEX_ANNOTATION) or "")
    return int(index) if _INDEX.fullmatch(index) else 0


def events_around(cluster: ClusterClient, namespace: str) -> list[Object]:
    """Events of the namespace, the autoscaler and NodeClaims, as far as the user may list them."""
    namespaces = dict.fromkeys((namespace, _AUTOSCALER_NAMESPACE, _CLUSTER_EVENTS))
    return [event for each in namespaces for event in events_of(cluster, each)]


def events_of(cluster: ClusterClient, namespace: str) -> list[Object]:
    """Events of one namespace, none if the user may not list them. Whoever may create events writes their texts: what
    is longer than the recorders of Kubernetes write is cut, as it would be searched for a minute."""
    events = cluster.list_if_allowed(event_path(namespace)) or ()
    return [{**event, "message": str(event.get("message") or "")[:_LONGEST_MESSAGE]} for event in events]


def view_of(cluster: ClusterClient, namespace: str, pods: Sequence[Object], queues: Object | None = None) -> View:
    """What the user may read of the cluster to explain why some of ``pods`` wait; nothing if none does.

    ``queues``: Kueue's API group, where one of the jobs is suspended.
    """
    workloads = None
    if queues is not None:
        kind = f"kueue.x-k8s.io/{queues['preferredVersion']['version']}", "workloads"
        workloads = cluster.list_if_allowed(resource_path(*kind, None, namespace))
    if not any(at(pod, "status", "phase") == "Pending" for pod in pods):
        return NOTHING if workloads is None else View(workloads=workloads)
    return View(
        nodes=list_nodes(cluster),
        node_claims=cluster.list_if_allowed(_NODE_CLAIMS),
        claims=cluster.list_if_allowed(resource_path("v1", "persistentvolumeclaims", None, namespace)),
        workloads=workloads,
        offer=_offer(cluster),
        now=datetime.now(timezone.utc),
    )


def _offer(cluster: ClusterClient) -> Offer | None:
    try:
        return cluster.offer()
    except OfferError:
        return None
    except ClusterError as error:
        if error.status in (403, 404):
            return None
        raise


def state_of(cluster: ClusterClient, name: str) -> JobState:
    """The job as it is now. Raises ClusterError."""
    job = job_of(cluster, name)
    pods = pods_of(cluster, job)
    (reason,) = reasons_of(cluster, cluster.namespace, [(job, pods)])
    return JobState(job, pods, reason)


def reasons_of(cluster: ClusterClient, namespace: str, jobs: Sequence[tuple[Object, Sequence[Object]]]) -> list[Reason]:
    """The reasons for the states of jobs, each with its pods; ``namespace`` is empty for all namespaces."""
    if not jobs:
        return []
    suspended = any(job["spec"].get("suspend") for job, _ in jobs)
    queues = cluster.find(_KUEUE) if suspended else None  # Kueue is what resumes them
    events = events_around(cluster, namespace)
    view = view_of(cluster, namespace, [pod for _, pods in jobs for pod in pods], queues)
    there = not suspended or queues is not None
    return [of_job(job, pods, events, queues=there, view=view) for job, pods in jobs]


@dataclass
class Output:
    """Prints the pods' logs, each line once. ``missing``: pods whose log was deleted before a line was printed."""

    cluster: ClusterClient
    missing: int = 0
    _last: dict[str, str] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def show(self, pod: Object) -> None:
        """Print the new log lines of a pod that runs or has run."""
        metadata = pod["metadata"]
        if metadata["uid"] in self._done or not has_output(pod):
            return
        try:
            lines = self.cluster.log(metadata["namespace"], metadata["name"], self._last.get(metadata["uid"]))
        except ClusterError as error:
            if error.status != 404:
                raise
            if metadata["uid"] in self._last:
                err().print(f"[dim]the rest of the log of {metadata['name']} was deleted with its node[/]")
            else:
                self.missing += 1
            self._done.add(metadata["uid"])
            return
        for time_written, text in lines:
            self._last[metadata["uid"]] = time_written
            show_line(text)
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            self._done.add(metadata["uid"])


def follow(cluster: ClusterClient, name: str, index: int = 0) -> None:
    """Print what the job waits for until it runs, then the log of its pods of ``index``, until the job ends.

    Ctrl-C stops following, not the job; a second one asks whether to stop the job. Exits with 1 if the job failed.
    """
    try:
        _watch(cluster, name, index)
    except KeyboardInterrupt:
        _leave(cluster, name)


def states(cluster: ClusterClient, name: str) -> Iterator[JobState]:
    """The job every two seconds, without end; prints what it waits for, when that changes."""
    last = ""
    while True:
        state = state_of(cluster, name)
        reason = state.reason
        if reason.summary != last and reason.kind not in ("running", "starting"):
            last = reason.summary
            err().print(f"[dim]{escape('; '.join(part for part in (reason.summary, reason.remedy) if part))}[/]")
        yield state
        time.sleep(_POLL_SECONDS)


def _watch(cluster: ClusterClient, name: str, index: int) -> None:
    output = Output(cluster)
    for state in states(cluster, name):
        reason = state.reason
        pods = [pod for pod in state.pods if index_of(pod) == index]
        for pod in pods:
            output.show(pod)
        if reason.kind in ("succeeded", "failed") and output.missing >= len(pods):
            show_saved(cluster, state.job, index)
        if reason.kind == "succeeded":
            return
        if reason.kind == "failed":
            raise typer.Exit(EXIT_NO)


def _leave(cluster: ClusterClient, name: str) -> None:
    """Say that the job keeps running, and offer to stop it on a second Ctrl-C."""
    console = err()
    console.print(f"\njob {name} keeps running; follow it with `gpu logs {name}`, stop it with `gpu stop {name}`")
    if not sys.stdin.isatty():
        return
    console.print(f"[dim]press Ctrl-C again within {_CONFIRM_SECONDS:g} seconds to stop the job[/]")
    try:
        time.sleep(_CONFIRM_SECONDS)
    except KeyboardInterrupt:
        if typer.confirm(f"\nstop job {name}{cluster.among}?", err=True):
            cluster.delete(job_path(cluster.namespace, name))
            console.print(escape(f"stopped {name}{cluster.among}"))


def has_output(pod: Object) -> bool:
    """Whether a container of the pod runs or has run."""
    statuses = at(pod, "status", "containerStatuses") or ()
    return any((each.get("state") or {}).keys() & {"running", "terminated"} for each in statuses)
