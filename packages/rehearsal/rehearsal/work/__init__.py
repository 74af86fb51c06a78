"""User workloads after the scenario: services, sweeps, jobs whose node the cloud takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from components.settings.services import InferenceService
from facts.concepts.offer import CONFIG_MAP, NAMESPACE, from_config_map
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import Wait
from rehearsal.work import maintenance, reclaim, repair, services, sweep
from rehearsal.work.jobs import Workplace

__all__ = ["checks"]


def checks(
    declared: Sequence[InferenceService],
    api: Api,
    developer: Api,
    timeline: Timeline,
    wait: Wait,
    reclaim_machine: Callable[[str], None],
    maintain: maintenance.Maintain,
    window: str,
    break_gpu: Callable[[str], None],
    run_cron_jobs: Callable[[], Sequence[str]],
) -> list[Check]:
    """Run them and check the results. Sweeps are included if the stack has a bucket for checkpoints.

    ``declared``: the stack's services. ``reclaim_machine`` reclaims the machine of a node by its name, ``maintain``
    lets the cloud's maintenance come, which the stack declares for ``window`` (such as ``sunday 02:00 4 h``).
    ``break_gpu``: a GPU of a node fails. ``run_cron_jobs`` runs the programs of CronJobs, and returns what each writes.
    """
    results = services.play(declared, api, timeline, wait)
    offer = from_config_map(api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"))
    there = Workplace(offer, api, developer, timeline, wait)
    results += maintenance.play(there, maintain, window)
    if offer.checkpoints is not None:
        results += [sweep.play(there), reclaim.play(there, reclaim_machine)]
        results.append(repair.play(there, break_gpu, run_cron_jobs))
    return results
