"""User workloads after the scenario: services, sweeps, jobs whose node the cloud takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from components.settings.sections.services import InferenceService
from facts.concepts.offer import CONFIG_MAP, NAMESPACE, from_config_map
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import Wait
from rehearsal.simulation import Night
from rehearsal.work import ledger, maintenance, reclaim, repair, services, sweep
from rehearsal.work.jobs import Workplace

__all__ = ["checks"]


class CloudEvents(Protocol):
    """What a cloud does to machines, and what runs in the cluster by itself."""

    def reclaim(self, node: str) -> None:
        """Take the machine of a node back."""

    def maintain(self) -> tuple[Night | None, Mapping[str, str]]:
        """Let the maintenance come."""
        ...

    def break_gpu(self, node: str) -> None:
        """Let a GPU of a node fail."""

    def run_cron_jobs(self) -> Sequence[str]:
        """Run the programs of CronJobs; returns what each writes."""
        ...


def checks(
    declared: Sequence[InferenceService],
    api: Api,
    developer: Api,
    timeline: Timeline,
    wait: Wait,
    cloud: CloudEvents,
    window: str,
) -> list[Check]:
    """Run them and check the results. Sweeps are included if the stack has a bucket for checkpoints.

    ``declared``: the stack's services. The stack declares maintenance for ``window`` (such as ``sunday 02:00 4 h``).
    """
    results = services.play(declared, api, timeline, wait)
    offer = from_config_map(api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"))
    there = Workplace(offer, api, developer, timeline, wait)
    results += maintenance.play(there, cloud.maintain, window)
    if offer.checkpoints is not None:
        results += sweep.play(there)
    # A team may have fewer GPUs than a slice of its pool.
    if offer.checkpoints is not None and there.whole_nodes():
        results.append(reclaim.play(there, cloud.reclaim))
        results.append(repair.play(there, cloud.break_gpu, cloud.run_cron_jobs))
        results.append(ledger.play(there, cloud.run_cron_jobs, repair.JOB))
    return results
