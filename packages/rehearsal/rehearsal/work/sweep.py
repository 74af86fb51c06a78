"""A sweep over every size of the cluster's GPU nodes: each run once, on a node of its size, and then no GPU node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.counts import counted
from facts.jobs.fit import PodRequest
from facts.jobs.job import INDEX_ANNOTATION, JobRequest, TrainingJobSpec
from facts.jobs.plan import place, training_job
from facts.jobs.sweep import Sweep
from gpu.cluster import job_path
from rehearsal.cluster.api import ApiError
from rehearsal.scenario.check import Check
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import PodRecord
from rehearsal.work.jobs import Workplace

RUNS: Final = 20
"""Of all sizes together."""
_RUN_SECONDS: Final = "1"


@dataclass(frozen=True)
class SweepOutcome:
    """The sweep over one size: its pods, each with its node's pool (``None``: no node), and the Job's status."""

    job: TrainingJobSpec
    pods: Sequence[tuple[PodRecord, str | None]]
    status: Mapping[str, Any]


def play(there: Workplace) -> list[Check]:
    """The check, on a stack that has checkpoints; the sweeps over all sizes run at the same time. None for a stack
    whose nodes start in slices alone."""
    title = f"A sweep of {RUNS} runs over all node sizes runs each once and leaves no GPU node"
    jobs = _jobs(there)
    if not jobs:
        return []
    began = there.timeline.now()
    try:
        for job in jobs:
            there.submit(job, _RUN_SECONDS)
    except ApiError as refusal:
        return [Check("sweep", title, False, f"refused by the API server: {refusal}")]
    there.wait(lambda: all(there.ended(job) for job in jobs), PATIENCE_SECONDS)
    outcomes = [_outcome(job, there) for job in jobs]
    for job in jobs:
        there.developer.delete(job_path(job.namespace, job.name))
    wrong = [words for each in outcomes for words in problems(each)]
    there.wait(lambda: not there.timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    if left := there.timeline.gpu_nodes_now():
        wrong.append(f"{counted(len(left), 'GPU node')} left: {', '.join(node.name for node in left)}")
    used = [node for node in there.timeline.nodes if node.gpu_pool and node.created >= began]
    done = f"{'; '.join(map(_words, outcomes))}; {counted(len(used), 'GPU node')} started and stopped"
    return [Check("sweep", title, not wrong, "; ".join(wrong) or done)]


def problems(outcome: SweepOutcome) -> list[str]:
    """Everything that went wrong; nothing if each run ran once, on its pools."""
    job, errors = outcome.job, []
    assert job.sweep is not None
    status, runs = outcome.status, job.sweep.runs
    if status.get("succeeded", 0) != runs:
        errors.append(f"{job.name}: {status.get('succeeded', 0)} of {runs} runs succeeded")
    if failed := status.get("failed"):
        errors.append(f"{job.name}: {counted(failed, 'failure')}")
    indexes = Counter(_index(pod) for pod, _pool in outcome.pods)
    # Without an interruption Kubernetes itself sometimes starts a run twice:
    # https://kubernetes.io/docs/concepts/workloads/controllers/job/#handling-pod-and-container-failures
    cut_short = {_index(pod) for pod, _pool in outcome.pods if pod.disrupted or pod.phase == "Failed"}
    if again := sorted(index for index in cut_short if indexes[index] > 1):
        errors.append(f"{job.name}: runs {', '.join(again)} were interrupted and started again")
    for pod, pool in outcome.pods:
        if pod.running is not None and pool not in job.pools:
            errors.append(f"{pod.name} ran on a node of {pool or 'no pool'}, not of {', '.join(job.pools)}")
    if job.at_once is not None and _at_once(outcome) > job.at_once:
        errors.append(f"{job.name}: {counted(_at_once(outcome), 'run')} at once, but {job.at_once} fit")
    return errors


def _jobs(there: Workplace) -> list[TrainingJobSpec]:
    """A job for each number of GPUs that a pod can have, on the cheapest pools for it; they share the runs.

    A run of a sweep is one pod, which no slice of several nodes takes.
    """
    sizes: dict[int, PodRequest] = {}
    for request, _ in there.whole_nodes():
        if request.workers == 1:
            sizes.setdefault(request.gpus, request)
    jobs = []
    for number, (gpus, request) in enumerate(sorted(sizes.items())):
        runs = RUNS // len(sizes) + (number < RUNS % len(sizes))
        asked = JobRequest(
            gpus=gpus,
            gpu=request.gpu,
            name=f"sweep-{gpus}",
            namespace=there.namespace_of(request),
            command=("python", "train.py", "--seed={seed}"),
            sweep=Sweep({"seed": tuple(map(str, range(runs)))}),
        )
        jobs.append(training_job(asked, place(there.offer, asked), there.image, there.offer))
    return jobs


def _outcome(job: TrainingJobSpec, there: Workplace) -> SweepOutcome:
    pods = there.timeline.pods_of(job.name, job.namespace)
    nodes = [there.timeline.node_of(pod) if pod.node else None for pod in pods]
    pools = [node.pool if node else None for node in nodes]
    status = there.api.get(job_path(job.namespace, job.name)).get("status") or {}
    return SweepOutcome(job, list(zip(pods, pools, strict=True)), status)


def _index(pod: PodRecord) -> str:
    return pod.labels.get(INDEX_ANNOTATION, "")


def _at_once(outcome: SweepOutcome) -> int:
    """The most pods that ran at the same time."""
    ran = [(pod.running, pod.finished) for pod, _pool in outcome.pods if pod.running is not None]
    return max((sum(a <= b and (end is None or b < end) for a, end in ran) for b, _end in ran), default=0)


def _words(outcome: SweepOutcome) -> str:
    job = outcome.job
    pools = ", ".join(sorted({pool for _pod, pool in outcome.pods if pool}))
    runs = f"{counted(len(outcome.pods), 'run')} with {counted(job.gpus, 'GPU')}"
    return f"{runs} on {pools}, at most {_at_once(outcome)} at once"
