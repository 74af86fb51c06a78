"""Regions and zones of Google Cloud, and the tables of its resource types and rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.table import Table

TABLE: Final[Table[SimulatedCloud]] = Table(Path(__file__).parent)

SELF_LINK: Final = "https://www.googleapis.com/compute/v1/"


def chosen(value: Any, default: str | None) -> Any:
    """``value``, known or not; the default where the program gave none, which may also be an empty text."""
    return default if value in (None, "") else value


def in_region(cloud: SimulatedCloud, inputs: Properties) -> Properties:
    """``inputs`` with the provider's region as their location, unless they have one."""
    return {**inputs, "location": chosen(inputs.get("location"), cloud.default("region"))}


def region_of(location: str) -> str:
    """``us-central1`` from itself or from one of its zones (``us-central1-a``)."""
    return location.rpartition("-")[0] if is_zone(location) else location


def is_zone(location: str) -> bool:
    """Whether a location is a zone: regions have one hyphen, zones two."""
    return location.count("-") >= 2
