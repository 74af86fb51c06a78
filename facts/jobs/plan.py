"""From a request to its job, on the pools that fit: the same for the command and for programs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from facts.concepts.counts import counted
from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.namespaces import owner_of
from facts.concepts.offer import PRIORITY_CLASSES, QUEUE, SHARED_CLAIM, Offer, PoolOffer, TeamOffer
from facts.concepts.parts import NO_FABRIC, Fabric
from facts.jobs.fit import Fit, Miss, PodRequest, fits, misses
from facts.jobs.job import CHECKPOINTS, SHARED, AskError, JobRequest, TrainingJobSpec

_USUAL_GRACE: Final = 30
_RETRIES_OF_WORKERS: Final = 3
_REQUESTED: Final = tuple(PodRequest.__dataclass_fields__)


class NothingFits(Exception):
    """No pool fits the job. ``misses``: the pools, nearest first, each with its reasons."""

    def __init__(self, misses: Sequence[Miss]) -> None:
        nearest = misses[0] if misses else None
        super().__init__(
            "the cluster has no GPU pool"
            if nearest is None
            else f"no pool fits; the nearest is {nearest.pool.name}: {'; '.join(nearest.lacks)}"
        )
        self.misses = tuple(misses)


def place(offer: Offer, request: PodRequest) -> Fit:
    """The cheapest pools that fit the job.

    Raises:
        NothingFits: none does.
    """
    fitting = fits(offer, request)
    if not fitting:
        raise NothingFits(misses(offer, request))
    return fitting[0]


def team_of(offer: Offer, asked: JobRequest) -> TeamOffer | None:
    """The team that owns the namespace, if there is one.

    Raises:
        AskError: its pods, which run at once, ask for more GPUs than the team may ever have; or the namespace is one of
            the cluster itself or of a tool, whose service accounts have rights that jobs should not get.
    """
    if owner := owner_of(asked.namespace):
        names = ", ".join(team.name for team in offer.teams) or f"for example {DEFAULT_NAMESPACE}"
        raise AskError(f"{asked.namespace} is a namespace of {owner}, where no jobs run; write --team: {names}")
    team = next((team for team in offer.teams if team.name == asked.namespace), None)
    gpus = asked.gpus * asked.workers
    if team is not None and gpus > team.gpus:
        raise AskError(f"{gpus} GPUs at once exceed the quota of team {team.name}, {team.gpus}; request fewer GPUs")
    return team


def priority_class_of(offer: Offer, team: TeamOffer | None, priority: str | None) -> str | None:
    """The PriorityClass of the job's pods: the team's own, or one that its namespace admits.

    Raises:
        AskError: the stack has no priorities, or the team may not use this one.
    """
    own = team.priority_class if team is not None else None
    if priority is None:
        return own
    if not offer.teams:
        raise AskError("--priority: this stack has no priorities, because it has no teams; leave it out")
    names = ("low", "normal", "high")
    if priority not in names:
        raise AskError(f"--priority {priority}: write one of {', '.join(names)}")
    # As the quotas of the team's namespace admit them; other namespaces have none.
    admitted = names
    if team is not None and own != PRIORITY_CLASSES["high"]:
        admitted = ("low",) if own == PRIORITY_CLASSES["low"] else ("low", "normal")
    if priority not in admitted:
        assert team is not None
        raise AskError(
            f"--priority {priority}: team {team.name} may use {' or '.join(admitted)}; ask your administrator"
        )
    return PRIORITY_CLASSES.get(priority)


def account_of(asked: JobRequest, offer: Offer) -> str | None:
    """The service account of the job's pods; ``None`` for the namespace's default."""
    namespace, _, own = offer.checkpoints.service_account.partition("/") if offer.checkpoints else ("", "", "")
    return asked.service_account or (own if namespace == asked.namespace else None)


def training_job(asked: JobRequest, fit: Fit, image: str, offer: Offer) -> TrainingJobSpec:
    """The job on the pools that fit it, with its team's priority and its service account's access.

    Raises:
        AskError: its team could never have that many GPUs, or no pool has them, from which alone a queue gives them.
    """
    team = team_of(offer, asked)
    queued = asked.namespace in offer.queued
    account = account_of(asked, offer)
    somebody = f"{asked.namespace}/{account}"
    bucket = offer.checkpoints
    notice = fit.grace_seconds
    grace = asked.grace_seconds if asked.grace_seconds is not None else _USUAL_GRACE
    usual = _RETRIES_OF_WORKERS if asked.workers > 1 and asked.timeout_seconds is None else 0
    retries = asked.retries if asked.retries is not None else usual
    return TrainingJobSpec(
        **{
            **vars(asked),
            "image": image,
            "pools": tuple(pool.name for pool in fit.pools),
            "taints": fit.taints,
            "kind": fit.kind,
            "resource": fit.resource,
            "at_once": _at_once(asked, fit, team, queued=queued),
            "retries": retries,
            "grace_seconds": grace if notice is None else min(grace, notice),
            "larger_node": fit.larger,
            "service_account": account,
            "priority_class": priority_class_of(offer, team, asked.priority),
            "pod_labels": offer.account_labels if somebody in offer.accounts else {},
            "volume": SHARED_CLAIM if offer.volume_namespace == asked.namespace else None,
            "queue": QUEUE if queued else None,
            "drained": any(pool.scaling.drained for pool in fit.pools),
            "network": _network(asked, fit),
            "checkpoints": f"{bucket.url}/{asked.name}" if bucket and bucket.service_account == somebody else None,
        }
    )


def limited(job: TrainingJobSpec, fit: Fit) -> TrainingJobSpec:
    """The job with limits of disk and memory, so that a pod which exceeds its node fails and does not start for ever.

    The limit is all that the largest of its pools leaves one pod. An eviction for a pod's own limit lacks the condition
    DisruptionTarget of one for its node, by which a Job ignores it (https://github.com/kubernetes/website/pull/46896).
    Memory is limited where the job requests some, because without a request its namespace decides what it gets, and
    where all nodes of a pool have the same. Jobs that a program declares have no limits: new ones would replace them.
    """
    disks = [pool.disk_mib for pool in fit.pools]
    same = [len(pool.nodes.machine_types) == 1 and not pool.scaling.owned for pool in fit.pools]
    memories = [pool.memory_mib if alike else None for alike, pool in zip(same, fit.pools, strict=True)]
    most_disk, most_memory = (max(filter(None, sizes)) if all(sizes) else None for sizes in (disks, memories))
    return replace(job, most_disk_mib=most_disk, most_memory_mib=most_memory)


def short_nodes(asked: JobRequest, fit: Fit) -> str | None:
    """A warning about nodes that end before the job has to; ``None``: some last as long as it runs."""
    lives = {pool.name: life for pool in fit.pools if (life := _life(pool, asked.start)) is not None}
    if len(lives) < len(fit.pools):
        return None
    longest = max(fit.pools, key=lambda pool: lives[pool.name])
    if asked.timeout_seconds is not None and asked.timeout_seconds <= lives[longest.name]:
        return None
    hours = longest.scaling.max_run_hours
    ends = f"end at {longest.ends}" if longest.ends else f"run for {counted(hours or 0, 'hour')} at most"
    return f"the nodes of {longest.name} {ends}, and the job's pods with them: save checkpoints before"


def lost_work(job: TrainingJobSpec, fit: Fit, offer: Offer) -> str | None:
    """What a reclaimed spot node costs a job; ``None``: no spot. Checkpoints of the stack do not save themselves."""
    place = CHECKPOINTS if job.checkpoints is not None else SHARED if job.volume else "a bucket"
    again = "its pod then starts again from the beginning, unless the program continues from what it saved in"
    return _if_reclaimed(f"{again} {place}", job, fit, offer)


def lost_files(job: TrainingJobSpec, fit: Fit, offer: Offer) -> str | None:
    """The same of a container for shells."""
    return _if_reclaimed(f"its files{f' outside of {SHARED}' if job.volume else ''} are then lost", job, fit, offer)


def _if_reclaimed(loss: str, job: TrainingJobSpec, fit: Fit, offer: Offer) -> str | None:
    if not any(pool.scaling.spot for pool in fit.pools):
        return None
    on_demand = fits(offer, replace(PodRequest(**{each: getattr(job, each) for each in _REQUESTED}), spot=False))
    otherwise = "; --no-spot avoids that" if on_demand else ""
    return f"the cloud may reclaim a spot node at any time: {loss}{otherwise}"


def _life(pool: PoolOffer, start: str) -> float | None:
    """Seconds for which a node lasts that starts then, or when its block begins; ``None``: as long as it is used."""
    if pool.ends and start:
        first = f"{pool.scaling.block.first}T00:00:00Z" if pool.scaling.block else start
        return (_time(pool.ends) - _time(max(start, first))).total_seconds()
    return None if pool.scaling.max_run_hours is None else pool.scaling.max_run_hours * 3600.0


def _time(iso: str) -> datetime:
    return datetime.fromisoformat(iso.replace("Z", "+00:00"))


def slow_network(job: TrainingJobSpec, fit: Fit) -> str | None:
    """A warning about workers that cannot use the network devices which their machines have; ``None``: all is well."""
    pool = max(fit.pools, key=lambda each: each.rdma_devices)
    if job.workers == 1 or job.network.devices or not pool.rdma_devices:
        return None
    way = "all GPUs of a node per worker" if pool.nodes.fabric else "a pool with a fabric (docs/workloads.md)"
    devices = f"the {pool.rdma_devices} RDMA devices of {pool.nodes.machine_types[0]}"
    return f"the workers exchange data over TCP, which is many times slower than {devices}; use {way}, or one worker"


def _network(asked: JobRequest, fit: Fit) -> Fabric:
    """The devices of each of several workers, if one fabric connects them all."""
    first, *others = fit.pools
    if asked.workers == 1 or others or first.nodes.fabric is None:
        return NO_FABRIC
    share = first.nodes.fabric.share(asked.gpus, first.gpus.per_node)
    return replace(first.nodes.fabric, devices=share) if share else NO_FABRIC


def _at_once(asked: JobRequest, fit: Fit, team: TeamOffer | None, *, queued: bool) -> int:
    """Runs of a sweep at the same time.

    A queue gives all pods that a job runs at once GPUs of one pool (https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/),
    and ends what runs if some of them are not there in time, as those above the team's quota never would be.
    """
    most = fit.most_pods_of_one_pool if queued else fit.most_pods
    if queued and asked.workers > most:
        raise AskError(
            f"--workers {asked.workers}: the queue admits a job to one pool, and the largest of "
            f"{', '.join(pool.name for pool in fit.pools)} has room for {most} such pods; request fewer"
        )
    if queued and team is not None:
        most = min(most, team.gpus // max(1, asked.gpus))
    return min(asked.at_once or most, most)
