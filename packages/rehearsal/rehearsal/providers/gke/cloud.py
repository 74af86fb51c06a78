"""Regions and zones of Google Cloud, and its rules about a request."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.rules import RuleBook

Rules = RuleBook[SimulatedCloud]

SELF_LINK: Final = "https://www.googleapis.com/compute/v1/"
# The provider's SDK cannot tell an absent value from a zero one; other defaults were filled in before.
ABSENT: Final = ("", 0, 0.0, False)


def chosen(value: Any, default: str | None) -> Any:
    """``value``, known or not; the default where the program gave none, which may also be an empty text."""
    return default if value in (None, "") else value


def region_of(location: str) -> str:
    """``us-central1`` from itself or from one of its zones (``us-central1-a``)."""
    return location.rpartition("-")[0] if is_zone(location) else location


def is_zone(location: str) -> bool:
    """Whether a location is a zone: regions have one hyphen, zones two."""
    return location.count("-") >= 2
