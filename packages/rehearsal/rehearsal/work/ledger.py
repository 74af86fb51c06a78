"""The stack's ledger of costs, compared with the lives of the nodes that were observed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from facts.concepts.counts import counted
from facts.concepts.ledger import DAY_LABEL, NAMESPACE, by_day, month_of
from facts.concepts.rest import resource_path
from rehearsal.scenario.check import Check
from rehearsal.work.jobs import Workplace

_TITLE: Final = "The ledger has each GPU node that was there at one of its runs, at the cost of the node's life"
_LATE_SECONDS: Final = 7.0
"""How much later than the node goes Kubernetes may note it: it looks every 5 seconds (``--node-monitor-period``), and
writes whole seconds. https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/"""


def play(there: Workplace, run_cron_jobs: Callable[[], Sequence[str]], job: str) -> Check:
    """The check, after the programs of the CronJobs ran while a node ran pods of ``job``. They run again, twice."""
    run_cron_jobs()
    output = run_cron_jobs()
    path = resource_path("v1", "configmaps", None, NAMESPACE)
    days = by_day(each for each in there.api.list(path) if DAY_LABEL in (each["metadata"].get("labels") or {}))
    prices = {pool.name: pool.nodes.hourly_usd or 0.0 for pool in there.offer.pools}
    lives = {node.name: node for node in there.timeline.nodes}
    billed: dict[str, float] = {}
    pools: dict[str, str] = {}
    for day in days.values():
        for node in day.nodes.values():
            billed[node.name] = billed.get(node.name, 0.0) + node.end - node.start
            pools[node.name] = node.pool
    now, ledger, account, wrong = there.timeline.now(), 0.0, 0.0, []
    for name, seconds in billed.items():
        life = lives.get(name)
        if life is None:
            wrong.append(f"{name} was no node")
            continue
        lived = (now if life.deleted is None else life.deleted) - life.created
        ledger += seconds * prices[pools[name]] / 3600
        account += lived * prices[pools[name]] / 3600
        if abs(seconds - lived) > _LATE_SECONDS:
            wrong.append(f"{name} was there for {lived:.0f} s, recorded are {seconds:.0f} s")
    month = month_of(days.values())
    parts = month["running"] + month["provisioning"] + month["idle"]
    if abs(parts - ledger) > 0.01:
        wrong.append(f"its parts are ${parts:.2f}, its nodes ${ledger:.2f}")
    if not any(pod.job == job for day in days.values() for pod in day.pods.values()):
        wrong.append(f"no pod of {job} is recorded; the CronJobs write: {''.join(output) or 'nothing'}")
    equal = f"{counted(len(billed), 'node')}: recorded ${ledger:.4f}, observed ${account:.4f}"
    return Check("ledger", _TITLE, not wrong and bool(billed), "; ".join(wrong) or equal)
