"""The checks of a rehearsal.

Every check evaluates observations (nodes, pods, events, the engine's results), never the plan, and reports them. A
check evaluates exactly what its title says, and each can fail.
"""

from __future__ import annotations

from collections.abc import Mapping

from rehearsal.checks import cluster, workloads
from rehearsal.checks.admission import admission_checks
from rehearsal.checks.cluster import groups_as_declared, groups_as_planned, leftover_checks
from rehearsal.checks.objects import object_checks
from rehearsal.checks.permissions import account_checks, autoscaler_rights, calls_allowed, people_checks, team_checks
from rehearsal.scenario.check import Check, Pools
from rehearsal.scenario.plan import Scenario
from rehearsal.scenario.player import Played
from rehearsal.scenario.timeline import Timeline

__all__ = [
    "account_checks",
    "admission_checks",
    "autoscaler_rights",
    "calls_allowed",
    "cluster_checks",
    "groups_as_declared",
    "groups_as_planned",
    "leftover_checks",
    "object_checks",
    "people_checks",
    "team_checks",
]


def cluster_checks(
    timeline: Timeline, pools: Pools, scenario: Scenario, played: Played, messages: Mapping[str, str] | None = None
) -> list[Check]:
    """All checks of what happened in the cluster, in the order of the scenario.

    ``messages``: pool → the autoscaler's messages about it (``rehearsal/scenario/autoscaler_messages.py``).
    """
    return [
        cluster.starts_at_zero(timeline, played),
        cluster.cpu_work_wakes_none(timeline, played),
        *workloads.workload_checks(timeline, scenario, played),
        *workloads.burst_checks(timeline, scenario, played),
        *cluster.reached(timeline, pools, played, messages or {}),
        cluster.nodes_as_declared(timeline, pools),
        *cluster.limits(timeline, pools),
        cluster.system_pods_off_gpus(timeline),
        cluster.system_pods_run(timeline, played),
        cluster.back_to_zero(timeline, played),
        *workloads.again_checks(timeline, scenario, played),
        *workloads.shortage_checks(timeline, scenario, played),
        *(() if pools.admin is None else (cluster.admin_stays(timeline, pools, played),)),
    ]
