"""``python -m rehearsal.report.drift EVENTS``: what a preview with refresh would change, as Markdown.

``EVENTS`` is the preview's event log. A pool's size that an autoscaler set is no drift, so the engine's own
``--expect-no-changes`` cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rehearsal.engine.events import UNCHANGED, Step, outcome, parse_line
from rehearsal.report.pull_request import code


def drifted(steps: Iterable[Step]) -> list[str]:
    """One line per resource that the next update would change: operation, type, name and the inputs that differ."""
    lines = []
    for step in steps:
        if step.op not in UNCHANGED and not step.sizes_only:
            inputs = f": {', '.join(map(code, step.changes))}" if step.changes else ""
            lines.append(f"- {step.op} {code(step.type)} {code(step.name)}{inputs}")
    return list(dict.fromkeys(lines))


def main(arguments: Sequence[str]) -> int:
    """Print the lines; 1 if the log has no summary, because the preview did not end."""
    (path,) = arguments
    events = [event for line in Path(path).read_text().splitlines() if (event := parse_line(line)) is not None]
    if not any("summaryEvent" in event for event in events):
        sys.stderr.write(f"{path}: the preview did not end, so nothing is known about drift\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in drifted(outcome(events).steps))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
