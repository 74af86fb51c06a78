"""One simulated Azure subscription, its rules about a request, and how Azure tells resources apart."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from rehearsal.providers.aks.errors import not_found
from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.store import Record
from rehearsal.providers.table import Table

# A namespace of this provider's own; any constant UUID would do.
_NAMESPACE: Final = uuid.UUID("5a0f9b54-58b6-4f5c-8a2b-6f0e6f1a7d10")
DEFAULT_SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Subscription(SimulatedCloud):
    """One simulated Azure subscription."""

    @property
    def subscription(self) -> str:
        """The configured subscription; a previewed stack without one gets a placeholder of zeros."""
        return str(self.config.get("subscriptionId") or DEFAULT_SUBSCRIPTION)

    @property
    def tenant(self) -> str:
        """The configured directory, else one that belongs to the subscription."""
        return str(self.config.get("tenantId") or identifier("tenant", self.subscription))

    @override
    def find(self, id: str, type: str) -> Record | None:
        """The resource of a type at ``id``, whose case does not matter.

        https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
        """
        normalized = id.lower().rstrip("/")
        return super().find(id, type) or next(
            (record for record in self.store.all(type) if record.id.lower() == normalized), None
        )


def identifier(*parts: str) -> str:
    """A stable UUID for something that Azure gives a random one."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts).lower()))


def same(one: str, other: str) -> bool:
    """Whether two ids mean the same resource."""
    return one.lower().rstrip("/") == other.lower().rstrip("/")


def require(cloud: Subscription, id: str, type: str) -> Record:
    """The resource of a type at ``id``; 404 if it does not exist."""
    record = cloud.find(id, type)
    if record is None:
        raise not_found(id)
    return record


TABLE: Final[Table[Subscription]] = Table(Path(__file__).parent)
GROUP: Final = "azure-native:resources:ResourceGroup"


def id_of(cloud: Subscription, type: str, inputs: Properties) -> str:
    """The id of the resource of a type that ``inputs`` name, or a function's arguments."""
    return TABLE.id(type).format_map({**inputs, "subscription": cloud.subscription})
