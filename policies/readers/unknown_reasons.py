"""Reasons that several readers share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from facts.catalog.gpu_machines import lists
from facts.concepts.declared import NotEvaluated, UnknownReason
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.readers.resource import Declared


def until_update(declared: Declared, value: Any, what: str) -> Iterator[NotEvaluated]:
    """A note that only the update evaluates the resource, if ``value`` is not known before; ``what`` is a subject."""
    if value is UNKNOWN:
        reason = UnknownReason(f"{what} is an output of another resource", "Check it again at the update.")
        yield NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn, opaque=True, until_update=True)


def reasons_for(cloud: str, gpus: Maybe[int], machine: Maybe[str | None]) -> dict[str, UnknownReason]:
    """``gpus_per_node`` → the reason, where the catalogue does not list the machine type, which may have GPUs."""
    reason = reason_for(cloud, gpus, machine)
    return {} if reason is None else {"gpus_per_node": reason}


def reason_for(cloud: str, gpus: Maybe[int], machine: Maybe[str | None]) -> UnknownReason | None:
    """The reason, ``None`` for a machine type whose number of GPUs the catalogue lists, or that has none."""
    return None if gpus == 0 or (isinstance(machine, str) and lists(cloud, machine)) else unlisted(machine)


def unlisted(machine: Maybe[str | None]) -> UnknownReason | None:
    """The reason for a machine type that the catalogue does not list; ``None`` for one that is not named (yet)."""
    if machine is UNKNOWN or machine is None:
        return None
    return UnknownReason(
        f"the catalogue does not list machine type '{machine}'",
        "Use a machine type that the catalogue lists, or add this one to the catalogue.",
    )
