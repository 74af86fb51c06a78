"""The comment on a pull request: what changes, the gate's result, the rehearsal's verdict, cost and quota.

What a reviewer decides by comes first and fits a phone; the rest is folded. It is Markdown for a code host, safe with
untrusted texts, and within the host's limit of length: a change's author chooses the names of pools and resources, and
what error messages quote. Such a text only appears in code, without what looks like a credential: there a host resolves
no link, mention, image or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.credentials import code, hidden, longest_run
from rehearsal.engine.events import PolicyViolation
from rehearsal.report.changes import PoolChange, ResourceChange, StackChange
from rehearsal.report.summary import hourly

LIMIT: Final = 65_536
"""GitHub refuses a longer comment; here bytes of UTF-8, which are never fewer than its characters."""


@dataclass(frozen=True)
class CommentBlock:
    """A complete piece of Markdown. Details with a ``title`` (HTML, trusted) open on demand, and are left out first
    where the whole is too long."""

    text: str
    title: str = ""

    @property
    def markdown(self) -> str:
        """The block as it stands in a comment."""
        return f"<details><summary>{self.title}</summary>\n\n{self.text}\n\n</details>" if self.title else self.text


def listing(text: str) -> str:
    """An untrusted text of several lines as a code block."""
    shown = hidden(text).strip()
    fence = "`" * max(3, longest_run(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def joined(blocks: Sequence[CommentBlock], limit: int = LIMIT) -> str:
    """The blocks as one text of at most ``limit`` bytes: whole blocks are left out, from the end, details first."""
    shown = list(blocks)
    note = CommentBlock("_Cut: the rest is longer than a comment may be; the job's log has all of it._")
    while len((text := _together(shown if len(shown) == len(blocks) else [*shown, note])).encode()) > limit:
        del shown[max((index for index, block in enumerate(shown) if block.title), default=len(shown) - 1)]
    return text


def _together(blocks: Sequence[CommentBlock]) -> str:
    return "\n\n".join(block.markdown for block in blocks) + "\n"


MARKER: Final = "<!-- gpucluster pull request report -->"
"""The first line, by which a workflow recognises the comment that it updates."""
_RULE: Final = re.compile(r"[a-z0-9-]+")
_LISTED: Final = 12


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
        yield CommentBlock(costs(change))
        yield CommentBlock(changes(change))
    if failed and not change.outcome.mandatory:
        # Behind the program's own message the engine only says that the program failed.
        errors = [text for text in change.outcome.errors if not text.startswith("an unhandled error occurred")]
        yield CommentBlock("\n\n".join(map(listing, (errors or change.outcome.errors)[:3])))
    yield CommentBlock(_gate(change, pages))
    yield from _rehearsal(report)
    if lines := quotas(change):
        head, shown = ("", lines) if len(lines) <= 3 else (f", all {len(lines)} below", lines[:2])
        yield CommentBlock("\n".join([f"**Quota to ask for**{head}", *shown]))
        if head:
            yield CommentBlock("\n".join(lines), f"All {len(lines)} quotas to ask for")
    yield from _details(change, pages)
    dated = f" of {code(change.after.prices_of)}" if change.after.prices_of else ""
    prices = f"List prices{dated} in US dollars, without traffic, discounts and taxes."
    yield CommentBlock(f"<sub>{report.source}. {prices}</sub>")


def _headline(change: StackChange) -> str:
    if change.before is None:
        return "🆕 new stack"
    if change.not_deployed:
        return "❔ compared without deployed resources"
    if change.replaced_clusters() or any(one.ends_jobs for one in change.pools()):
        return "⚠️ ends running jobs"
    pools = {urn for pool in (*change.before.pools, *change.after.pools) for urn in pool.urns}
    if any(one.op not in ("create", "update") and one.urn not in pools for one in change.resources):
        return "❔ replaces or deletes resources other than pools"
    return "✅ no running job ends"


def costs(change: StackChange) -> str:
    """The list price of the whole stack per hour, idle and at most."""
    before, after = change.before, change.after
    parts = []
    for words, old, new in (
        ("idle", before and before.idle_usd, after.idle_usd),
        ("at most", before and before.max_usd, after.max_usd),
    ):
        was = f"{hourly(old)} → " if before is not None and old != new else ""
        parts.append(f"{was}**{hourly(new)}** {words}")
    limit = "; upper limits, because not all prices are known" if after.at_most else ""
    return ", ".join(parts) + limit


def changes(change: StackChange) -> str:
    """A list of what changes in clusters and pools, and what that means for running jobs."""
    clusters, pools = change.replaced_clusters(), [*change.pools()]
    lines = []
    for cluster in clusters:
        because = f" because of {_codes(cluster.reasons)}" if cluster.reasons else ""
        lines.append(f"- 🔴 **cluster {code(cluster.name)}**: {cluster.op}{because}; **all jobs end**")
    if meaning := change.version_change():
        lines.append(f"- 🔵 **Kubernetes version**: {meaning}")
    lines += _first(map(_pool, pools))
    if not pools and not clusters:
        others = len(_others(change))
        lines.append("- No pool changes" + (f"; {counted(others, 'other resource')} (below)" if others else ""))
    if change.not_deployed:
        lines.append(f"- Which pools would be replaced is unknown: {code(change.not_deployed)}")
    return "\n".join(lines)


def _pool(one: PoolChange) -> str:
    mark = "🔴" if one.ends_jobs else "🟢" if one.kind == "added" else "🔵"
    parts = (
        _codes(one.details),
        f"the cloud cannot change {_codes(one.because)} in place" if one.because else "",
        one.meaning,
        "**running jobs on it end**" if one.ends_jobs else "",
    )
    text = "; ".join(filter(None, parts))
    return f"- {mark} **{code(one.pool)} {one.kind}**" + (f": {text}" if text else "")


def _gate(change: StackChange, pages: str) -> str:
    refused = change.outcome.mandatory
    if refused:
        head = f"refuses, {counted(len({one.rule for one in refused}), 'rule')}"
    elif not change.passed:
        head = "no result, because the preview failed"
    else:
        notes = len(change.outcome.violations)
        head = "passes" + (f", {counted(notes, 'note')} (below)" if notes else "")
    return "\n".join([f"**Gate:** {head}", *_first(_violation(one, pages) for one in refused)])


def _violation(violation: PolicyViolation, pages: str) -> str:
    rule = violation.rule if _RULE.fullmatch(violation.rule) else "rule"
    if f"More: docs/policies.md#{rule}" in violation.message:
        rule = f"[{rule}]({pages}#{rule})"
    lines = violation.message.splitlines()
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


def quotas(change: StackChange) -> list[str]:
    """A line for each quota of which the stack needs more than before."""
    before = change.before.quotas if change.before else {}
    lines = []
    for (name, place), (needed, unit) in change.after.quotas.items():
        old, _ = before.get((name, place), (0, unit))
        if needed > old:
            unit = unit.removesuffix("es" if unit == "addresses" else "s") if needed == 1 else unit
            rise = f"{old} → {needed} {unit}" if old else f"{needed} {unit}"
            lines.append(f"- {code(name)} in {code(place)}: {code(rise)}")
    return lines


def _details(change: StackChange, pages: str) -> Iterator[CommentBlock]:
    if change.complete:
        rows = ["| pool | GPUs per node | capacity | nodes | price per node |", "|---|---|---|---|---|"]
        for pool in change.after.pools:
            gpus = code(pool.gpus) if pool.gpus else "–"
            cells = (code(pool.name), gpus, code(pool.capacity), pool.size, pool.price)
            rows.append(f"| {' | '.join(cells)} |")
        yield CommentBlock("\n".join(rows), "All pools")
    if others := _others(change):
        lines = _first(f"- {one.op} {code(one.name)} {code(one.type)}" for one in others)
        yield CommentBlock("\n".join(lines), counted(len(others), "other resource"))
    if notes := [one for one in change.outcome.violations if not one.mandatory]:
        text = "\n".join(_violation(one, pages) for one in notes)
        yield CommentBlock(text, f"{counted(len(notes), 'note')} of the gate")


def _others(change: StackChange) -> list[ResourceChange]:
    """Changed resources that are no pool, replaced and deleted ones first."""
    states = [change.after, *([change.before] if change.before else [])]
    pools = {urn for state in states for pool in state.pools for urn in pool.urns}
    others = [one for one in change.resources if one.urn not in pools]
    return sorted(others, key=lambda one: (one.op in ("create", "update"), one.op, one.name))


def _first(lines: Iterable[str]) -> list[str]:
    shown = list(lines)
    return shown if len(shown) <= _LISTED else [*shown[:_LISTED], f"- … and {len(shown) - _LISTED} more"]


def _codes(texts: Sequence[str]) -> str:
    return ", ".join(map(code, texts[:3])) + (" …" if len(texts) > 3 else "")
