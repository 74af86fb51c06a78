"""Go's durations."""

from __future__ import annotations

import pytest

from facts.concepts.durations import seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30s", 30),
        ("10m", 600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("0", 0),
        ("Never", None),
        ("", None),
        ("10", None),
        ("1h 30m", None),
        ("-1h", None),
    ],
)
def test_seconds(text: str, value: float | None) -> None:
    assert seconds(text) == value
