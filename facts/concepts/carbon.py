"""What a cloud says of a region's energy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Carbon:
    """A region's energy over one year, by its cloud's own account."""

    free_percent: int
    """Share of hours, weighted by consumption, that carbon-free energy covers, including what the cloud bought."""
    grid_grams_per_kwh: float
    """The grid's emissions in gCO2eq/kWh."""
    year: int
    source: str
