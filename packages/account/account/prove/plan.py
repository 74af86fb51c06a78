"""What ``prove`` creates, how long that lasts and what it costs at most, before anything is created. Pure.

Everything is a Job in one existing namespace. ``activeDeadlineSeconds`` ends each, also while its pod is Pending, and
``ttlSecondsAfterFinished`` deletes it: both by the cluster, whether ``prove`` still runs or not.
https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from facts.catalog.tables import by_key
from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE, manifest
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL, SIZE_KEY, kind_labels
from facts.jobs.job import LONGEST_NAME, AskError, TrainingJobSpec, manifests
from facts.jobs.plan import priority_class_of, team_of

LABEL: Final = "gpucluster.dev/prove"
"""Label of the Jobs and their pods: the id of the run that created them."""
OWNER: Final = "gpucluster.dev/prove-user"
"""Annotation of the Jobs: the user, by the cluster's name, whose next run deletes them."""
KEPT_SECONDS: Final = 120
"""A finished Job is deleted so much later."""
ENDING_SECONDS: Final = 60
"""From a Job's deadline to its end, at most: its pods get their grace period of 30 s.

https://kubernetes.io/docs/concepts/workloads/controllers/job/#termination-of-job-pods
"""
USUAL_IDLE_MINUTES: Final = 10
"""Of pools without a published idle time: cluster-autoscaler's own ``--scale-down-unneeded-time``.

https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.34.0/cluster-autoscaler/FAQ.md
"""
REMOVAL_MINUTES: Final = 10
"""From the end of the idle time to the end of the machine, at most: autoscalers drain, then the cloud deletes."""
_MILLI_CPU: Final = 250
_MEMORY_MIB: Final = 256
_DEVICE_FILES: Final = ("sh", "-c", "ls -d /dev/accel* 2>/dev/null || ls -d /dev/vfio/[0-9]*")
"""The chips of a TPU node: https://github.com/ray-project/ray/blob/master/python/ray/_private/accelerators/tpu.py"""
_PENDING_IMAGE: Final = "registry.k8s.io/pause:3.10"


class ProveError(Exception):
    """Nothing was created; the message says what to write instead."""


@dataclass(frozen=True, kw_only=True)
class ProveRequest:
    """``pools``: names, default all. ``minutes``: a Job's own end after its creation, at least 1. ``max_usd``: the most
    that the run may cost at the published prices; ``None``: what the plan says."""

    namespace: str
    user: str
    pools: tuple[str, ...] = ()
    minutes: int = 20
    max_usd: float | None = None
    run: str = field(default_factory=lambda: secrets.token_hex(3))


@dataclass(frozen=True, kw_only=True)
class PoolTrial:
    """The first job of a pool. ``billed_minutes``: for how long its nodes are billed at most. ``max_usd`` is 0 where
    the machines are paid for anyway."""

    pool: PoolOffer
    job: Mapping[str, Any]
    untolerated: Mapping[str, Any] | None
    billed_minutes: int
    max_usd: float

    @property
    def nodes(self) -> int:
        """How many nodes the job has: one, or all of a slice."""
        return max(1, self.pool.gpus.slice_nodes)


@dataclass(frozen=True, kw_only=True)
class ProvePlan:
    """``oversized``: a Job whose pod no node can have. ``skipped``: pool → why it gets no job."""

    request: ProveRequest
    trials: tuple[PoolTrial, ...]
    oversized: Mapping[str, Any] | None
    skipped: Mapping[str, str]

    @property
    def max_usd(self) -> float:
        """What the plan costs at most: each pool's node for as long as it may last."""
        return sum(trial.max_usd for trial in self.trials)

    @property
    def limit(self) -> float:
        """Dollars at which the run ends."""
        return self.max_usd if self.request.max_usd is None else self.request.max_usd

    @property
    def minutes(self) -> int:
        """How long the run takes at most: all pools at once."""
        return max((trial.billed_minutes for trial in self.trials), default=0)


