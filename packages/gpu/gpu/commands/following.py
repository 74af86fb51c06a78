"""Watching a job from its first pod to its end, and its output."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Final

import typer
from rich.markup import escape

from facts.jobs.job import INDEX_ANNOTATION
from gpu.cluster import ClusterClient, ClusterError, Object, event_path, job_path, pod_path
from gpu.commands.common import EXIT_NO, err
from gpu.why import Reason, of_job

OWNER_LABEL: Final = "batch.kubernetes.io/controller-uid"
_POLL_SECONDS: Final = 2.0
_SECOND_THOUGHTS: Final = 3.0
_AUTOSCALER_NAMESPACE: Final = "kube-system"
# NodeClaims have no namespace; their events are in this one.
_CLUSTER_EVENTS: Final = "default"
# Discovery, which every user may read: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles
_KUEUE: Final = "/apis/kueue.x-k8s.io"


@dataclass(frozen=True)
class JobState:
    """A job, its pods (oldest first) and why it is where it is."""

    job: Object
    pods: tuple[Object, ...]
    reason: Reason


def job_of(cluster: ClusterClient, namespace: str, name: str) -> Object:
    """The Job. Raises ClusterError, with where to look, if there is none."""
    found = cluster.find(job_path(namespace, name))
    if found is None:
        raise ClusterError(
            f"there is no job {name} in {namespace}; `gpu list` shows those there are (--team for another)", 404
        )
    return found


def pods_of(cluster: ClusterClient, job: Object) -> tuple[Object, ...]:
    """The Job's pods by index, the oldest first."""
    place = job["metadata"]
    pods = cluster.list(pod_path(place["namespace"]), labelSelector=f"{OWNER_LABEL}={place['uid']}")
    return tuple(sorted(pods, key=lambda pod: (index_of(pod), pod["metadata"]["creationTimestamp"])))


def index_of(pod: Object) -> int:
    """Which run or worker the pod is; 0 in a job of one."""
    return int((pod["metadata"].get("annotations") or {}).get(INDEX_ANNOTATION, 0))


def events_around(cluster: ClusterClient, namespace: str) -> list[Object]:
    """Events that say why pods of the namespace wait, as far as the user may see them."""
    places = dict.fromkeys((namespace, _AUTOSCALER_NAMESPACE, _CLUSTER_EVENTS))
    return [event for place in places for event in cluster.list_if_allowed(event_path(place)) or ()]


def state_of(cluster: ClusterClient, namespace: str, name: str) -> JobState:
    """The job as it is now. Raises ClusterError."""
    job = job_of(cluster, namespace, name)
    pods = pods_of(cluster, job)
    reason = of_job(job, pods, events_around(cluster, namespace), queues=has_queues(cluster, job))
    return JobState(job, pods, reason)


def has_queues(cluster: ClusterClient, *jobs: Object) -> bool:
    """Whether the cluster has what resumes suspended jobs (Kueue's API); asked only if one of ``jobs`` is suspended."""
    return not any(job["spec"].get("suspend") for job in jobs) or cluster.find(_KUEUE) is not None


@dataclass
class Output:
    """Prints what pods say, each line once."""

    cluster: ClusterClient
    _last: dict[str, str] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def show(self, pod: Object) -> None:
        """Print what is new of a pod that runs or has run."""
        place = pod["metadata"]
        if place["uid"] in self._done or not has_output(pod):
            return
        try:
            lines = self.cluster.log(place["namespace"], place["name"], self._last.get(place["uid"]))
        except ClusterError as error:
            if error.status != 404:
                raise
            err().print(f"[dim]the node of {place['name']} is gone, and what it said with it[/]")
            self._done.add(place["uid"])
            return
        for at, said in lines:
            self._last[place["uid"]] = at
            typer.echo(said)
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            self._done.add(place["uid"])


def follow(cluster: ClusterClient, namespace: str, name: str, index: int = 0) -> None:
    """Say what the job waits for until it runs, show what its pods of ``index`` say, and end with the job's end.

    Ctrl-C ends the watching, not the job; a second one asks whether to end the job. Exits with 1 if the job failed.
    """
    try:
        _watch(cluster, namespace, name, index)
    except KeyboardInterrupt:
        _leave(cluster, namespace, name)


def _watch(cluster: ClusterClient, namespace: str, name: str, index: int) -> None:
    say, output, told = err(), Output(cluster), ""
    while True:
        state = state_of(cluster, namespace, name)
        reason = state.reason
        if reason.what != told and reason.kind not in ("running", "starting"):
            told = reason.what
            say.print(f"[dim]{escape('; '.join(part for part in (reason.what, reason.remedy) if part))}[/]")
        for pod in state.pods:
            if index_of(pod) == index:
                output.show(pod)
        if reason.kind in ("succeeded", "failed") and not any(index_of(pod) == index for pod in state.pods):
            say.print(f"[dim]{escape(gone_with_its_pod(name))}[/]")
        if reason.kind == "succeeded":
            return
        if reason.kind == "failed":
            raise typer.Exit(EXIT_NO)
        time.sleep(_POLL_SECONDS)


def _leave(cluster: ClusterClient, namespace: str, name: str) -> None:
    """Say that the job runs on, and wait for a moment for whoever wants it ended."""
    say = err()
    say.print(f"\njob {name} runs on; `gpu logs {name}` shows it again, `gpu stop {name}` ends it")
    if not sys.stdin.isatty():
        return
    say.print(f"[dim]Ctrl-C within {_SECOND_THOUGHTS:g} seconds: end it now[/]")
    try:
        time.sleep(_SECOND_THOUGHTS)
    except KeyboardInterrupt:
        if typer.confirm(f"\nend job {name}?", err=True):
            cluster.delete(job_path(namespace, name))
            say.print(f"stopped {name}")


def has_output(pod: Object) -> bool:
    """Whether its container runs or has run."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any((each.get("state") or {}).keys() & {"running", "terminated"} for each in statuses)


def gone_with_its_pod(name: str) -> str:
    """What to say of a job that has ended, whose pod and its log are gone with their node."""
    return f"the pod of {name} is gone with its node, and what it said with it"
