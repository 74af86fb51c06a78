"""``gpu cost --month``: what a month cost by team, user or job, as the cluster recorded it."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Final

from rich.markup import escape

from facts.concepts.counts import counted
from facts.concepts.ledger import (
    EVERY_MINUTES,
    HEAD,
    MONTH_LABEL,
    NAMESPACE,
    Cost,
    Day,
    NodeEntry,
    PodEntry,
    by_day,
    cost_of,
    hours,
    idle_usd,
    uncounted,
)
from facts.concepts.rest import resource_path
from gpu.cluster import ClusterClient
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, dollars, fail, out, print_json, table_of

_MONTH: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_NAMED: Final = 5
"""How many nodes a note names."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet would execute: https://owasp.org/www-community/attacks/CSV_Injection."""


class By(str, Enum):
    """What the rows are."""

    team = "team"
    user = "user"
    job = "job"


@dataclass(frozen=True)
class CostRow:
    """The pods of a team, a user or a job; a part that the rows do not tell apart is empty."""

    team: str = ""
    user: str = ""
    job: str = ""

    @classmethod
    def of(cls, pod: PodEntry, by: By) -> CostRow:
        """The row that counts the pod."""
        if by is By.job:
            return cls(pod.namespace, pod.user, pod.job)
        return cls(team=pod.namespace) if by is By.team else cls(user=pod.user or "(unknown)")


def check_month(text: str) -> None:
    """End the command if ``text`` is no month."""
    if not _MONTH.fullmatch(text):
        fail(f"--month {text}: write a year and a month: 2026-11", EXIT_BAD_INPUT)


def show_month(cluster: ClusterClient, month: str, by: By, *, team: str | None, as_csv: bool, as_json: bool) -> None:
    """Print the month (``2026-11``) as a table, as CSV or as JSON; ``team``: of one namespace, without idle nodes.

    Raises:
        ClusterError: the user may not read it.
    """
    config_maps = cluster.list(
        resource_path("v1", "configmaps", None, NAMESPACE), labelSelector=f"{MONTH_LABEL}={month}"
    )
    days = by_day(config_maps)
    if not days:
        _without_days(cluster, month, by, team, as_csv, as_json)
        return
    if team is not None:
        days = {day: _of_team(each, team) for day, each in days.items()}
    if as_csv:
        _write_csv(days, by, cluster.offer().region)
        return
    costs = _costs(days.values(), by)
    idle = 0.0 if team is not None else sum(map(idle_usd, days.values()))
    data = _head(cluster)
    notes = [
        *_notes(days.values()),
        *(_starts(days.values()) if data.get("starts") == "nodes" and team is None else ()),
    ]
    total = sum(cost.running + cost.provisioning for cost in costs.values()) + idle
    if as_json:
        rows = [{**vars(row), **_json(cost)} for row, cost in costs.items()]
        print_json({"month": month, "by": by.value, "rows": rows, "idleUsd": idle, "totalUsd": total, "notes": notes})
        return
    names = ["team", "user", "job"] if by is By.job else [by.value]
    numbers = ("GPU hours", "running", "provisioning", "total")
    table = table_of(*names, *numbers, numbers=numbers)
    for row, cost in costs.items():
        parts = (cost.running, cost.provisioning, cost.running + cost.provisioning)
        cells = [escape(str(getattr(row, name))) for name in names]
        table.add_row(*cells, f"{cost.gpu_hours:.2f}", *map(dollars, parts))
    blank = [""] * (len(names) - 1)
    if team is None:
        table.add_row("idle nodes", *blank, "", "", "", dollars(idle))
    table.add_row("all", *blank, "", "", "", dollars(total))
    out().print(table)
    for note in notes:
        out().print(f"[dim]{escape(note)}[/]")


def _of_team(day: Day, team: str) -> Day:
    return Day({}, {uid: pod for uid, pod in day.pods.items() if pod.namespace == team}, {})


def _costs(days: Iterable[Day], by: By) -> dict[CostRow, Cost]:
    """The rows with their costs, the most expensive first."""
    costs: dict[CostRow, Cost] = {}
    for day in days:
        for pod in day.pods.values():
            row = CostRow.of(pod, by)
            costs[row] = costs.get(row, Cost()).plus(cost_of(pod))
    order = sorted(costs.items(), key=lambda each: (-each[1].running - each[1].provisioning, str(each[0])))
    return dict(order)


def _notes(days: Iterable[Day]) -> Iterator[str]:
    """What the figures do not say."""
    whole = [*days]
    nodes = [node for day in whole for node in day.nodes.values() if not uncounted(node)]
    unknown = [node for day in whole for node in day.nodes.values() if uncounted(node)]
    at_most = {node.pool for node in nodes if node.at_most}
    unpriced = {node.pool for node in nodes if node.usd is None}
    estimated = {uid for day in whole for uid, pod in day.pods.items() if pod.estimated}
    missing = {uid: count for day in whole for uid, count in day.missing.items()}
    if at_most:
        yield f"node price of {', '.join(sorted(at_most))} not known exactly; its upper limit counts"
    if unpriced:
        yield f"node price of {', '.join(sorted(unpriced))} unknown; these nodes are not included"
    if estimated:
        yield (
            f"at most, for pods that ended while nothing was recorded: {len(estimated)}, counted by their own times; "
            "the idle time of nodes that are not known is not included"
        )
    if unknown:
        time = sum(hours(node.start, node.end) for node in unknown)
        names = sorted({f"{node.name} ({node.pool or 'perhaps without GPUs'})" for node in unknown})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield (
            f"not counted: nodes that came or went while nothing was recorded, at most {time:.1f} hours: "
            f"{', '.join(names[:_NAMED])}{more}"
        )
    if missing:
        yield f"not counted: {counted(sum(missing.values()), 'pod')} of {counted(len(missing), 'Job')}"


