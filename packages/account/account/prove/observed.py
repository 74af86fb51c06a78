"""What ``prove`` reads of a cluster, again and again; of what a user may not list it knows nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from account.prove.judge import pool_name
from account.prove.plan import LABEL
from facts.concepts.offer import Offer
from facts.concepts.unknown import at
from gpu.causes import Reason
from gpu.cluster import ClusterClient, Object, job_path, pod_path
from gpu.commands.following import OWNER_LABEL, events_around, view_of
from gpu.why import of_job

_NODES = "/api/v1/nodes"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The cluster at a time. ``jobs`` and ``pods``: the run's own. ``nodes``: name → node, ``None`` if they may not be
    listed. ``others``: name of a GPU node → its pods of all namespaces, ``None`` if they may not be listed."""

    at: datetime
    jobs: Mapping[str, Object]
    pods: Sequence[Object]
    nodes: Mapping[str, Object] | None
    others: Mapping[str, Sequence[Object]] | None
    events: Sequence[Object] = ()

    def pods_of(self, job: str) -> list[Object]:
        """The pods of one of the run's Jobs, the oldest first."""
        uid = at(self.jobs.get(job), "metadata", "uid")
        mine = [pod for pod in self.pods if (at(pod, "metadata", "labels") or {}).get(OWNER_LABEL) == uid]
        return sorted(mine, key=lambda pod: str(pod["metadata"]["creationTimestamp"])) if uid else []

    def nodes_of(self, pool: str) -> dict[str, Object]:
        """The pool's nodes, by its label."""
        return {name: node for name, node in (self.nodes or {}).items() if pool_name(node) == pool}


def observe(cluster: ClusterClient, offer: Offer, run: str, now: datetime, *, all_pods: bool = True) -> Observed:
    """The cluster now. ``all_pods``: also those of other namespaces on GPU nodes. Raises ClusterError."""
    selected = f"{LABEL}={run}"
    jobs = cluster.list(job_path(cluster.namespace), labelSelector=selected)
    pods = cluster.list(pod_path(cluster.namespace), labelSelector=selected)
    nodes = cluster.list_if_allowed(_NODES)
    names = {pool.name for pool in offer.pools}
    own = [node["metadata"]["name"] for node in nodes or () if pool_name(node) in names]
    return Observed(
        at=now,
        jobs={job["metadata"]["name"]: job for job in jobs},
        pods=pods,
        nodes=None if nodes is None else {node["metadata"]["name"]: node for node in nodes},
        others=_pods_on(cluster, own) if all_pods else None,
        events=events_around(cluster, cluster.namespace) if jobs else (),
    )


def _pods_on(cluster: ClusterClient, nodes: Iterable[str]) -> dict[str, Sequence[Object]] | None:
    result: dict[str, Sequence[Object]] = {}
    for node in nodes:
        pods = cluster.list_if_allowed(pod_path(""), fieldSelector=f"spec.nodeName={node}")
        if pods is None:
            return None
        result[node] = pods
    return result


def reason_of(cluster: ClusterClient, offer: Offer, state: Observed, job: str) -> Reason:
    """Why a Job waits, or how it ended. Raises ClusterError."""
    pods = state.pods_of(job)
    view = view_of(cluster, cluster.namespace, pods)
    return of_job(state.jobs[job], pods, state.events, queues=False, view=replace(view, offer=offer, now=state.at))


def user_of(cluster: ClusterClient) -> str:
    """The user's name as the cluster knows it. Raises ClusterError.

    https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/self-subject-review-v1/
    """
    review: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return str(at(cluster.create(review).stored, "status", "userInfo", "username") or "")
