"""Reads what a stack file of this project says of the cost of pools (``hourlyUsd``, ``reservation``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.unknown import at, known_text, whole
from policies.readers.resource import Declared, Item, PoolPrice, Reader


def read_price(declared: Declared) -> Iterable[Item]:
    """The inputs ``pool``, ``hourlyUsd``, ``reservation`` and ``reservedNodes``, where the stack file says them."""
    inputs = declared.properties
    usd = at(inputs, "hourlyUsd")
    if pool := known_text(at(inputs, "pool")):
        own = float(usd) if isinstance(usd, (int, float)) else None
        reserved = whole(at(inputs, "reservedNodes"), 0)
        reservation = known_text(at(inputs, "reservation")) or ""
        yield PoolPrice(pool, own, reserved if isinstance(reserved, int) else 0, reservation)


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster:index:AdminPool": read_price,
    "gpucluster:index:CpuNodePool": read_price,
    "gpucluster:index:GpuNodePool": read_price,
}
