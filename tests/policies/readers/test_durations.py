"""Durations and windows in minutes, as Kubernetes and its autoscalers write them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from policies.readers.durations import longest_window, minutes_of


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        ("10m", 10),
        ("720h", 43_200),
        ("1h30m", 90),
        ("1.5h", 90),
        ("90s", 1.5),
        ("0", 0),
        (0, 0),
        (None, None),
        ("10", UNKNOWN),
        ("10 m", UNKNOWN),
        ("10d", UNKNOWN),
        ("h", UNKNOWN),
        (10, UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_minutes(written: Any, minutes: Any) -> None:
    assert minutes_of(written) == minutes


@pytest.mark.parametrize(
    ("schedule", "duration", "minutes"),
    [
        ("0 9 * * 1-5", "8h", 480),
        ("0 0 * * *", "24h", math.inf),
        ("@daily", "24h", math.inf),
        ("0 0 * * *", "23h59m", 1439),
        ("0 0 * * 1-5", "24h", 1440 * 2),
        ("*/10 * * * *", "10m", math.inf),
        ("*/10 * * * *", "9m", 9),
        ("0,30 9-11 * * *", "30m", 180),
        ("0 22,23 * * *", "90m", 150),
        ("0 0 1 * *", "48h", 1440 * 3),
        ("nonsense", "1h", UNKNOWN),
        ("61-x * * * *", "1h", UNKNOWN),
        ("0 9 * * *", UNKNOWN, UNKNOWN),
        (UNKNOWN, "1h", UNKNOWN),
    ],
)
def test_a_window_is_as_long_as_its_runs(schedule: Any, duration: Any, minutes: Any) -> None:
    assert longest_window(schedule, duration) == minutes
