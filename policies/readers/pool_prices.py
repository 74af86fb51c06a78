"""Reads what a stack file of this project says that the nodes of a pool cost (``hourlyUsd``), from the components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.unknown import at, known_text
from policies.readers.resource import Declared, Item, PoolPrice, Reader


def read_price(declared: Declared) -> Iterable[Item]:
    """The inputs ``pool`` and ``hourlyUsd``, where the stack file has that key."""
    pool, usd = known_text(at(declared.properties, "pool")), at(declared.properties, "hourlyUsd")
    if pool and isinstance(usd, (int, float)):
        yield PoolPrice(pool, float(usd))


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster:index:AdminPool": read_price,
    "gpucluster:index:CpuNodePool": read_price,
    "gpucluster:index:GpuNodePool": read_price,
}