def plan(offer: Offer, request: ProveRequest) -> ProvePlan:
    """The Jobs of a run. Raises ProveError: all problems at once."""
    names = [pool.name for pool in offer.pools]
    problems = [
        f"--pools {name}: the cluster has no such GPU pool; write any of {', '.join(names)}"
        for name in request.pools
        if name not in names
    ]
    chosen = [pool for pool in offer.pools if not request.pools or pool.name in request.pools]
    trials, skipped = list[PoolTrial](), dict[str, str]()
    for pool in chosen:
        if problem := _unpriced(pool):
            problems.append(problem)
        else:
            try:
                trials.append(_trial(offer, pool, request))
            except AskError as error:
                skipped[pool.name] = str(error)
    if problems:
        raise ProveError("\n".join(problems))
    oversized = _oversized(offer, request) if offer.pools else None
    result = ProvePlan(request=request, trials=tuple(trials), oversized=oversized, skipped=skipped)
    if request.max_usd is not None and result.max_usd > request.max_usd:
        each = ", ".join(f"{trial.pool.name} ${trial.max_usd:.2f}" for trial in result.trials)
        raise ProveError(
            f"--max-usd {request.max_usd:g}: these jobs cost up to ${result.max_usd:.2f} ({each}); raise it, or choose "
            "fewer pools with --pools"
        )
    return result


def _unpriced(pool: PoolOffer) -> str:
    if pool.scaling.prepaid or pool.nodes.hourly_usd is not None:
        return ""
    return (
        f"pool {pool.name} has no price, so nothing limits what its job costs; write `hourlyUsd` of the pool into the "
        "stack file and run `pulumi up`, or leave it out with --pools"
    )


def billed_after(pool: PoolOffer) -> int:
    """Minutes that a node of the pool is billed for after its last pod, at most."""
    return (pool.scaling.unneeded_minutes or USUAL_IDLE_MINUTES) + REMOVAL_MINUTES


def _trial(offer: Offer, pool: PoolOffer, request: ProveRequest) -> PoolTrial:
    minutes = request.minutes + billed_after(pool)
    hourly = 0.0 if pool.scaling.prepaid else pool.nodes.hourly_usd or 0.0
    nodes = max(1, pool.gpus.slice_nodes)
    return PoolTrial(
        pool=pool,
        job=_gpu_job(offer, pool, request),
        untolerated=_untolerated(pool, request) if pool.nodes.taints else None,
        billed_minutes=minutes,
        max_usd=nodes * hourly * minutes / 60,
    )


def _gpu_job(offer: Offer, pool: PoolOffer, request: ProveRequest) -> dict[str, Any]:
    """A pod with all GPUs that a pod of the pool can have, which prints them; in a slice, one on each node."""
    check = by_key("", "checks", "resource")[(pool.gpus.resource,)]
    if pool.nodes.teams and request.namespace not in pool.nodes.teams:
        allowed = " or ".join(pool.nodes.teams)
        raise AskError(f"it is for pods of namespace {allowed} only; write --namespace {pool.nodes.teams[0]}")
    workers = max(1, pool.gpus.slice_nodes)
    asked = TrainingJobSpec(
        milli_cpu=_MILLI_CPU,
        memory_mib=_MEMORY_MIB,
        name=_name(request, pool.name),
        namespace=request.namespace,
        image=check["image"],
        # The usual check waits for the other workers, which it finds by a Service.
        command=tuple(shlex.split(check["command"])) if workers == 1 else _DEVICE_FILES,
        workers=workers,
        gpus=pool.gpus_per_pod,
        pools=(pool.name,),
        taints=tuple(pool.nodes.taints),
        kind=kind_labels(dict(pool.nodes.labels), pool.nodes.cloud_labels),
        resource=pool.gpus.resource,
        drained=bool(pool.scaling.drained),
        kept_seconds=KEPT_SECONDS,
    )
    team = team_of(offer, asked)
    job, *_ = manifests(replace(asked, priority_class=priority_class_of(offer, team, None)))
    return _limited(job, request)


