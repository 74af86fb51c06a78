"""A training job that loses a node: its pods continue on another node, and no failure is counted.

The job is the one that ``gpu submit`` makes on this stack, by the same functions, with two workers where there is room
for them. No program runs in its containers: so handling of SIGTERM and checkpoints is not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.counts import counted
from facts.jobs.fit import Fit
from facts.jobs.job import INDEX_ANNOTATION, JobRequest, TrainingJobSpec
from facts.jobs.plan import training_job
from gpu.cluster import job_path, pod_path
from rehearsal.cluster.api import Api, ApiError, Object, condition
from rehearsal.scenario.check import Check
from rehearsal.scenario.plan import HELD, SECONDS
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import PodRecord
from rehearsal.work.jobs import Workplace

_ENDED_SECONDS: Final = "1"
_LISTED: Final = ("EvictionByEvictionAPI", "TerminationByKubelet", "DeletionByTaintManager")
"""Reasons of the condition ``DisruptionTarget`` that mean that the program got SIGTERM before its machine stopped:
https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions"""


@dataclass(frozen=True)
class ReclaimOutcome:
    """The job's pods before and after the node ``taken`` was lost, how they ended, and the Job's status.

    ``ends``: why each pod on that node ended, empty if unknown. ``notice``: seconds between the cloud's notice and the
    end of the machine; ``None`` for machines that are not spot, and where a job gets the time that it asks for.
    """

    taken: str
    before: Sequence[Object]
    ends: Sequence[str]
    after: Sequence[Object]
    status: Mapping[str, Any]
    notice: int | None
    together: bool = False
    """Whether the nodes of the job are a slice, which ends as a whole."""


def play(
    there: Workplace,
    take: Callable[[str], object],
    *,
    name: str = "reclaimed-job",
    title: str = "A training job whose node the cloud reclaims continues on another node without a failure",
    noticed: bool = True,
) -> Check:
    """The check ``name``, on a stack that has checkpoints. ``take`` takes the node of a name from the job.

    ``noticed``: the cloud ends the machine a few seconds after its notice.
    """
    job, fit = _job(there, name)
    try:
        there.submit(job, HELD)
    except ApiError as refusal:
        return Check(name, title, False, f"refused by the API server: {refusal}")
    outcome = _played(job, there, take, fit, noticed)
    there.developer.delete(job_path(job.namespace, job.name))
    wrong = problems(outcome, job.workers)
    return Check(name, title, not wrong, "; ".join(wrong) or _words(outcome, job))


def problems(outcome: ReclaimOutcome, workers: int) -> list[str]:
    """All deviations; empty if the job continued as declared."""
    if len(outcome.before) < workers:
        return [f"only {len(outcome.before)} of its {counted(workers, 'pod')} ran before the node was taken"]
    errors = []
    if untold := [end or "nothing" for end in outcome.ends if end not in _LISTED]:
        errors.append(f"pods on {outcome.taken} ended without notice: {', '.join(untold)}")
    grace = max(int(pod["spec"]["terminationGracePeriodSeconds"]) for pod in outcome.before)
    if outcome.notice is not None and grace > outcome.notice:
        errors.append(f"its grace period is {grace} s after SIGTERM, but the cloud gives {outcome.notice} s")
    if failed := outcome.status.get("failed"):
        errors.append(f"the Job counts {counted(failed, 'failure')}")
    if not condition({"status": outcome.status}, "Complete"):
        conditions = [f"{each['type']}: {each.get('message', '')}" for each in outcome.status.get("conditions") or ()]
        errors.append(f"the Job is not complete ({'; '.join(conditions) or 'no condition'})")
    after = {_index(pod): pod for pod in outcome.after}
    for pod in outcome.before:
        now, lost = after.get(_index(pod)), pod["spec"]["nodeName"] == outcome.taken
        if now is None:
            errors.append(f"{pod['metadata']['name']} was not replaced")
        elif lost and now["spec"]["nodeName"] == outcome.taken:
            errors.append(f"{now['metadata']['name']} is on the node that was taken")
        elif not lost and not outcome.together and now["metadata"]["uid"] != pod["metadata"]["uid"]:
            errors.append(f"{pod['metadata']['name']} on another node was ended too")
        elif _program(now) != _program(pod):
            errors.append(
                f"{now['metadata']['name']} started with other variables, command or resources than the pod it replaces"
            )
    return errors


def _job(there: Workplace, name: str) -> tuple[TrainingJobSpec, Fit]:
    """On spot nodes if the stack has some, each worker on a separate node if there are enough."""
    request, fit = (there.whole_nodes(spot=True) or there.whole_nodes())[0]
    namespace = there.namespace_of(request)
    at_once = min(fit.most_pods_of_one_pool, there.most_gpus(namespace) // request.gpus)
    asked = JobRequest(
        gpus=request.gpus,
        gpu=request.gpu,
        spot=request.spot,
        workers=max(request.workers, min(2, at_once)),
        name=name,
        namespace=namespace,
        command=("torchrun", "train.py"),
    )
    return training_job(asked, fit, there.image, there.offer), fit


def _played(
    job: TrainingJobSpec, there: Workplace, take: Callable[[str], object], fit: Fit, noticed: bool
) -> ReclaimOutcome:
    together = fit.pools[0].gpus.slice_nodes > 1
    there.wait(lambda: len(there.running(job)) == job.workers, PATIENCE_SECONDS)
    before = _read(there.api, there.running(job))
    taken = before[-1]["spec"]["nodeName"] if before else ""
    lost = {pod["metadata"]["uid"] for pod in before if together or pod["spec"]["nodeName"] == taken}
    if len(before) == job.workers:
        take(taken)

        # A Job that has ended starts no further pod.
        def is_replaced() -> bool:
            others = [pod for pod in there.running(job) if pod.uid not in lost]
            return len(others) == job.workers or there.ended(job)

        there.wait(is_replaced, PATIENCE_SECONDS)
    after = _read(there.api, there.running(job))
    for pod in after:
        annotations = {"metadata": {"annotations": {SECONDS: _ENDED_SECONDS}}}
        there.api.merge(pod_path(job.namespace, pod["metadata"]["name"]), annotations)
    there.wait(lambda: there.ended(job), PATIENCE_SECONDS)
    status = there.api.get(job_path(job.namespace, job.name)).get("status") or {}
    ends = [pod.disrupted for pod in there.timeline.pods_of(job.name, job.namespace) if pod.uid in lost]
    return ReclaimOutcome(taken, before, ends, after, status, fit.grace_seconds if noticed else None, together)


def _read(api: Api, pods: Iterable[PodRecord]) -> list[Object]:
    """The pods in the order of their indexes, without deleted ones."""
    objects = [api.find(pod_path(pod.namespace, pod.name)) for pod in pods]
    return sorted((pod for pod in objects if pod is not None), key=_index)


def _index(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(INDEX_ANNOTATION, ""))


def _program(pod: Object) -> Mapping[str, Any]:
    """A worker's variables about itself and the other workers; the name by which they find it is its host's."""
    spec = pod["spec"]
    (container,) = spec["containers"]
    container_fields = {key: container.get(key) for key in ("image", "command", "env", "resources")}
    return {**container_fields, "host": spec.get("hostname"), "subdomain": spec.get("subdomain"), "index": _index(pod)}


def _words(outcome: ReclaimOutcome, job: TrainingJobSpec) -> str:
    places = {pod["spec"]["nodeName"] for pod in outcome.after} - {pod["spec"]["nodeName"] for pod in outcome.before}
    lost = [pod["metadata"]["name"] for pod in outcome.before if pod["spec"]["nodeName"] == outcome.taken]
    notice = "" if outcome.notice is None else f", of the cloud's {outcome.notice} s"
    ended = f"{', '.join(lost)} ended by {', '.join(outcome.ends)}"
    return (
        f"{counted(len(outcome.before), 'worker')}; {outcome.taken} was taken; {ended} with {job.grace_seconds} s "
        f"after SIGTERM{notice}; they continued on {', '.join(sorted(places))} with the same index and variables; "
        "the Job is complete, without a failure"
    )
