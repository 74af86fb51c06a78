"""Why a reader cannot tell something, where several readers have the same reason."""

from __future__ import annotations

from facts.concepts.declared import Doubt
from facts.concepts.unknown import UNKNOWN, Maybe


def unlisted(machine: Maybe[str | None]) -> Doubt | None:
    """A machine type of which no table says whether it has GPUs; ``None`` for one that is not named (yet)."""
    if machine is UNKNOWN or machine is None:
        return None
    return Doubt(
        f"no table says whether a machine of type '{machine}' has GPUs",
        "Use a machine type that the catalogue lists, or add this one to it.",
    )
