"""Durations as Go writes them, and so Kubernetes and its autoscalers; and the hours of a month.

https://pkg.go.dev/time#ParseDuration
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HOURS_PER_MONTH: Final = 730
"""On average, as clouds bill: 8,760 hours a year."""

_UNITS: Final[Mapping[str, float]] = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float | None:
    """``1h30m`` is 5400; ``None`` for what is no duration, or one below zero."""
    if text == "0":
        return 0.0
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