def _untolerated(pool: PoolOffer, request: ProveRequest) -> dict[str, Any]:
    """A pod without GPUs that selects the pool's nodes, and does not tolerate their taints."""
    return _limited(_waiting_job(_name(request, f"taint-{pool.name}"), request, {POOL_LABEL: pool.name}, {}), request)


def _oversized(offer: Offer, request: ProveRequest) -> dict[str, Any]:
    """A pod with one GPU more than any node has."""
    resource = min((pool.gpus.resource for pool in offer.pools), key=lambda each: each != GPU_RESOURCE)
    most = max(pool.allocatable_gpus for pool in offer.pools if pool.gpus.resource == resource)
    job = _waiting_job(_name(request, "oversized"), request, {}, {resource: most + 1})
    job["spec"]["template"]["spec"]["tolerations"] = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in (resource, SIZE_KEY)
    ]
    return _limited(job, request)


def _waiting_job(
    name: str, request: ProveRequest, selector: Mapping[str, str], limits: Mapping[str, int]
) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": _PENDING_IMAGE,
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, **({"limits": dict(limits)} if limits else {})},
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        **({"nodeSelector": dict(selector)} if selector else {}),
    }
    spec = {"backoffLimit": 0, "ttlSecondsAfterFinished": KEPT_SECONDS, "template": {"metadata": {}, "spec": pod}}
    return manifest("batch/v1", "Job", name, request.namespace, labels={}, spec=spec)


def _limited(job: dict[str, Any], request: ProveRequest) -> dict[str, Any]:
    """The Job with its end, and with what tells it from those of others."""
    metadata, spec, template = job["metadata"], job["spec"], job["spec"]["template"]["metadata"]
    spec["activeDeadlineSeconds"] = 60 * request.minutes
    for each in (metadata, template):
        each["labels"] = {**(each.get("labels") or {}), LABEL: request.run}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), OWNER: request.user}
    return job


def _name(request: ProveRequest, what: str) -> str:
    # Two pools' names may differ at their ends alone.
    whole = f"prove-{request.run}-{what}"
    short = f"{whole[: LONGEST_NAME - 7].rstrip('-')}-{hashlib.sha256(whole.encode()).hexdigest()[:6]}"
    return whole if len(whole) <= LONGEST_NAME else short


def described(planned: ProvePlan) -> Iterator[str]:
    """What the run creates and costs at most, in lines."""
    for trial in planned.trials:
        pool, paid = trial.pool, trial.pool.scaling.prepaid
        price = "already paid for" if paid else f"at most ${trial.max_usd:.2f}"
        hourly = "" if paid or pool.nodes.hourly_usd is None else f" (${trial.nodes * pool.nodes.hourly_usd:.2f}/h)"
        minutes = counted(trial.billed_minutes, "minute")
        gpus, nodes = counted(pool.gpus_per_pod * trial.nodes, "GPU"), trial.nodes
        where = "one node" if nodes == 1 else f"a slice of {nodes} nodes"
        yield f"{pool.name}: a job with {gpus} on {where} for {minutes}{hourly}: {price}"
    for name, reason in planned.skipped.items():
        yield f"{name}: no job: {reason}"
    yield (
        f"in all at most ${planned.max_usd:.2f} and {planned.minutes} minutes at list prices; the run ends at "
        f"${planned.limit:.2f}"
    )


def jobs_of(planned: ProvePlan) -> Sequence[Mapping[str, Any]]:
    """All Jobs that a run may create."""
    pairs = (job for trial in planned.trials for job in (trial.job, trial.untolerated) if job is not None)
    return (*pairs, *(() if planned.oversized is None else (planned.oversized,)))
