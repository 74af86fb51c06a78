"""How clean the energy of a cloud's regions is, where the cloud says so: ``<cloud>/data/region_carbon.csv``.

- GKE: ``data/yearly/2025.csv`` of https://github.com/GoogleCloudPlatform/region-carbon-info, read on 2026-11-21.
"""

from __future__ import annotations

from typing import Final

from facts.catalog import tables
from facts.concepts.carbon import Carbon

_YEAR: Final = 2025
"""Of Google's table, the only one."""


def carbon(cloud: str, region: str) -> Carbon | None:
    """The region's carbon data; ``None`` where the cloud publishes none."""
    row = tables.by_key(cloud, "region_carbon", "region").get((region,))
    if row is None:
        return None
    source = tables.by_key("", "sources", "table")[f"{cloud}/region_carbon",]["source"]
    return Carbon(int(row["carbon_free_percent"]), float(row["grid_grams_co2eq_per_kwh"]), _YEAR, source)
