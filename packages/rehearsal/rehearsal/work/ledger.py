"""The stack's ledger of costs, compared with the lives of the nodes that were observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from facts.concepts.counts import counted
from facts.concepts.ledger import DAY_LABEL, HEAD, NAMESPACE, Day, NodeEntry, by_day, month_of
from facts.concepts.rest import resource_path
from facts.concepts.unknown import at
from gpu.cluster import event_path
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import NodeRecord
from rehearsal.work.jobs import Workplace

_TITLE: Final = "The ledger has each GPU node that was there at one of its runs, to the cent of what the node cost"
_LATE_SECONDS: Final = 7.0
"""How much later than the node goes Kubernetes may note it: it looks every 5 seconds (``--node-monitor-period``), and
writes whole seconds. https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/"""
_EARLY_SECONDS: Final = 2.0
"""What a ledger of whole seconds may lack."""
_CENT: Final = 0.005
_JOINS_SECONDS: Final = 900


def play(there: Workplace, run_cron_jobs: Callable[[], Sequence[str]], job: str) -> Check:
    """The check, after the programs of the CronJobs ran while a node ran pods of ``job``. They run again, twice."""
    run_cron_jobs()
    output = run_cron_jobs()
    launched = {
        str(at(claim, "status", "nodeName")): _moment(each["lastTransitionTime"])
        for claim in there.api.list(resource_path("karpenter.sh/v1", "nodeclaims"))
        for each in at(claim, "status", "conditions") or ()
        if (each["type"], each["status"]) == ("Launched", "True")
    }
    config_maps = there.api.list(resource_path("v1", "configmaps", None, NAMESPACE))
    days = by_day(each for each in config_maps if DAY_LABEL in (each["metadata"].get("labels") or {}))
    head = next(each["data"] for each in config_maps if each["metadata"]["name"] == HEAD)
    # Where Karpenter stands for another autoscaler, nobody in the cluster may read its NodeClaims.
    starts = launched if head["starts"] == "machines" else None
    removals = there.api.list(event_path("default"), fieldSelector="reason=RemovingNode")
    noted = {each["involvedObject"]["uid"]: _moment(each["metadata"]["creationTimestamp"]) for each in removals}
    prices = {pool.name: pool.nodes.hourly_usd or 0.0 for pool in there.offer.pools}
    wrong, equal = compared(
        days, there.timeline.nodes, noted, _moment(head["until"]), prices, there.timeline.now(), starts
    )
    if not any(pod.job == job for day in days.values() for pod in day.pods.values()):
        wrong.append(f"no pod of {job} is recorded; the CronJobs write: {''.join(output) or 'nothing'}")
    return Check("ledger", _TITLE, not wrong, "; ".join(wrong) or equal)


def compared(
    days: Mapping[str, Day],
    lives: Iterable[NodeRecord],
    noted: Mapping[str, int],
    until: int,
    prices: Mapping[str, float],
    now: float,
    launched: Mapping[str, int] | None = None,
) -> tuple[list[str], str]:
    """What differs, and a line of the sums.

    By the API server's clock nothing may: a node is there from its creation until its end is ``noted`` (Unix time, by
    UID), or to the ledger's last run. ``now`` and the lives are by the observer's clock.

    ``launched``: node that is there → when its machine was, which bills it; of one that is gone that is not known.
    """
    by_uid = {life.uid: life for life in lives}
    ledger, account, observed, wrong = 0.0, 0.0, 0.0, []
    recorded = _recorded(days)
    for uid, node in recorded.items():
        life = by_uid.get(uid)
        if life is None:
            wrong.append(f"{node.name} was no node")
            continue
        # What was noted after the run began counts until then; an end that is not final comes with the next run.
        end = min(noted.get(uid, until), until) if node.final or life.deleted is None else node.end
        created = _moment(life.stamped)
        starting = created - _start(node, created, launched)
        seconds, stamped = node.end - node.start, end - created + starting
        lived = (now if life.deleted is None else life.deleted) - life.created + starting
        price = prices[node.pool] / 3600
        ledger, account, observed = ledger + seconds * price, account + stamped * price, observed + lived * price
        if seconds != stamped:
            wrong.append(f"{node.name} was there for {stamped} s by the API server's clock, recorded are {seconds} s")
        elif node.final and not -_EARLY_SECONDS <= seconds - lived <= _LATE_SECONDS:
            wrong.append(f"{node.name} was there for {lived:.0f} s, recorded are {seconds} s")
    month = month_of(days.values())
    parts = month["running"] + month["provisioning"] + month["idle"]
    for name, usd in (("parts", parts), ("account by the API server's clock", account)):
        if abs(usd - ledger) > _CENT:
            wrong.append(f"its {name} is ${usd:.4f}, its nodes ${ledger:.4f}")
    if not recorded:
        wrong.append("no node is recorded")
    sums = f"recorded ${ledger:.4f}, by the API server's clock ${account:.4f}, observed ${observed:.4f}"
    return wrong, f"{counted(len(recorded), 'node')}: {sums}"


def _start(node: NodeEntry, created: int, launched: Mapping[str, int] | None) -> int:
    """When the node has to count from: its creation, or the launch of its machine, which joins within 15 minutes:
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/liveness.go"""
    if launched is None:
        return created
    return launched.get(node.name, min(max(node.start, created - _JOINS_SECONDS), created))


def _recorded(days: Mapping[str, Day]) -> dict[str, NodeEntry]:
    """UID → the node on all of its days together."""
    nodes: dict[str, NodeEntry] = {}
    for day in days.values():
        for uid, part in day.nodes.items():
            known = nodes.get(uid, part)
            start, end = min(known.start, part.start), max(known.end, part.end)
            nodes[uid] = part._replace(start=start, end=end, final=known.final and part.final)
    return nodes


def _moment(time: str) -> int:
    return int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp())
