"""Address ranges that may reach a control plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from facts.concepts.unknown import UNKNOWN, Maybe, either


def open_to_all(ranges: Sequence[Any]) -> Maybe[bool]:
    """Whether one of the ranges is the internet, or half of it; ``UNKNOWN`` while one is not known."""
    return either(UNKNOWN if each is UNKNOWN else str(each).endswith(("/0", "/1")) for each in ranges)
