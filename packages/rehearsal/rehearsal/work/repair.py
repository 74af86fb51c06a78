"""A training job on a node whose GPU fails: the stack takes the node out of service in time, and the job continues.

The programs of the stack's CronJobs really run (``rehearsal/cluster/cron_jobs.py``). The minutes between two runs are
left out: the time at which they noted the problem is set back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from facts.concepts.broken_nodes import EVERY_MINUTES, MINUTES, SINCE, is_out_of_service, problem
from facts.concepts.pool import POOL_LABEL
from rehearsal.scenario.check import Check
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.work import reclaim
from rehearsal.work.jobs import Workplace

JOB: Final = "repaired-job"
_TITLE: Final = "A node with a broken GPU is taken out of service and removed; its job continues without a failure"


def play(there: Workplace, break_gpu: Callable[[str], None], run_cron_jobs: Callable[[], Sequence[str]]) -> Check:
    """The check, on a stack that has checkpoints. ``break_gpu``: a GPU of a node fails."""
    wrong: list[str] = []
    bill: list[str] = []

    def take(name: str) -> None:
        break_gpu(name)
        path = f"/api/v1/nodes/{name}"
        broken = there.api.get(path)
        pool = next(each for each in there.offer.pools if each.name == broken["metadata"]["labels"][POOL_LABEL])
        reason = problem(broken, pool.devices)
        # The first run notes the problem, and its minutes are not over in the second.
        output = [*run_cron_jobs(), *run_cron_jobs()]
        node = there.api.get(path)
        if is_out_of_service(node):
            wrong.append(f"{name} was taken out of service at once, as a restart of its device plugin would be")
        if SINCE in node["metadata"].get("annotations", {}):
            there.api.merge(path, {"metadata": {"annotations": {SINCE: "2026-01-01T00:00:00Z"}}})
        output += run_cron_jobs()
        if not there.wait(lambda: there.api.find(path) is None, PATIENCE_SECONDS):
            wrong.append(f"{name} ({reason}) is not removed; CronJobs write: {''.join(output) or 'nothing'}")
        # It is paid for until it is out of service, and then idle.
        minutes = MINUTES["broken"] + 2 * EVERY_MINUTES + (pool.scaling.unneeded_minutes or 0)
        price = (
            "at an unknown price"
            if pool.nodes.hourly_usd is None
            else f"{pool.nodes.hourly_usd * minutes / 60:.2f} USD"
        )
        bill.append(f"{reason}; the dead node is paid for at most {minutes} minutes ({price})")

    check = reclaim.play(there, take, name=JOB, title=_TITLE, noticed=False)
    details = [*wrong, check.detail] if wrong else [check.detail, *bill]
    return replace(check, passed=check.passed and not wrong, detail="; ".join(details))
