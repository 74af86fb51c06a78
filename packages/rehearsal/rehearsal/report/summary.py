"""What a rehearsal prints: progress (a live view in a terminal, plain lines elsewhere), and the summary at its end."""

from __future__ import annotations

import statistics
import threading
from collections import Counter, deque
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facts.concepts.counts import counted
from facts.concepts.rest import short_message
from rehearsal.report import report
from rehearsal.report.record import RehearsalRecord, scaled_by
from rehearsal.scenario.manifests import where_it_ran
from rehearsal.scenario.plan import Submission
from rehearsal.scenario.timeline import Timeline

_REFRESH_SECONDS: Final = 0.5
_RECENT_LINES: Final = 8
_TROUBLES: Final = 3


class Display:
    """A context manager; ``say`` may be called from any thread."""

    def __init__(self, console: Console, timeline: Timeline, maxima: Mapping[str, int]) -> None:
        """Show ``timeline`` on ``console``; ``maxima``: pool → its maximum. Without pools there is no live view."""
        self._console = console
        self._timeline = timeline
        self._maxima = maxima
        self._is_live = console.is_terminal and bool(maxima)
        self._stage = "starting"
        self._recent: deque[str] = deque(maxlen=_RECENT_LINES)
        self._live = Live(get_renderable=self._picture, console=console, refresh_per_second=2, transient=True)
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._report_changes, daemon=True)

    def __enter__(self) -> Display:
        if self._is_live:
            self._live.start()
        else:
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._is_live:
            self._live.stop()
        else:
            self._ticker.join(timeout=2)

    def stage(self, name: str) -> None:
        """Announce a stage."""
        self._stage = name
        self._write(f"── {name}")

    def done(self, seconds: float, result: str) -> None:
        """Announce the end of the current stage: ``done``, ``FAILED`` or ``interrupted``."""
        self._write(f"   {self._stage}: {result} after {seconds:.1f} s")

    def say(self, text: str) -> None:
        """One line about what happens."""
        if self._is_live:
            self._recent.append(f"{self._timeline.now():6.1f} s  {text}")
        else:
            self._write(f"   {text}")

    def _write(self, text: str) -> None:
        self._console.print(Text(f"{self._timeline.now():6.1f} s {text}"), soft_wrap=True)

    def _report_changes(self) -> None:
        shown, reported = "", set[str]()
        while not self._ended.wait(_REFRESH_SECONDS):
            for trouble in self._timeline.unusable_machines():
                if trouble.message not in reported:
                    reported.add(trouble.message)
                    self._write(f"   {trouble.name}: {trouble.message}")
            state = f"nodes: {self._nodes_line()}; pods: {_pods_line(self._timeline)}"
            if state != shown and self._timeline.nodes:
                shown = state
                self._write(f"   {state}")

    def _nodes_line(self) -> str:
        """The pools that have nodes; a stack may have dozens without."""
        sizes = Counter(node.pool for node in self._timeline.living_nodes())
        return ", ".join(f"{name} {sizes[name]}" for name in self._maxima if sizes[name]) or "none"

    def _picture(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        living = self._timeline.living_nodes()
        for name, most in self._maxima.items():
            mine = [node for node in living if node.pool == name]
            ready = sum(node.ready is not None for node in mine)
            bar = Text("█" * ready + "▒" * (len(mine) - ready) + "·" * max(0, min(most, 40) - len(mine)))
            table.add_row(name, bar, f"{len(mine)} of at most {most}")
        head = Text(f"{self._timeline.now():6.1f} s  {self._stage}   pods: {_pods_line(self._timeline)}", style="bold")
        troubles = (f"{trouble.name}: {trouble.message}" for trouble in self._timeline.unusable_machines())
        return Group(
            head,
            table,
            *(Text(line, style="yellow") for line in list(troubles)[-_TROUBLES:]),
            *(Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in self._recent),
        )


def _pods_line(timeline: Timeline) -> str:
    """The scenario's pods by phase, without the cluster's own."""
    phases = Counter(pod.phase for pod in timeline.pods if pod.namespace == "default" and pod.deleted is None)
    return ", ".join(f"{count} {phase.lower()}" for phase, count in sorted(phases.items())) or "none"


_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_PLACES_SHOWN: Final = 3
_NARROWEST: Final = 10
"""Columns of the narrowest chart of nodes over time."""


def show(console: Console, record: report.RunRecord) -> None:
    """Print the summary: chart, placements, checks, prices, verdict."""
    _nodes_over_time(console, record)
    _placements(console, record)
    _applied(console, record)
    _unusable_machines(console, record)
    show_checks(console, record)
    _figures(console, record)
    verdict(console, record, passed(len(record.checks), record.seed, scaled_by(record.real)))


def sparkline(series: list[int]) -> str:
    """A series as one line of blocks; its highest value fills the line's height, zero is empty."""
    top = max(series, default=0)
    if top == 0:
        return _BLOCKS[0] * len(series)
    return "".join(_BLOCKS[0 if value == 0 else max(1, round(value / top * 8))] for value in series)


def hourly(usd: float | None, *, at_most: bool = False) -> str:
    """A price per hour: ``$0.19/h``, ``at most $0.19/h`` where that is an upper limit, or ``unknown``."""
    return "unknown" if usd is None else f"{'at most ' if at_most else ''}${usd:.2f}/h"


def prices(idle: float | None, peak: float | None, most: float | None) -> str:
    """The line about a stack's prices per hour in US dollars."""
    maximum = hourly(most)
    return f"List price: idle {hourly(idle)}, peak of this run {hourly(peak)}, all pools at their maximum {maximum}"


def passed(checks: int, seed: int, scaled_by: str) -> str:
    """What the verdict says of a run in which all checks passed."""
    return f"0 → N → 0 → N, {counted(checks, 'check')}, seed {seed}{scaled_by and f', scaled by {scaled_by}'}"


def say(console: Console, markup: str) -> None:
    """Print a paragraph: wrapped at words in a terminal, one line in a log."""
    console.print(markup, highlight=False, soft_wrap=not console.is_terminal)


def _nodes_over_time(console: Console, record: report.RunRecord) -> None:
    if not record.timeline.nodes:
        return
    end, maxima = record.end, record.pools.maxima
    # Names and the end of the chart (the return to zero) must not be cut off.
    others = max(map(len, maxima)) + len("peak") + len("maximum") + len("▕▏") + 3 * 2
    points = max(_NARROWEST, min(report.SERIES_POINTS, console.width - others))
    table = Table(
        title=f"Nodes per pool over {end:.0f} s of compressed time", title_justify="left", box=None, pad_edge=False
    )
    for heading in ("pool", "", "peak", "maximum"):
        table.add_column(heading, no_wrap=True)
    for name, most in maxima.items():
        series = record.timeline.series(name, end, points)
        table.add_row(name, f"▕{sparkline(series)}▏", str(record.timeline.peak(name)), str(most))
    console.print(table)
    console.print()


def _placements(console: Console, record: report.RunRecord) -> None:
    if not record.played.submitted:
        return
    table = new_table("Where each pod ran", "workload", "pods", "ran on", "waited")
    burst: list[Submission] = []
    for one in record.played.submitted:
        if one.submission in _fill(record):
            burst.append(one.submission)
            continue
        table.add_row(*_row(record.timeline, one.submission.workload, [one.submission], one.reply.ok))
    if burst:
        table.add_row(*_row(record.timeline, f"burst ({counted(len(burst), 'pod')})", burst, True))
    console.print(table)
    console.print()


def new_table(title: str, *headings: str) -> Table:
    """A table without lines, whose cells are wrapped where the terminal is narrow."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _fill(record: report.RunRecord) -> list[object]:
    return [
        one.submission for one in record.played.submitted if one.submission.workload.removeprefix("burst-").isdigit()
    ]


def _row(timeline: Timeline, label: str, jobs: list[Submission], accepted: bool) -> tuple[str, str, str, str]:
    pods = [pod for job in jobs for pod in timeline.pods_of(job.workload, job.namespace)]
    if not accepted:
        return label, "0", "refused", "–"
    ran = [pod for pod in pods if pod.running is not None]
    if not ran:
        return label, str(len(pods)), "stayed Pending", "–"
    places = Counter(node.pool for pod in ran if (node := timeline.node_of(pod)) is not None)
    where = ", ".join(f"{pool} × {count}" if count > 1 else pool for pool, count in places.most_common(_PLACES_SHOWN))
    longest = max(pod.waited or 0.0 for pod in ran)
    return label, str(len(pods)), where, f"{longest:.1f} s"


def _applied(console: Console, record: report.RunRecord) -> None:
    if not record.applied:
        return
    table = new_table("Your manifests", "object", "pods", "ran on, or why not")
    for one in record.applied:
        until = record.played.ended
        pods = one.pods(record.timeline, until)
        where = where_it_ran(one, record.timeline, until)[1] if one.reply.ok else f"refused: {one.reply.message}"
        table.add_row(f"{one.kind} {one.name}", str(len(pods)) if one.has_pods else "", escape(where))
        for warning in one.reply.warnings:
            table.add_row("", "", f"[yellow]warning[/] {escape(short_message(warning))}")
    console.print(table)
    console.print()


def _unusable_machines(console: Console, record: report.RunRecord) -> None:
    troubles = report.unusable_machines(record)
    for event in troubles:
        say(console, f"[yellow]![/] {escape(event.name)}: {escape(event.message)}")
    if troubles:
        console.print()


def show_checks(console: Console, record: RehearsalRecord) -> None:
    """Print each check with its result."""
    for check in record.checks:
        mark = "[green]✓[/]" if check.passed else "[bold red]✗[/]"
        say(console, f"{mark} {escape(check.title)}: {escape(check.detail)}")
    console.print()


def _figures(console: Console, record: report.RunRecord) -> None:
    waited, cost = report.waits(record), report.cost_of(record)
    if waited:
        longest = f"median {statistics.median(waited):.1f} s, longest {max(waited):.1f} s"
        console.print(f"GPU pods waited (compressed time): {longest}, {counted(len(waited), 'pod')}", highlight=False)
    held = report.system_pods_on_gpu_nodes(record.timeline)
    console.print(f"System pods on GPU nodes: {len(held) or 'none'}", highlight=False)
    console.print(prices(cost.idle_hourly, cost.peak_hourly, cost.max_hourly), highlight=False)
    if cost.unpriced:
        console.print(f"[dim](without {', '.join(cost.unpriced)}: price unknown)[/]", highlight=False)


def verdict(console: Console, record: RehearsalRecord, passed: str) -> None:
    """Print the stages, what was not rehearsed, and the verdict last: ``passed``, or each reason."""
    stages = ", ".join(f"{stage.name} {stage.seconds:.1f} s" for stage in record.stages)
    say(console, f"Time: {stages}\n")
    for what, subjects in (
        ("Not rehearsed (why: report.json)", record.scope.not_rehearsed),
        ("Estimated", record.scope.estimates),
    ):
        if subjects:
            say(console, f"[dim]{what}: {escape(', '.join(subjects))}.[/]")
    reasons = record.reasons
    if not reasons:
        say(console, f"\n[bold green]PASS[/] {escape(record.stack)}: {passed}")
        return
    console.print(f"\n[bold red]FAIL[/] {escape(record.stack)}:")
    for reason in reasons:
        say(console, f"  [red]•[/] {escape(reason)}")
