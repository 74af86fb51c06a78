"""What a preview with refresh would change, as Markdown.

A pool's size that an autoscaler set is no drift, so the engine's own ``--expect-no-changes`` cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterable

from facts.concepts.credentials import code
from rehearsal.engine.events import UNCHANGED, Step, outcome, parse_line


def drifted(steps: Iterable[Step]) -> list[str]:
    """One line per resource that the next update would change: operation, type, name and the inputs that differ."""
    lines = []
    for step in steps:
        if step.op not in UNCHANGED and not step.sizes_only:
            inputs = f": {', '.join(map(code, step.changes))}" if step.changes else ""
            lines.append(f"- {step.op} {code(step.type)} {code(step.name)}{inputs}")
    return list(dict.fromkeys(lines))


def drift_of(log: str) -> list[str] | None:
    """The same of a preview's event log; ``None`` if it has no summary, because the preview did not end."""
    events = [event for line in log.splitlines() if (event := parse_line(line)) is not None]
    return drifted(outcome(events).steps) if any("summaryEvent" in event for event in events) else None