def _head(cluster: ClusterClient) -> Mapping[str, str]:
    """What the ledger says of itself; empty without one."""
    head = cluster.find(resource_path("v1", "configmaps", HEAD, NAMESPACE))
    return (head or {}).get("data") or {}


def _starts(days: Iterable[Day]) -> Iterator[str]:
    """What is billed before a machine is a node, and what no cluster knows without Karpenter."""
    first: dict[str, NodeEntry] = {}
    for day in days:
        for uid, node in day.nodes.items():
            if node.usd is not None and (uid not in first or node.start < first[uid].start):
                first[uid] = node
    # One that is there since before the month began started in another one.
    joined = [node for node in first.values() if node.start % 86_400]
    if joined:
        usd = sum(node.usd or 0.0 for node in joined) / 60
        yield (
            f"not counted: the time from the start of a machine until it is a node, some minutes each: "
            f"{counted(len(joined), 'machine')}, {dollars(usd)} for each minute that all of them took"
        )


def _json(cost: Cost) -> dict[str, float]:
    return {"gpuHours": cost.gpu_hours, "runningUsd": cost.running, "provisioningUsd": cost.provisioning}


def _without_days(cluster: ClusterClient, month: str, by: By, team: str | None, as_csv: bool, as_json: bool) -> None:
    """A month that is one line, or of which nothing is known."""
    data = _head(cluster)
    if not data:
        if cluster.list_if_allowed("/api/v1/namespaces", fieldSelector=f"metadata.name={NAMESPACE}"):
            fail(
                f"nothing is recorded yet: the CronJob {HEAD} in kube-system records every {EVERY_MINUTES} minutes, "
                "unless it is suspended or does not run, as in a rehearsal (docs/operations.md, Costs by month)",
                EXIT_NO,
            )
        fail("this cluster records no costs: its stack is older (run `pulumi up`), or has no autoscaler", EXIT_NO)
    if month not in data:
        fail(f"--month {month}: nothing is recorded; the last record is of {data.get('until', 'no time')}", EXIT_NO)
    if as_csv or team is not None:
        what = "--csv" if as_csv else "--team"
        fail(f"{what}: of {month} only its total is kept; leave {what} out", EXIT_BAD_INPUT)
    line = json.loads(data[month])
    total = line["running"] + line["provisioning"] + line["idle"]
    note = f"of {month} only its total is kept, not what each {by.value} cost"
    if as_json:
        costs = _json(Cost(line["gpu_hours"], line["running"], line["provisioning"]))
        totals = {"idleUsd": line["idle"], "totalUsd": total}
        print_json({"month": month, "by": by.value, "rows": [], **costs, **totals, "notes": [note]})
        return
    numbers = ("GPU hours", "running", "provisioning", "idle nodes", "total")
    table = table_of("month", *numbers, numbers=numbers)
    parts = (line["running"], line["provisioning"], line["idle"], total)
    table.add_row(month, f"{line['gpu_hours']:.2f}", *map(dollars, parts))
    out().print(table)
    out().print(f"[dim]{note}[/]")


_COLUMNS: Final = (
    *("BillingCurrency", "BillingPeriodStart", "BillingPeriodEnd", "ChargeCategory", "ChargeDescription"),
    *("ChargePeriodStart", "ChargePeriodEnd", "ConsumedQuantity", "ConsumedUnit", "ListCost", "RegionId"),
    *("ServiceCategory", "SubAccountName", "x_User", "x_Job"),
)
"""Of FOCUS, the columns that are known here; it names further ones ``x_``.
https://learn.microsoft.com/cloud-computing/finops/focus/metadata, https://focus.finops.org/focus-specification/"""


def _write_csv(days: Mapping[str, Day], by: By, region: str) -> None:
    """A row for what each row of the table cost on each day, and for idle nodes."""
    writer = csv.DictWriter(sys.stdout, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for day, of_day in days.items():
        first = date.fromisoformat(day)
        month = first.replace(day=1)
        period = {
            "BillingCurrency": "USD",
            "BillingPeriodStart": f"{month}T00:00:00Z",
            "BillingPeriodEnd": f"{(month + timedelta(days=32)).replace(day=1)}T00:00:00Z",
            "ChargeCategory": "Usage",
            "ChargePeriodStart": f"{first}T00:00:00Z",
            "ChargePeriodEnd": f"{first + timedelta(days=1)}T00:00:00Z",
            "RegionId": region,
            "ServiceCategory": "Compute",
        }
        for row, cost in _costs([of_day], by).items():
            of_row = {"SubAccountName": _cell(row.team), "x_User": _cell(row.user), "x_Job": _cell(row.job)}
            ran = {"ConsumedQuantity": f"{cost.gpu_hours:.4f}", "ConsumedUnit": "GPU hours"}
            for what, usd, used in (("running", cost.running, ran), ("provisioning", cost.provisioning, {})):
                if usd or used:
                    writer.writerow({**period, **of_row, **used, "ChargeDescription": what, "ListCost": f"{usd:.6f}"})
        if idle := idle_usd(of_day):
            writer.writerow({**period, "ChargeDescription": "idle nodes", "ListCost": f"{idle:.6f}"})


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
