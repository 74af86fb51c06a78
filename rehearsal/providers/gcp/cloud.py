"""What every simulated resource works with: the project's state, the machines' simulation, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rehearsal.providers.base import ProviderError
from rehearsal.providers.store import Store
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from components.catalog.model import CloudCatalog


@dataclass(frozen=True)
class Cloud:
    """One simulated Google Cloud project. ``fleet`` is ``None`` where only previews are wanted."""

    store: Store
    fleet: Fleet | None
    catalog: CloudCatalog
    config: Mapping[str, Any] = field(default_factory=dict)

    def default(self, key: str) -> str | None:
        """The provider's configured ``project``, ``region`` or ``zone``."""
        value = self.config.get(key)
        return str(value) if value else None

    def machines(self) -> Fleet:
        """The fleet; raises :class:`ProviderError` where there is none."""
        if self.fleet is None:
            raise ProviderError("this rehearsal runs without a control plane: clusters can be previewed, not created")
        return self.fleet


def last_part(link: str) -> str:
    """A resource's name from its name, path or URL."""
    return link.rstrip("/").rpartition("/")[2]


def region_of(location: str) -> str:
    """``us-central1`` from itself or from one of its zones (``us-central1-a``)."""
    return location.rpartition("-")[0] if is_zone(location) else location


def is_zone(location: str) -> bool:
    """Whether a location is a zone: regions have one hyphen, zones two."""
    return location.count("-") >= 2
