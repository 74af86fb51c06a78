"""What every simulated resource works with: the account's state, the machines' simulation, the catalogue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rehearsal.providers.account_limits import UNLIMITED, AccountLimits
from rehearsal.providers.base import ProviderError
from rehearsal.providers.store import Record, Store
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog
    from facts.catalog.model import Machine

# Whose price nobody knows is chosen last, not first.
_PRICE_UNKNOWN: Final = 1e6


@dataclass(frozen=True)
class SimulatedCloud:
    """One simulated account. ``fleet`` is ``None`` for previews, ``config`` has the provider's settings.

    ``catalogue`` gives the machines, GPUs, zones and prices; it is read on first use. ``changing`` is held while
    machines follow a change or end of their pool, so that nobody gives them back what the pool was before.
    ``account_limits`` are the account's quotas, reservations, keys and missing permissions.
    """

    store: Store
    fleet: Fleet | None
    catalogue: Callable[[], CloudCatalog]
    config: Mapping[str, Any] = field(default_factory=dict)
    changing: threading.RLock = field(default_factory=threading.RLock)
    account_limits: AccountLimits = UNLIMITED

    @property
    def catalog(self) -> CloudCatalog:
        """What is known about the cloud's machines."""
        return self.catalogue()

    def default(self, key: str) -> str | None:
        """A setting of the provider's configuration."""
        value = self.config.get(key)
        return str(value) if value else None

    def machines(self) -> Fleet:
        """The fleet; raises :class:`ProviderError` where there is none."""
        if self.fleet is None:
            raise ProviderError("this rehearsal runs without a control plane: clusters can be previewed, not created")
        return self.fleet

    def hourly_usd(self, machine: Machine, region: str, *, spot: bool) -> float:
        """A machine's price, by which groups are ordered: of the region, else of the reference region."""
        places = (region, self.catalog.reference_region)
        known = (self.catalog.prices.machine(place, machine, spot=spot) for place in places)
        return next((price.usd for price in known if price is not None), _PRICE_UNKNOWN)

    def find(self, id: str, type: str) -> Record | None:
        """The resource of a type at ``id``."""
        return self.store.get(type, id)


def last_part(link: str) -> str:
    """A resource's name from its name, path, id or URL."""
    return link.rstrip("/").rpartition("/")[2]
