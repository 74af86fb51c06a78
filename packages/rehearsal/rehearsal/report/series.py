"""Figures of a report (``report.json``, see ``report.py``) as rows for pictures and tables. Moments are in seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any, Final

from facts.concepts.counts import counted

Report = Mapping[str, Any]
Rows = list[dict[str, Any]]

STATES: Final = {"no GPU": "base", "running": "running", "provisioning": "provisioning", "idle": "idle"}
"""Of a node → its colour: its pool has no GPUs; a user's GPU pod runs; its GPUs are not there yet; none of these."""
_NO_GPU: Final = "pools without GPUs"
_OTHERS: Final = "other GPU pools"


def stages(report: Report) -> Rows:
    """Each stage with the moments ``from`` and ``until`` which it ran."""
    ends = accumulate(stage["seconds"] for stage in report["stages"])
    return [
        {"name": stage["name"], "from": end - stage["seconds"], "until": end}
        for stage, end in zip(report["stages"], ends, strict=True)
    ]


def pools(report: Report, most: int) -> dict[str, Sequence[int]]:
    """Pools that ever had nodes → their sizes: those without GPUs together, then at most ``most`` with GPUs."""
    sizes = {name: nodes for name, nodes in report["overTime"]["nodes"].items() if any(nodes)}
    gpu = [pool["name"] for pool in report["pools"] if pool["gpu"] and pool["name"] in sizes]
    base = [name for name in sizes if name not in gpu]
    largest = sorted(gpu, key=lambda name: -max(sizes[name]))[: most if len(gpu) <= most else most - 1]
    together = {base[0] if len(base) == 1 else _NO_GPU: base}
    together |= {name: [name] for name in gpu if name in largest} | {_OTHERS: [n for n in gpu if n not in largest]}
    return {
        name: [sum(each) for each in zip(*(sizes[member] for member in members), strict=True)]
        for name, members in together.items()
        if members
    }


def steps(report: Report, series: Mapping[str, Sequence[float]]) -> Rows:
    """A row for each value of each series; of several values at one second the last."""
    seconds = [*report["overTime"]["seconds"], report["seconds"]]
    return [
        {"second": second, "series": name, "value": value}
        for name, values in series.items()
        for second, value in dict(zip(seconds, [*values, values[-1]], strict=True)).items()
    ]


def periods(node: Mapping[str, Any], report: Report) -> Rows:
    """The life of one of the report's ``nodes`` as periods of one state each, without gaps."""
    end = report["seconds"] if node["deleted"] is None else node["deleted"]
    gpu = {pool["name"]: pool["gpu"] for pool in report["pools"]}[node["pool"]]
    edges = [(node["created"], "provisioning" if gpu else "no GPU")]
    if gpu and node["ready"] is not None:
        edges.append((node["ready"], "idle"))
        for start, until in node["busy"]:
            edges += [(start, "running"), (until, "idle")]
    untils = [*(start for start, _ in edges[1:]), end]
    return [
        {"node": node["name"], "state": state, "from": start, "until": until}
        for (start, state), until in zip(edges, untils, strict=True)
        if until > start
    ]


def hourly(report: Report) -> Rows:
    """The list price of all nodes at each change, by their state; empty if no node has a known price."""
    lives = [(node["hourlyUsd"] or 0.0, row) for node in report.get("nodes", ()) for row in periods(node, report)]
    if not any(usd for usd, _ in lives):
        return []
    moments = sorted({0.0, report["seconds"], *(row[edge] for _, row in lives for edge in ("from", "until"))})

    changes: defaultdict[tuple[str, float], float] = defaultdict(float)
    for usd, row in lives:
        changes[row["state"], row["from"]] += usd
        changes[row["state"], row["until"]] -= usd
    return [
        # Sums of differences: rounded, so that nothing is left of nodes that are deleted.
        {"second": at, "series": state, "value": round(value, 6)}
        for state in STATES
        for at, value in zip(moments, accumulate(changes[state, at] for at in moments), strict=True)
    ]


def happenings(report: Report) -> list[tuple[float, str]]:
    """What happened, in words and in order: stages, pools that grow and shrink, and the run's own ``events``."""
    lines = [(stage["from"], f"Stage: {stage['name']}") for stage in stages(report)]
    lines += [(event["at"], event["text"]) for event in report.get("events", ())]
    over = report.get("overTime", {"seconds": [], "nodes": {}})
    for pool, sizes in over["nodes"].items():
        changes = [
            (at, before, size)
            for at, before, size in zip(over["seconds"], [0, *sizes], sizes, strict=False)
            if size != before
        ]
        for grows, run in groupby(changes, key=lambda change: change[2] > change[1]):
            members = list(run)
            (start, before, _), (end, _, after) = members[0], members[-1]
            until = f", until {end:.1f} s" if end > start else ""
            lines.append(
                (start, f"{pool} {'grows' if grows else 'shrinks'}: {before} → {counted(after, 'node')}{until}")
            )
    return sorted(lines, key=lambda line: line[0])
