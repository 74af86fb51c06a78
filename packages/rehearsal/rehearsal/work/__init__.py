"""User workloads after the scenario: services, sweeps, a job whose node is reclaimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from components.settings.services import InferenceService
from facts.concepts.offer import CONFIG_MAP, NAMESPACE, from_config_map
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import Timeline
from rehearsal.work import reclaim, services, sweep
from rehearsal.work.jobs import Wait

__all__ = ["checks"]


def checks(
    declared: Sequence[InferenceService],
    api: Api,
    developer: Api,
    timeline: Timeline,
    wait: Wait,
    reclaim_machine: Callable[[str], None],
) -> list[Check]:
    """Run them and check the results. Jobs are included if the stack has a bucket for checkpoints.

    ``declared``: the stack's services. ``reclaim_machine`` reclaims the machine of a node by its name.
    """
    results = services.play(declared, api, timeline, wait)
    offer = from_config_map(api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"))
    if offer.checkpoints is not None:
        results.append(sweep.play(offer, api, developer, timeline, wait))
        results.append(reclaim.play(offer, api, developer, timeline, wait, reclaim_machine))
    return results
