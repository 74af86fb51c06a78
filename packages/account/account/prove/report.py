"""The report of a run: rows for the terminal, JSON for a file, and where it differs from the rehearsal's report.

The rehearsal is a file that may be there; nothing of it is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from account.prove.plan import ProvePlan
from account.prove.run import ProveOutcome
from account.rows import ShownRow, passed
from facts.concepts.foreign_text import without_controls
from facts.concepts.offer import Offer
from gpu.causes import knows_all

SCHEMA: Final = 1
Part = Literal["cluster", "stack", "account"]
_SHOWN_BY: Final[Mapping[Part, str]] = {
    "cluster": "the cluster (--part cluster)",
    "stack": "a second `pulumi up` changes nothing (--part stack)",
    "account": "nothing is left in the account after `pulumi destroy` (--part account)",
}
NOT_SHOWN: Final[Mapping[Part, tuple[str, ...]]] = {
    part: (*(text for other, text in _SHOWN_BY.items() if other != part), "what the cloud bills") for part in _SHOWN_BY
}
"""Part of ``prove`` → what it does not show."""
_SCALE_UP: Final = ("FailedScaleUp", "NotTriggerScaleUp", "FailedScheduling")


def of_changes(changes: Sequence[str] | None) -> ShownRow:
    """The row of part *stack*. ``changes``: what a preview would change, ``None`` if it did not end."""
    row = {"id": "again", "title": "a second `pulumi up` changes nothing"}
    if changes is None:
        remedy = "its output above says why"
        return ShownRow(**row, result="failed", detail="the preview did not end", remedy=remedy)
    if changes:
        remedy = "if nothing was edited since the last update, this is worth a report"
        return ShownRow(**row, result="failed", detail="; ".join(changes), remedy=remedy)
    return ShownRow(**row, result="shown", detail="a preview changes no more than sizes that an autoscaler set")


def rows_json(
    part: Part, stack: str, rows: Sequence[ShownRow], versions: Mapping[str, str], at: datetime
) -> dict[str, Any]:
    """The report of a part that has rows and nothing else."""
    return {
        "schemaVersion": SCHEMA,
        "stack": stack,
        "part": part,
        "startedAt": at.isoformat(timespec="seconds"),
        "verdict": "pass" if passed(rows) else "fail",
        "versions": dict(versions),
        "rows": [asdict(row) for row in rows],
        "notShown": [*NOT_SHOWN[part]],
    }


def write(content: Mapping[str, Any], folder: Path) -> Path:
    """The report's file, named after its part."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{content['part']}.json"
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return file


def as_json(
    offer: Offer, planned: ProvePlan, outcome: ProveOutcome, versions: Mapping[str, str], compared: Sequence[Any]
) -> dict[str, Any]:
    """The report. ``versions``: of this command and the cluster. ``compared``: of ``compare``."""
    return {
        "schemaVersion": SCHEMA,
        "stack": offer.stack,
        "cloud": offer.cloud,
        "region": offer.region,
        "part": "cluster",
        "startedAt": outcome.started.isoformat(timespec="seconds"),
        "seconds": round((outcome.ended - outcome.started).total_seconds(), 1),
        "verdict": "pass" if passed(outcome.rows) else "fail",
        "versions": dict(versions),
        "maxUsd": round(outcome.max_usd, 4),
        "limitUsd": round(planned.limit, 4),
        "rows": [asdict(row) for row in outcome.rows],
        "notShown": [*NOT_SHOWN["cluster"]],
        "pools": dict(outcome.evidence),
        "differences": list(compared),
    }


def compare(offer: Offer, evidence: Mapping[str, Any], rehearsal: Path) -> list[dict[str, Any]]:
    """Rows ``what``, ``pool``, ``rehearsed``, ``observed`` in which the cluster differs from the last rehearsal, and
    texts that no table of causes knows; what is published stands where the rehearsal reports nothing."""
    rehearsed = _read(rehearsal)
    result: list[dict[str, Any]] = []
    for pool in offer.pools:
        seen = evidence.get(pool.name)
        if seen is None:
            continue

        def row(what: str, expected: Any, observed: Any, name: str = pool.name) -> None:
            if expected != observed:
                result.append({"what": what, "pool": name, "rehearsed": expected, "observed": observed})

        waits = _waits(rehearsed, pool.name)
        prices = {node["hourlyUsd"] for node in _nodes(rehearsed, pool.name) if node.get("hourlyUsd") is not None}
        if waits:
            row(
                "seconds until its first job runs (compressed time)",
                round(median(waits), 1),
                seen["waitedSeconds"],
            )
        if prices:
            # Of the rehearsal, each machine's own; several types have several prices.
            rounded = sorted(round(price, 4) for price in prices)
            published = None if pool.nodes.hourly_usd is None else round(pool.nodes.hourly_usd, 4)
            if published not in rounded:
                row("list price per hour", rounded[0] if len(rounded) == 1 else rounded, published)
        for node in seen["nodes"]:
            declared = {**pool.nodes.labels, **pool.nodes.cloud_labels}
            own = {key: node["labels"].get(key) for key in declared}
            row("labels", declared, own)
            taints = sorted(f"{each.key}={each.value}:{each.effect}" for each in pool.nodes.taints)
            present = sorted(f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["taints"])
            row("taints", taints, present)
            offered = {resource: int(node["allocatable"].get(resource, 0)) for resource in pool.devices}
            row("devices", dict(pool.devices), offered)
        unknown = [words for words in seen["events"] if words.startswith(_SCALE_UP) and not _known(words)]
        row("texts of events that no table knows", [], unknown)
    return _once(result)


def _known(words: str) -> bool:
    reason, _, message = words.partition(": ")
    sections = ("any_node", "new_nodes") if reason != "FailedScaleUp" else ("scale_up",)
    return any(knows_all(section, message) or knows_all(section, words) for section in sections)


def _once(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(row, sort_keys=True): row for row in rows}.values())


def _read(file: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _nodes(rehearsed: Mapping[str, Any], pool: str) -> list[Mapping[str, Any]]:
    return [node for node in rehearsed.get("nodes") or () if node.get("pool") == pool]


def _waits(rehearsed: Mapping[str, Any], pool: str) -> list[float]:
    """Waiting times of the sample jobs on nodes of the pool."""
    jobs = (work for work in rehearsed.get("workloads") or () if str(work.get("id")).startswith("job:"))
    pods = (pod for work in jobs for pod in work.get("pods") or () if pod.get("pool") == pool)
    return [pod["waitedSeconds"] for pod in pods if pod.get("waitedSeconds") is not None]


def difference_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The differences as a table in Markdown."""
    yield "| pool | what | rehearsed or published | observed |"
    yield "|---|---|---|---|"
    for row in rows:
        cells = (row["pool"], row["what"], _cell(row["rehearsed"]), _cell(row["observed"]))
        yield without_controls(f"| {' | '.join(cells)} |")


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text.replace("|", "\\|").replace("\n", " ")
