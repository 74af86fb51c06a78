"""What every simulated resource works with: the project's state, the machines' simulation, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rehearsal.providers.base import UNKNOWN, Properties, ProviderError
from rehearsal.providers.gcp.store import Store
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


def at(inputs: Any, path: str) -> Any:
    """The value at a dotted path, ``None`` if a part is absent, ``UNKNOWN`` if a part is not known yet."""
    for key in path.split("."):
        if not isinstance(inputs, dict):
            return UNKNOWN if inputs is UNKNOWN else None
        inputs = inputs.get(key)
    return inputs


def has_unknown(value: Any) -> bool:
    """Whether ``value`` is, or contains, a value that only the update knows."""
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return value is UNKNOWN


def last_part(link: str) -> str:
    """A resource's name from its name, path or URL."""
    return link.rstrip("/").rpartition("/")[2]


def region_of(location: str) -> str:
    """``us-central1`` from itself or from one of its zones (``us-central1-a``)."""
    return location.rpartition("-")[0] if is_zone(location) else location


def is_zone(location: str) -> bool:
    """Whether a location is a zone: regions have one hyphen, zones two."""
    return location.count("-") >= 2


def without_none(inputs: Properties) -> Properties:
    """``inputs`` without the keys that the program left open."""
    return {key: value for key, value in inputs.items() if value is not None}
