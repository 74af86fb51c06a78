"""Progress of a rehearsal: a live view in a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

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
