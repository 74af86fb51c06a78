"""What machines cost the user, from the gate's configuration.

``{"prices": {"m5zn.large": 0.33, "g6.xlarge": {"eu-west-1": 0.9}, "web": 0.2}}``: US dollars for one node an hour, by
machine type, or by node group where the program names none, many, or GPUs beside one; everywhere or by region. They
replace list prices, and ``hourlyUsd`` of a stack file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

from facts.concepts.declared import NodeGroup, Reservation, Stack
from policies.readers.reading import has_attached, least_usd, priced_by_types, priced_reservation, region_of_group
from policies.rules.ceilings import FEW_TYPES

KEY: Final = "prices"
_ANYWHERE: Final = ""


@dataclass(frozen=True)
class ConfiguredPrices:
    """US dollars an hour by name and region; the region is empty for all regions without a price of their own."""

    usd: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def of(self, name: str, region: str | None) -> float | None:
        """The price of a machine type or node group; ``None`` without one."""
        by_name = (self.usd.get((name.lower(), place)) for place in (region or _ANYWHERE, _ANYWHERE))
        return next((usd for usd in by_name if usd is not None), None)

    def __str__(self) -> str:
        named = ((f"{name} in {region}" if region else name, usd) for (name, region), usd in self.usd.items())
        return ", ".join(f"{name} ${usd:g}" for name, usd in named)

    def applied(self, stack: Stack) -> Stack:
        """The stack with these prices on its node groups."""
        if not self.usd:
            return stack
        reservations = tuple(self._reserved(each) for each in stack.reservations)
        groups = tuple(self._priced(group, stack) for group in stack.groups)
        # Of these the configuration says the name, too.
        elsewhere = tuple(self._priced(group, stack, by_name=True) for group in stack.elsewhere)
        return replace(stack, groups=groups, elsewhere=elsewhere, reservations=reservations)

    def _reserved(self, reservation: Reservation) -> Reservation:
        region = reservation.region if isinstance(reservation.region, str) else None
        return priced_reservation(reservation, lambda type: self.of(type, region))

    def _priced(self, group: NodeGroup, stack: Stack, *, by_name: bool = False) -> NodeGroup:
        region = region_of_group(group, stack.clusters)
        types = [each.rpartition("/")[2] for each in group.nodes.machine_types if isinstance(each, str)]
        attached = has_attached(group)
        # Whoever writes the program chooses the name: it prices no machine that the program names.
        named = by_name or attached or not 0 < len(types) <= FEW_TYPES
        own = self.of(group.name, region) if named else None
        if own is not None:
            # Of GPUs beside a machine type no list has a price together with it.
            least = 0.0 if by_name or attached else least_usd(group) or 0.0
            return replace(group, nodes=replace(group.nodes, dearest_hourly_usd=max(own, least), price_at_most=False))
        if attached or all(self.of(type, region) is None for type in types):
            return group
        return priced_by_types(group, region, lambda type: self.of(type, region))


NO_PRICES: Final = ConfiguredPrices()


def parse(configured: object) -> ConfiguredPrices:
    """The prices of a value without ``problems``; none if the value is missing."""
    named: Mapping[str, Any] = configured if isinstance(configured, Mapping) else {}
    return ConfiguredPrices(flat(named))


def flat(named: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Name in lower case and region → US dollars an hour, of a value without ``problems``."""
    regional = ((name, usd if isinstance(usd, Mapping) else {_ANYWHERE: usd}) for name, usd in named.items())
    return {(name.lower(), region): float(usd) for name, by_region in regional for region, usd in by_region.items()}


def problems(configured: object) -> Iterator[str]:
    """All problems of the configuration's prices, one sentence each."""
    if not isinstance(configured, Mapping) or not configured:
        example = json.dumps({"m5zn.large": 0.33, "web": {"eu-west-1": 0.2}})
        yield f"{KEY}: must be an object of prices, for example {example}, got {json.dumps(configured)}"
        return
    for name, usd in configured.items():
        by_region = usd if isinstance(usd, Mapping) and usd else {_ANYWHERE: usd}
        for region, each in by_region.items():
            where = f"{KEY}.{name}" + (f".{region}" if region else "")
            if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 <= each < inf:
                yield f"{where}: must be the US dollars of one node an hour, 0 or more, got {json.dumps(each)}"
