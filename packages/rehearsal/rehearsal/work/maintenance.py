"""A job during the cloud's maintenance: it keeps its node, and a node without a job is renewed.

The jobs are those that ``gpu submit --no-spot`` makes on this stack: one runs, the other has just ended when the window
comes. What clouds do in it: ``rehearsal/fleet/reclaim.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from facts.jobs.job import JobRequest, TrainingJobSpec
from facts.jobs.plan import training_job
from gpu.cluster import job_path, pod_path
from rehearsal.cluster.api import ApiError
from rehearsal.scenario.check import Check
from rehearsal.scenario.plan import HELD, SECONDS
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import PodRecord
from rehearsal.simulation import Night
from rehearsal.work.jobs import Workplace

_NAME: Final = "maintained"
_SETTLE_SECONDS: Final = 10.0
"""What an autoscaler that hears of maintenance needs to begin with it."""

Maintain = Callable[[], tuple[Night | None, Mapping[str, str]]]


def play(there: Workplace, maintain: Maintain, declared: str) -> list[Check]:
    """The check; on a stack whose GPU nodes may all be reclaimed, of the window alone, if the cloud has one."""
    jobs = _jobs(there)
    if not jobs:
        return window_check(maintain()[0], declared)
    title = "A running GPU job keeps its node through the cloud's maintenance, and an idle node is renewed"

    def check(problems: list[str], detail: str = "") -> list[Check]:
        return [Check("maintenance", title, not problems, "; ".join(problems) or detail)]

    try:
        for job in jobs:
            there.submit(job, HELD)
    except ApiError as refusal:
        return check([f"refused by the API server: {refusal}"])

    there.wait(lambda: all(there.running(job) for job in jobs), PATIENCE_SECONDS)
    before = [running[0] for job in jobs if (running := there.running(job))]
    if len(before) < len(jobs):
        return check([f"{len(before)} of {len(jobs)} jobs ran before the maintenance"])
    for pod, job in list(zip(before, jobs, strict=True))[1:]:
        there.api.merge(pod_path(pod.namespace, pod.name), {"metadata": {"annotations": {SECONDS: "1"}}})
        there.wait(lambda job=job: there.ended(job), PATIENCE_SECONDS)
    night, nodes = maintain()
    if "announced" in nodes.values():
        there.wait(lambda: not there.running(jobs[0]), _SETTLE_SECONDS)
    after = there.running(jobs[0])
    wrong = problems(before, after, night, nodes, declared)
    for job in jobs:
        there.developer.delete(job_path(job.namespace, job.name))
    there.wait(lambda: not there.timeline.gpu_nodes_now(), PATIENCE_SECONDS)
    became = ", ".join(f"{node} {outcome}" for node, outcome in nodes.items()) or "no GPU node is renewed by itself"
    when = f"{night.window}: " if night is not None and night.window else ""
    return check(wrong, f"{before[0].name} ran on; {when}{became}")


def window_check(night: Night | None, declared: str) -> list[Check]:
    """Whether the cloud renews nodes in the ``declared`` window; no check where it has none."""
    if night is None or not night.window:
        return []
    title = "The cloud renews nodes in the declared window"
    return [Check("maintenance", title, night.window == declared, f"{night.window}; maintenance declares {declared}")]


def problems(
    before: list[PodRecord], after: list[PodRecord], night: Night | None, nodes: Mapping[str, str], declared: str
) -> list[str]:
    """What went wrong with the first pod of ``before``, which ran, and with the others' nodes, which were idle.

    ``declared`` is the stack's window, such as ``sunday 02:00 4 h``.
    """
    wrong = []
    if night is not None and night.window not in ("", declared):
        wrong.append(f"the cloud renews nodes at {night.window}; maintenance declares {declared}")
    if night is not None and night.refused:
        wrong.append(f"the cloud renews no node: {night.refused}")
    if before[0].uid not in {pod.uid for pod in after}:
        wrong.append(f"{before[0].name} was ended on {before[0].node}")
    idle = {str(pod.node) for pod in before[1:] if pod.node != before[0].node}
    stuck = [node for node in sorted(idle) if nodes.get(node) in ("unchanged", "quarantined")]
    wrong += [f"{node}, which was idle, is {nodes[node]}" for node in stuck]
    return wrong


def _jobs(there: Workplace) -> list[TrainingJobSpec]:
    """One that fills a node, and another if there is a second node; empty if every pool is spot."""
    fitting = there.whole_nodes(spot=False)
    if not fitting:
        return []
    request, fit = fitting[0]
    asked = JobRequest(**vars(request), name=_NAME, command=("python", "train.py"))
    job, taken = training_job(asked, fit, there.image, there.offer), fit.pods_per_node * request.workers
    return [job, replace(job, name=f"{_NAME}-idle")] if fit.most_pods > taken else [job]
