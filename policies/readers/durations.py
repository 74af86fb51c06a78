"""Durations and schedules as Kubernetes and its autoscalers write them, in minutes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from facts.concepts import durations
from facts.concepts.unknown import UNKNOWN, Maybe

_DAY: Final = 24 * 60
# https://github.com/robfig/cron/blob/v3/doc.go: the parser of Kubernetes and Karpenter
_NAMED: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def minutes_of(value: Any) -> Maybe[float | None]:
    """A Go duration (``1h30m``, ``720h``) in minutes; ``None`` where nothing is given, ``UNKNOWN`` for other text."""
    if value is None:
        return None
    if not isinstance(value, str):
        return 0.0 if value == 0 else UNKNOWN
    match = durations.seconds(value.strip())
    return UNKNOWN if match is None else match / 60


def longest_window(schedule: Any, duration: Any) -> Maybe[float]:
    """Minutes that a window with this cron ``schedule`` and ``duration`` is open; infinity if it never closes.

    Windows that touch are one. Days of the week and of the month are ignored, so a window that is open
    all day counts as open forever only if the schedule is for every day.
    """
    lasts = minutes_of(duration)
    if not isinstance(schedule, str) or lasts is UNKNOWN or lasts is None:
        return UNKNOWN
    fields = _NAMED.get(schedule.strip(), schedule).split()
    if len(fields) != 5:
        return UNKNOWN
    minutes, hours = _values(fields[0], 60), _values(fields[1], 24)
    if not minutes or not hours:
        return UNKNOWN
    starts = sorted(hour * 60 + minute for hour in hours for minute in minutes)
    gaps = [after - before for before, after in zip(starts, [*starts[1:], starts[0] + _DAY], strict=True)]
    if max(gaps) <= lasts and fields[2:] == ["*", "*", "*"]:
        return math.inf
    longest = run = lasts
    for gap in (*gaps, *gaps):  # twice around the clock: a run may go over midnight
        run = run + gap if gap <= lasts else lasts
        longest = max(longest, min(run, _DAY + lasts))
    return longest


def _values(field: str, end: int) -> set[int]:
    """The minutes or hours in one field of a cron schedule; empty for an invalid field."""
    match: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = ("0", "", str(end - 1)) if span in ("*", "?") else span.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal() or not (step or "1").isdecimal() or step == "0":
            return set()
        last = int(high) if high else (end - 1 if step else int(low))
        match.update(range(int(low), min(last, end - 1) + 1, int(step or 1)))
    return match
