"""Reasons that several readers share."""

from __future__ import annotations

from facts.concepts.declared import UnknownReason
from facts.concepts.unknown import UNKNOWN, Maybe


def reasons_for(gpus: Maybe[int], machine: Maybe[str | None]) -> dict[str, UnknownReason]:
    """``gpus_per_node`` → the reason, where the catalogue does not list the machine type."""
    reason = unlisted(machine) if gpus is UNKNOWN else None
    return {} if reason is None else {"gpus_per_node": reason}


def unlisted(machine: Maybe[str | None]) -> UnknownReason | None:
    """The reason for a machine type that the catalogue does not list; ``None`` for one that is not named (yet)."""
    if machine is UNKNOWN or machine is None:
        return None
    return UnknownReason(
        f"the catalogue does not list machine type '{machine}'",
        "Use a machine type that the catalogue lists, or add this one to the catalogue.",
    )
