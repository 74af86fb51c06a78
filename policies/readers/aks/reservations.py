"""Reads Azure's capacity reservations, which are billed like their machines, used or not.

https://learn.microsoft.com/azure/virtual-machines/capacity-reservation-overview#pricing-and-billing
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Reservation
from facts.concepts.unknown import UNKNOWN, at, text, whole
from policies.readers.aks.facts import gpus_of_size
from policies.readers.resource import Declared, Item, Reader


def read_capacity_reservation(declared: Declared) -> Iterable[Item]:
    """``azure-native:compute:CapacityReservation``."""
    sku = declared.properties.get("sku")
    size, count = text(at(sku, "name")), whole(at(sku, "capacity"), default=0)
    gpus = UNKNOWN if size is UNKNOWN else gpus_of_size(size)
    held = UNKNOWN if count is None else count
    yield Reservation(f"capacity reservation '{declared.name}'", held, gpus, size, declared.urn)


READERS: Final[Mapping[str, Reader]] = {"azure-native*:compute*:CapacityReservation": read_capacity_reservation}
