"""Ranges of addresses as sets, in every notation that a cloud may read."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.addresses import open_to_internet
from facts.concepts.unknown import UNKNOWN


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        (["203.0.113.0/24"], False),
        (["0.0.0.0/0"], True),
        (["0.0.0.0/2", "64.0.0.0/2"], True),
        (["000.0.0.0/0"], True),
        (["0x0.0.0.0/0"], True),
        (["everybody"], True),
        (["::ffff:0:0/96"], True),
        (["::ffff:203.0.113.0/120"], False),
        (["::ffff:10.0.0.0/104"], False),
        (["::/0"], True),
        (["2001:db8::/32"], False),
        (["10.0.0.0/8", UNKNOWN], UNKNOWN),
        (["000.0.0.0/0", UNKNOWN], True),
        ([], False),
    ],
)
def test_who_is_let_in(ranges: list[Any], expected: Any) -> None:
    assert open_to_internet(ranges) is expected
