"""Judges what faults left behind by comparison with a run without faults, and shows it as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.table import Table

_SHORTEST_SECRET: Final = 8


@dataclass(frozen=True)
class Inventory:
    """What exists in the simulated account and the cluster, and what the stack's state records: ``type id`` each."""

    existing: tuple[str, ...]
    recorded: tuple[str, ...]

    def unrecorded(self) -> list[str]:
        """What exists and is not in the state."""
        return sorted({*self.existing} - {*self.recorded})

    def lost(self) -> list[str]:
        """What the state records and does not exist; on AWS also all that the account has in other words."""
        return sorted({*self.recorded} - {*self.existing})


@dataclass(frozen=True)
class Differences:
    """How an inventory differs from a clean run's, by resource type; ids may differ between runs.

    ``duplicates``: more of a type exist. ``orphans``: more of a type are unknown to the state. ``missing``: fewer
    exist, or the state records what does not exist.
    """

    duplicates: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def differences(clean: Inventory, now: Inventory) -> Differences:
    """Compare with the inventory of a run without faults."""
    return Differences(
        _more(now.existing, clean.existing),
        _more(now.unrecorded(), clean.unrecorded()),
        tuple(sorted({*_more(clean.existing, now.existing), *_more(now.lost(), clean.lost())})),
    )


def _more(these: Iterable[str], those: Iterable[str]) -> tuple[str, ...]:
    """What there is more of in ``these``, by type; those with unknown ids are named first."""
    known = {*those}
    surplus = Counter(map(type_of, these)) - Counter(map(type_of, known))
    return tuple(
        each
        for type, count in sorted(surplus.items())
        for each in sorted((one for one in these if type_of(one) == type), key=lambda one: (one in known, one))[:count]
    )


def type_of(entry: str) -> str:
    """The type of ``type id``."""
    return entry.partition(" ")[0]


def leaks(secrets: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Names of texts (name → content) that hold a secret in the clear; words too short to tell are left out."""
    values = {text for each in secrets for text in (each, each.replace("\n", "\\n")) if len(each) >= _SHORTEST_SECRET}
    return [name for name, content in texts.items() if any(value in content for value in values)]


@dataclass
class FaultRow:
    """One kind of fault: how many happened of those ``planned``, and what came of them.

    ``failed``: steps that did not converge although no fault happened.
    """

    title: str
    planned: int = 0
    injected: int = 0
    converged: int = 0
    failed: int = 0
    duplicates: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """All injected, all converged, nothing twice, nothing orphaned, no secret in the clear."""
        reached = self.planned == self.injected == self.converged
        return reached and not (self.failed or self.duplicates or self.orphans or self.leaks)


def result_table(rows: Sequence[FaultRow]) -> Table:
    """The rows and their sum, at most 80 columns wide."""
    table = Table("fault", box=None, pad_edge=False)
    for name in ("injected", "converged", "duplicates", "orphans", "leaks"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.title, *_cells(row), style="" if row.ok else "red")
    total = FaultRow("all")
    for name in ("planned", "injected", "converged", "failed", "duplicates", "orphans", "leaks"):
        setattr(total, name, sum((getattr(row, name) for row in rows), getattr(total, name)))
    table.add_row(total.title, *_cells(total), style="bold")
    return table


def _cells(row: FaultRow) -> tuple[str, ...]:
    counts = (len(row.duplicates), len(row.orphans), len(row.leaks))
    return (f"{row.injected} of {row.planned}", f"{row.converged} of {row.injected + row.failed}", *map(str, counts))
