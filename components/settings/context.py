"""What the check of one key may know about the rest of the file: where the stack is, as far as that is valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationInfo

from components import catalog
from components.catalog import CloudCatalog


@dataclass(frozen=True)
class Context:
    """The cloud and its catalogue, the region and the stack's zones there; ``None`` and ``()`` while not valid."""

    cloud: str | None
    catalog: CloudCatalog | None
    region: str | None
    zones: tuple[str, ...]

    @classmethod
    def of(cls, raw: Mapping[str, object]) -> Context:
        """Read the place out of unchecked values; what is wrong with them is reported where they are checked."""
        cloud, region, zones = raw.get("cloud"), raw.get("region"), raw.get("zones")
        if not isinstance(cloud, str) or cloud not in catalog.clouds():
            return cls(None, None, None, ())
        known = catalog.of(cloud).regions().get(region, ()) if isinstance(region, str) else ()
        chosen = tuple(zone for zone in zones if zone in known) if isinstance(zones, list) else ()
        return cls(cloud, catalog.of(cloud), str(region) if known else None, chosen or known)

    @property
    def region_zones(self) -> tuple[str, ...]:
        """All zones of the region."""
        return self.catalog.regions()[self.region] if self.catalog and self.region else ()


def context(info: ValidationInfo) -> Context:
    """The context of a validation; without one nothing is known."""
    return info.context if isinstance(info.context, Context) else Context(None, None, None, ())
