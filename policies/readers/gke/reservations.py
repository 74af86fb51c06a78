"""Reads Google's reservations, which are billed like their machines, used or not.

https://cloud.google.com/compute/docs/instances/reservations-overview#how-billing-works
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Reservation
from facts.concepts.unknown import UNKNOWN, Maybe, at, items, text, whole
from policies.readers.gke.facts import whole_machine_gpus
from policies.readers.resource import Declared, Item, Reader


def read_reservation(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/reservation:Reservation``."""
    specific = declared.properties.get("specificReservation")
    machine = at(specific, "instanceProperties")
    kind, count = text(at(machine, "machineType")), whole(at(specific, "count"), default=0)
    attached = [whole(at(entry, "acceleratorCount"), default=0) for entry in items(at(machine, "guestAccelerators"))]
    known = sum(gpus for gpus in attached if gpus is not UNKNOWN and gpus is not None)
    gpus: Maybe[int] = known or (UNKNOWN if kind is UNKNOWN or UNKNOWN in attached else whole_machine_gpus(kind))
    held = UNKNOWN if count is None else count
    yield Reservation(f"reservation '{declared.name}'", held, gpus, kind, declared.urn)


READERS: Final[Mapping[str, Reader]] = {"gcp:compute/reservation:Reservation": read_reservation}
