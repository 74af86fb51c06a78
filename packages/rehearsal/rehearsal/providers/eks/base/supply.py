"""EC2's capacity, as tests and scenarios set it; unlimited by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

Market = Literal["spot", "on-demand"]
ANY: Final = "*"


@dataclass(frozen=True)
class CapacityReservation:
    """An On-Demand Capacity Reservation of ``count`` instances; ``block``: a Capacity Block for ML."""

    id: str
    instance_type: str
    zone: str
    count: int
    block: bool = False


@dataclass(frozen=True)
class ScheduledEvent:
    """What EC2 has announced to do with an instance (``code``, such as ``instance-reboot``) on a day."""

    code: str
    not_before: datetime


@dataclass
class Supply:
    """Switches of one account; thread-safe, as each change replaces what others may be reading."""

    announced: dict[str, ScheduledEvent] = field(default_factory=dict)
    """Instance (id) → a scheduled event that its status shows; nothing else happens."""
    placement_groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name → a placement group, as EC2 describes it."""
    placed: dict[str, str] = field(default_factory=dict)
    """Instance (id) → the placement group that it started in."""
    _dry: frozenset[tuple[str, str, str]] = frozenset()
    _reservations: Mapping[str, CapacityReservation] = field(default_factory=dict)
    _used_up: frozenset[str] = frozenset()

    def exhaust(self, zone: str = ANY, instance_type: str = ANY, market: str = ANY) -> None:
        """Exhaust the capacity for new instances of the type in the zone and market."""
        self._dry |= {(zone, instance_type, market)}

    def refill(self) -> None:
        """Restore all capacity, including that of reservations."""
        self._dry, self._used_up = frozenset(), frozenset()

    def is_dry(self, zone: str, instance_type: str, market: Market) -> bool:
        """Whether a new instance would fail for want of capacity."""
        offering = (zone, instance_type, market)
        return any(all(a in (ANY, b) for a, b in zip(dry, offering, strict=True)) for dry in self._dry)

    def reserve(self, reservation: CapacityReservation) -> None:
        """Add a reservation, or change the one of that id."""
        self._reservations = {**self._reservations, reservation.id: reservation}

    def reservation(self, id: str) -> CapacityReservation | None:
        """The reservation of that id."""
        return next((each for each in self.reservations() if each.id == id), None)

    def use_up(self, id: str) -> None:
        """Exhaust the reservation: no further machine can start in it, as when others use it or it has ended."""
        self._used_up |= {id}

    def reservations(self) -> tuple[CapacityReservation, ...]:
        """All of them."""
        used_up = self._used_up
        return tuple(replace(each, count=0) if each.id in used_up else each for each in self._reservations.values())
