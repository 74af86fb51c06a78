"""How clean the energy of a cloud's regions is, where the cloud says so: ``<cloud>/data/region_carbon.csv``.

- GKE: ``data/yearly/2025.csv`` of https://github.com/GoogleCloudPlatform/region-carbon-info, read on 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from facts.catalog import tables
from facts.concepts.carbon import Carbon

_TABLES: Final[Mapping[str, tuple[int, str]]] = {
    "gke": (2025, "https://github.com/GoogleCloudPlatform/region-carbon-info"),
}
"""Cloud → the year of its table, and its source."""


def carbon(cloud: str, region: str) -> Carbon | None:
    """The region's carbon data; ``None`` where the cloud publishes none."""
    return _regions(cloud).get(region)


@cache
def _regions(cloud: str) -> Mapping[str, Carbon]:
    if cloud not in _TABLES:
        return {}
    year, source = _TABLES[cloud]
    return {
        row["region"]: Carbon(int(row["carbon_free_percent"]), float(row["grid_grams_co2eq_per_kwh"]), year, source)
        for row in tables.rows(cloud, "region_carbon")
    }
