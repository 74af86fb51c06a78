from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from facts.concepts.addresses import open_to_internet
from facts.concepts.unknown import UNKNOWN


def parts(prefix: int) -> list[str]:
    """All of IPv4 as ranges with this prefix."""
    return [f"{first}.0.0.0/{prefix}" for first in range(0, 256, 2 ** (8 - prefix))]


@pytest.mark.parametrize("prefix", range(9))
def test_the_internet_in_any_number_of_parts_is_the_internet(prefix: int) -> None:
    assert open_to_internet(parts(prefix)) is True


@pytest.mark.parametrize(
    ("ranges", "answer"),
    [
        ([], False),
        (["203.0.113.0/24", "198.51.100.7"], False),
        (["203.0.113.7/24"], False),
        ([" 0.0.0.0/0 "], True),
        (["203.0.113.0/0"], True),
        (["0.0.0.0/00"], True),
        (["0.0.0.0/2", "64.0.0.0/2"], True),
        (["0.0.0.0/0.0.0.0"], True),
        (["::/0"], True),
        (["::/1"], True),
        (["2000::/3"], True),
        (["2002::/16"], True),
        (["2002::/17", "2002:8000::/17"], True),
        (["2002:cb00:7100::/40"], False),
        (["2002:cb00:7107::1"], False),
        (["2000::/4", "3000::/4"], True),
        (["2a00::/12"], True),
        (["2001:db8::/32"], False),
        # The edge, and one address more.
        (["17.0.0.0/8"], False),
        (["17.0.0.0/8", "18.0.0.0/32"], True),
        (["2630::/16"], False),
        (["2630::/16", "2631::/128"], True),
        # An address counts once, however often it is listed.
        (["17.0.0.0/8", "17.0.0.0/8", "17.1.0.0/16", "17.0.0.0/9"], False),
        # Addresses of private networks reach nobody from outside.
        (["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fd00::/8", "fe80::/10"], False),
        (["10.0.0.0/7"], False),
        (["10.0.0.0/6"], True),
        (["224.0.0.0/3"], False),
        (["192.0.0.0/2"], True),
        # What is unknown decides only what the others leave open.
        ([UNKNOWN], UNKNOWN),
        (["203.0.113.0/24", UNKNOWN], UNKNOWN),
        (["10.0.0.0/8", UNKNOWN], UNKNOWN),
        (["0.0.0.0/0", UNKNOWN], True),
        # What is no range may be read as all addresses.
        (["vpn.example.com"], True),
        (["000.0.0.0/0"], True),
        (["0x0.0.0.0/0"], True),
        (["000.0.0.0/0", UNKNOWN], True),
        (["300.0.0.0/8"], True),
        (["203.0.113.0/33"], True),
        ([None], True),
        (["203.0.113.0/24", "vpn.example.com"], True),
        # IPv4 in the words of IPv6.
        (["::ffff:0:0/96"], True),
        (["::ffff:203.0.113.0/120"], False),
        (["::ffff:10.0.0.0/104"], False),
    ],
)
def test_ranges_are_counted_as_one_set(ranges: list[Any], answer: object) -> None:
    assert open_to_internet(ranges) is answer


def test_more_ranges_never_close_what_fewer_opened() -> None:
    answers = [open_to_internet(parts(4)[:length]) for length in range(17)]
    assert (answers[0], answers[-1]) == (False, True)
    assert not any(before is True and after is False for before, after in pairwise(answers))
