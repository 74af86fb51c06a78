"""One entry of a stack file → the pools it becomes: twins of a capacity, one pool per zone where the cloud needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from components.catalog import CloudCatalog
from components.settings.section import Capacity


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One of the resulting pools; ``suffix`` ends its name, ``preference`` orders twins (0 is tried first)."""

    suffix: str
    spot: bool
    preference: int
    zones: tuple[str, ...]


# Capacity → (suffix of the pool's name, spot, preference) of each twin.
_TWINS: Final[dict[Capacity, tuple[tuple[str, bool, int], ...]]] = {
    "spot": (("", True, 0),),
    "on-demand": (("", False, 0),),
    "spot-with-fallback": (("-spot", True, 0), ("-ondemand", False, 1)),
}


def variants(
    known: CloudCatalog, capacity: Capacity, region: str, zones: Sequence[str], *, gpu: bool, autoscaler: str
) -> Iterator[Variant]:
    """The pools of one entry and size, in the order in which they are tried."""
    for suffix, spot, preference in _TWINS[capacity]:
        if known.pool_per_zone(gpu=gpu, spot=spot, autoscaler=autoscaler):
            for zone in zones:
                of_zone = f"{suffix}-{zone_suffix(zone, region)}"
                yield Variant(suffix=of_zone, spot=spot, preference=preference, zones=(zone,))
        else:
            yield Variant(suffix=suffix, spot=spot, preference=preference, zones=tuple(zones))


def zone_suffix(zone: str, region: str) -> str:
    """What a zone's name adds to its region's: ``a`` of ``us-west-2a`` and of ``us-central1-a``."""
    return zone.removeprefix(region).lstrip("-")
