"""What every simulated resource works with: the subscription's state, the machines' simulation, the catalogue."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rehearsal.providers.base import ProviderError
from rehearsal.providers.store import Record, Store
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from components.catalog.model import CloudCatalog

# A namespace of this stand-in's own; any constant UUID would do.
_NAMESPACE: Final = uuid.UUID("5a0f9b54-58b6-4f5c-8a2b-6f0e6f1a7d10")
DEFAULT_SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Cloud:
    """One simulated Azure subscription. ``fleet`` is ``None`` where only previews are wanted.

    ``catalogue`` gives the machines, GPUs, zones and prices; it is read on first use. ``changing`` is held while
    machines follow a change or end of their pool, so that nobody gives them back what the pool was before.
    """

    store: Store
    fleet: Fleet | None
    catalogue: Callable[[], CloudCatalog]
    config: Mapping[str, Any] = field(default_factory=dict)
    changing: threading.RLock = field(default_factory=threading.RLock)

    @property
    def catalog(self) -> CloudCatalog:
        """What is known about AKS's machines."""
        return self.catalogue()

    @property
    def subscription(self) -> str:
        """The configured subscription; a previewed stack without one gets a placeholder of zeros."""
        return str(self.config.get("subscriptionId") or DEFAULT_SUBSCRIPTION)

    @property
    def tenant(self) -> str:
        """The configured directory, else one that belongs to the subscription."""
        return str(self.config.get("tenantId") or identifier("tenant", self.subscription))

    def machines(self) -> Fleet:
        """The fleet; raises :class:`ProviderError` where there is none."""
        if self.fleet is None:
            raise ProviderError("this rehearsal runs without a control plane: clusters can be previewed, not created")
        return self.fleet

    def find(self, id: str, type: str) -> Record | None:
        """The resource of a type at ``id``, whose case does not matter.

        https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
        """
        found = self.store.get(id)
        if found is None:
            wanted = id.lower().rstrip("/")
            found = next((record for record in self.store.all(type) if record.id.lower() == wanted), None)
        return found if found is not None and found.type == type else None


def identifier(*parts: str) -> str:
    """A stable UUID for something that Azure gives a random one."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts).lower()))


def last_part(id: str) -> str:
    """A resource's name from its id."""
    return id.rstrip("/").rpartition("/")[2]


def same(one: str, other: str) -> bool:
    """Whether two ids mean the same resource."""
    return one.lower().rstrip("/") == other.lower().rstrip("/")
