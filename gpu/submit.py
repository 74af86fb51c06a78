"""From what a user asks for to a Job that runs: what it is, where it goes, and nothing half-made if that fails."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePath
from typing import Final

from concepts.kubernetes import quantity
from concepts.offer import Offer
from gpu.cluster import Cluster, ClusterError, job_path
from gpu.fit import Fit, Miss, Request, fits, misses
from gpu.job import TrainingJob, manifests
from gpu.sweep import Sweep

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# Pods of an indexed Job are called <job>-<index>, which is a host name: at most 63 characters.
_LONGEST_NAME: Final = 52
_MIB: Final = 1024 * 1024
_USUAL_GRACE: Final = 30
_RETRIES_OF_WORKERS: Final = 3


class AskError(ValueError):
    """What is asked for means nothing; the message says what to write instead."""


class NothingFits(Exception):
    """No pool takes the job. ``misses``: the pools, nearest first, with what stands against each."""

    def __init__(self, found: Sequence[Miss]) -> None:
        nearest = found[0] if found else None
        super().__init__(
            "the cluster has no GPU pool"
            if nearest is None
            else f"no pool takes it; the nearest is {nearest.pool.name}, which {', and '.join(nearest.lacks)}"
        )
        self.misses = tuple(found)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A submission: ``request`` with ``pods`` that have to run at once, and the program. Names are checked on creation.

    Raises:
        AskError: what is wrong.
    """

    request: Request
    name: str
    namespace: str
    command: tuple[str, ...] = ()
    workers: int = 1
    sweep: Sweep | None = None
    at_once: int | None = None
    retries: int | None = None
    grace_seconds: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > _LONGEST_NAME:
            raise AskError(
                f"--name {self.name}: write lowercase letters, digits and '-', {_LONGEST_NAME} characters at most"
            )
        if self.sweep is not None and self.workers > 1:
            raise AskError("--sweep and --workers: a sweep's runs have one worker each; leave one of them out")
        if self.sweep is not None and not self.command:
            raise AskError("--sweep: write the program behind --, so that it can be given the values")


def place(offer: Offer, request: Request) -> Fit:
    """The cheapest pools that take it.

    Raises:
        NothingFits: none does.
    """
    found = fits(offer, request)
    if not found:
        raise NothingFits(misses(offer, request))
    return found[0]


def training_job(asked: Asked, fit: Fit, image: str) -> TrainingJob:
    """The job on the pools that were found for it."""
    request, notice = asked.request, fit.grace_seconds
    grace = asked.grace_seconds if asked.grace_seconds is not None else _USUAL_GRACE
    retries = asked.retries if asked.retries is not None else (_RETRIES_OF_WORKERS if asked.workers > 1 else 0)
    return TrainingJob(
        name=asked.name,
        namespace=asked.namespace,
        image=image,
        command=asked.command,
        gpus=request.gpus,
        pools=tuple(pool.name for pool in fit.pools),
        taints=tuple(dict.fromkeys(taint for pool in fit.pools for taint in pool.taints)),
        milli_cpu=request.milli_cpu,
        memory_mib=request.memory_mib,
        disk_mib=request.disk_mib,
        env=asked.env,
        workers=asked.workers,
        sweep=asked.sweep,
        at_once=min(asked.at_once or fit.most_pods, fit.most_pods),
        retries=retries,
        grace_seconds=grace if notice is None else min(grace, notice),
        larger_node=fit.larger,
    )


def create(cluster: Cluster, job: TrainingJob) -> tuple[str, ...]:
    """Create the job's objects; the warnings of the cluster's admission. Nothing is left if one is refused.

    Raises:
        ClusterError: the name is taken, a right is missing, or admission refuses it.
    """
    first, *others = manifests(job)
    try:
        reply = cluster.create(first)
    except ClusterError as error:
        if error.status == 409:
            raise ClusterError(
                f"a job {job.name} is there already in {job.namespace}; write another --name, or `gpu stop {job.name}`",
                409,
            ) from error
        raise
    owner = {
        "apiVersion": first["apiVersion"],
        "kind": first["kind"],
        "name": job.name,
        "uid": reply.stored["metadata"]["uid"],
    }
    warnings = list(reply.warnings)
    for manifest in others:
        owned = {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
        try:
            warnings += cluster.create(owned).warnings
        except BaseException:
            cluster.delete(job_path(job.namespace, job.name))
            raise
    return tuple(warnings)


def name_for(command: Sequence[str], image: str | None) -> str:
    """A name that tells what runs and is not taken: of the script, else of the image."""
    script = next((word for word in command if word.endswith((".py", ".sh"))), None)
    source = PurePath(script).stem if script else (image or (command[0] if command else "job")).rpartition("/")[2]
    stem = re.sub(r"[^a-z0-9]+", "-", source.partition(":")[0].lower()).strip("-")[: _LONGEST_NAME - 6].strip("-")
    return f"{stem or 'job'}-{secrets.token_hex(2)}"


def mebibytes(option: str, text: str) -> int:
    """``200Gi`` in MiB, rounded up. Raises AskError."""
    return _more_than_nothing(option, text, math.ceil(_amount(option, text, "200Gi") / _MIB))


def millicores(option: str, text: str) -> int:
    """``4`` or ``500m`` in thousandths of a core, rounded up. Raises AskError."""
    return _more_than_nothing(option, text, math.ceil(_amount(option, text, "4 or 500m") * 1000))


def _amount(option: str, text: str, example: str) -> Decimal:
    try:
        return quantity(text)
    except (ValueError, ArithmeticError) as error:
        raise AskError(f"{option} {text}: is no amount; write {example}") from error


def _more_than_nothing(option: str, text: str, amount: int) -> int:
    if amount <= 0:
        raise AskError(f"{option} {text}: write more than nothing, or leave it out")
    return amount
