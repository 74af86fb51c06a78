"""The comment on a pull request: what changes, the gate's result, the rehearsal's verdict, cost and quota.

What a reviewer decides by comes first and fits a phone; the rest is folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from facts.concepts.counts import counted
from rehearsal.engine.events import PolicyViolation
from rehearsal.report.changes import PoolChange, StackChange
from rehearsal.report.markdown import CommentBlock, code, fold, joined, listing
from rehearsal.report.summary import hourly, sparkline

MARKER: Final = "<!-- gpucluster pull request report -->"
"""The first line, by which a workflow recognises the comment that it updates."""
_RULE: Final = re.compile(r"[a-z0-9-]+")
_LISTED: Final = 12
_CHART: Final = 24
"""Columns of a chart that a phone shows without scrolling."""


@dataclass(frozen=True, kw_only=True)
class StackReport:
    """One stack. Without a ``change`` there is no preview, and ``error`` says why.

    ``source`` is where the preview comes from, in words. ``rehearsal`` is the ``report.json`` of one, if there is one,
    and ``outdated`` says that it ran before the commit.
    """

    stack: str
    source: str
    change: StackChange | None = None
    error: str = ""
    rehearsal: Mapping[str, Any] | None = None
    outdated: bool = False


def comment(reports: Sequence[StackReport], *, removed: Sequence[str] = (), pages: str = "docs/policies.md") -> str:
    """The Markdown of the comment. ``removed`` are deleted stack files; ``pages`` is the address of the rules."""
    same = [report for report in reports if not _worth_reading(report)]
    blocks = [CommentBlock(MARKER)]
    for report in (report for report in reports if _worth_reading(report)):
        blocks += _of_stack(report, pages)
    for file in removed:
        stack = code(file.removeprefix("Pulumi.").removesuffix(".yaml"))
        text = f"its cluster runs and costs money until `pulumi destroy`, which needs the file. Stack: {stack}"
        blocks.append(CommentBlock(f"⚠️ **The stack file {code(file)} is removed**: {text}"))
    if same:
        blocks.append(CommentBlock(f"No changes: {', '.join(code(report.stack) for report in same)}"))
    if len(blocks) == 1:
        blocks.append(CommentBlock("No stack changes."))
    return joined(blocks)


def _worth_reading(report: StackReport) -> bool:
    change = report.change
    if change is None or not change.passed or change.before is None or change.not_deployed:
        return True
    return bool(change.resources or [*change.pools()])


def _of_stack(report: StackReport, pages: str) -> Iterator[CommentBlock]:
    change = report.change
    if change is None:
        yield CommentBlock(f"### {code(report.stack)}: ❌ no preview")
        yield CommentBlock(listing(report.error))
        yield from _rehearsal(report)
        return
    failed = "❌ refused by the gate" if change.outcome.mandatory else "" if change.passed else "❌ the preview fails"
    yield CommentBlock(f"### {code(report.stack)}: {failed or _headline(change)}")
    if change.complete:
        yield CommentBlock(_costs(change))
        yield CommentBlock("\n".join(_changes(change)))
    if failed and not change.outcome.mandatory:
        # Behind the program's own message the engine only says that the program failed.
        errors = [text for text in change.outcome.errors if not text.startswith("an unhandled error occurred")]
        yield CommentBlock("\n\n".join(map(listing, (errors or change.outcome.errors)[:3])))
    yield CommentBlock("\n".join(_gate(change, pages)))
    yield from _rehearsal(report)
    yield from _quotas(change)
    yield from _details(change, pages)
    yield CommentBlock(f"<sub>{_sources(report, change)}</sub>")


def _headline(change: StackChange) -> str:
    if change.before is None:
        return "🆕 new stack"
    if change.not_deployed:
        return "❔ compared without deployed resources"
    if change.replaced_clusters() or any(one.ends_jobs for one in change.pools()):
        return "⚠️ ends running jobs"
    if any(one.op not in ("create", "update") for one in change.resources):
        return "❔ replaces or deletes resources other than pools"
    return "✅ no running job ends"


def _costs(change: StackChange) -> str:
    before, after = change.before, change.after
    parts = []
    for words, old, new in (
        ("idle", before and before.idle_usd, after.idle_usd),
        ("at most", before and before.max_usd, after.max_usd),
    ):
        was = f"{hourly(old)} → " if before is not None and old != new else ""
        parts.append(f"{was}**{hourly(new)}** {words}")
    return ", ".join(parts)


def _changes(change: StackChange) -> Iterator[str]:
    for cluster in change.replaced_clusters():
        because = f" because of {_codes(cluster.reasons)}" if cluster.reasons else ""
        yield f"- 🔴 **cluster {code(cluster.name)}**: {cluster.op}{because}; **all jobs end**"
    if meaning := change.version_change():
        yield f"- 🔵 **Kubernetes version**: {meaning}"
    pools = [*change.pools()]
    for one in pools[:_LISTED]:
        yield _pool(change, one)
    if len(pools) > _LISTED:
        yield f"- … and {counted(len(pools) - _LISTED, 'more pool')} (details below)"
    others = _others(change)
    if not pools and not change.replaced_clusters():
        yield "- No pool changes" + (f"; {counted(len(others), 'other resource')} (below)" if others else "")
    if change.not_deployed:
        yield f"- Which pools would be replaced is unknown: {code(change.not_deployed)}"


def _pool(change: StackChange, one: PoolChange) -> str:
    mark = {"added": "🟢", "removed": "🔴", "replaced": "🔴"}.get(one.kind, "🔵")
    parts = [_codes(one.details)] if one.details else []
    if one.kind == "added":
        (pool,) = [pool for pool in change.after.pools if pool.name == one.pool]
        gpus = f"{pool.gpus_per_node} × {pool.gpu or 'GPU'} per node, " if pool.gpus_per_node else ""
        parts = [code(f"{gpus}{pool.capacity}, {pool.size} nodes, {hourly(pool.hourly_usd)} per node")]
    if one.because:
        parts.append(f"the cloud cannot change {_codes(one.because)} in place")
    if one.meaning:
        parts.append(one.meaning)
    if one.ends_jobs:
        parts.append("**running jobs on it end**")
    return f"- {mark} **{code(one.pool)} {one.kind}**" + (f": {'; '.join(parts)}" if parts else "")


def _gate(change: StackChange, pages: str) -> Iterator[str]:
    refused, rest = change.outcome.mandatory, [one for one in change.outcome.violations if not one.mandatory]
    if not refused:
        notes = f", {counted(len(rest), 'note')} (below)" if rest else ""
        yield "**Gate:** passes" + notes if change.passed else "**Gate:** no result, because the preview failed"
        return
    yield f"**Gate:** refuses, {counted(len({one.rule for one in refused}), 'rule')}"
    yield from (_violation(one, pages) for one in refused[:_LISTED])
    if len(refused) > _LISTED:
        yield f"- … and {len(refused) - _LISTED} more, in the job's log"


def _violation(violation: PolicyViolation, pages: str) -> str:
    rule = violation.rule if _RULE.fullmatch(violation.rule) else "rule"
    if f"More: docs/policies.md#{rule}" in violation.message:
        rule = f"[{rule}]({pages}#{rule})"
    # The SDK reports an unknown value as a policy that it could not run.
    lines = violation.message.rpartition(" during preview: ")[2].splitlines()
    message = " ".join(line for line in (lines[1:] or lines) if not line.startswith("More: "))
    return f"- {rule} on {code(violation.resource)}: {code(message)}"


def _rehearsal(report: StackReport) -> Iterator[CommentBlock]:
    run = report.rehearsal
    if run is None:
        return
    checks = run["checks"]
    passed = sum(check["passed"] for check in checks)
    at = datetime.fromisoformat(run["startedAt"]).strftime("%Y-%m-%d %H:%M UTC")
    old = ", **before this commit**" if report.outdated else ""
    mark = "✅ pass" if run["verdict"] == "pass" else "❌ fail"
    head = f"**Rehearsal** (simulated cloud, real Kubernetes): {mark}, {passed} of {len(checks)} checks, {at}{old}"
    yield CommentBlock("\n".join([head, *(f"- {code(reason)}" for reason in run["reasons"][:3])]))
    yield fold("Rehearsal: nodes per pool over time", listing("\n".join(_chart(run["pools"]))))


def _chart(pools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    width = max((len(pool["name"]) for pool in pools), default=0)
    for pool in pools:
        series = pool["series"]
        step = max(1, -(-len(series) // _CHART))
        highest = [max(series[start : start + step]) for start in range(0, len(series), step)]
        yield f"{pool['name']:{width}} ▕{sparkline(highest)}▏ {pool['peak']} of {pool['maxNodes']}"


def _quotas(change: StackChange) -> Iterator[CommentBlock]:
    before = {(one.name, one.place): one.needed for one in (change.before.quotas if change.before else ())}
    more = [one for one in change.after.quotas if one.needed > before.get((one.name, one.place), 0)]
    if not more:
        return
    lines = []
    for one in more:
        old = before.get((one.name, one.place))
        rise = f"{'' if old is None else f'{old} → '}{one.needed} {one.unit}"
        lines.append(f"- {code(one.name)} in {code(one.place)}: {code(rise)}")
    if len(lines) <= 3:
        yield CommentBlock("\n".join(["**Quota to ask for**", *lines]))
    else:
        gpus = [line for line, one in zip(lines, more, strict=True) if one.unit == "GPUs"] or lines
        yield CommentBlock("\n".join([f"**Quota to ask for**, all {len(lines)} below", *gpus[:2]]))
        yield fold("Quota to ask for", "\n".join(lines))


def _details(change: StackChange, pages: str) -> Iterator[CommentBlock]:
    if change.complete:
        yield fold("All pools", "\n".join(_table(change)))
    if others := _others(change):
        lines = [f"- {one.op} {code(one.name)} {code(one.type)}" for one in others[:_LISTED]]
        more = [f"- … and {len(others) - _LISTED} more"] if len(others) > _LISTED else []
        yield fold(f"{counted(len(others), 'other resource')}", "\n".join([*lines, *more]))
    if notes := [one for one in change.outcome.violations if not one.mandatory]:
        yield fold(f"{counted(len(notes), 'note')} of the gate", "\n".join(_violation(one, pages) for one in notes))


def _table(change: StackChange) -> Iterator[str]:
    yield "| pool | GPUs per node | capacity | nodes | price per node |"
    yield "|---|---|---|---|---|"
    for pool in change.after.pools:
        gpus = code(f"{pool.gpus_per_node} × {pool.gpu or 'GPU'}") if pool.gpus_per_node else "–"
        cells = (code(pool.name), gpus, code(pool.capacity), pool.size, hourly(pool.hourly_usd))
        yield f"| {' | '.join(cells)} |"


def _others(change: StackChange) -> list[Any]:
    """Changed resources that are no pool, replaced and deleted ones first."""
    states = [change.after, *([change.before] if change.before else [])]
    pools = {urn for state in states for pool in state.pools for urn in pool.urns}
    others = [one for one in change.resources if one.urn not in pools]
    return sorted(others, key=lambda one: (one.op in ("create", "update"), one.op, one.name))


def _sources(report: StackReport, change: StackChange) -> str:
    dated = f" of {code(change.after.prices_of)}" if change.after.prices_of else ""
    return f"{report.source}. List prices{dated} in US dollars, without traffic, discounts and taxes."


def _codes(texts: Sequence[str]) -> str:
    return ", ".join(map(code, texts[:3])) + (" …" if len(texts) > 3 else "")
