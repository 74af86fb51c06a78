"""The rights of who runs ``pulumi up`` on a stack, from a table of the types of resources that it declares."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from components.settings import Settings


class DeclaredType(NamedTuple):
    """A type of resource, the condition under which a stack declares it, and the rights by the cloud's names.

    ``on``: what has the rights; empty where all are rights in the account.
    """

    type: str
    when: str
    rights: tuple[str, ...]
    on: str


@dataclass(frozen=True)
class RightsTable:
    """``file``: CSV with the columns of ``DeclaredType``. ``when``: its conditions."""

    file: Path
    when: Mapping[str, Callable[[Settings], object]]

    @cached_property
    def rows(self) -> tuple[DeclaredType, ...]:
        """All of them, in their order."""
        return tuple(
            DeclaredType(row["type"], row["when"], tuple(row["rights"].split()), row.get("on") or "")
            for row in _table(self.file)
        )

    @cached_property
    def reasons(self) -> Mapping[str, Mapping[str, str]]:
        """Type → right beyond those that somebody else names for it → why, from ``reasons.csv`` beside the file."""
        reasons: dict[str, dict[str, str]] = {}
        for row in _table(self.file.with_name("reasons.csv")):
            reasons.setdefault(row["type"], {})[row["right"]] = row["reason"]
        return reasons

    def declared(self, settings: Settings) -> tuple[DeclaredType, ...]:
        """The rows of the types that the stack may declare."""
        return tuple(row for row in self.rows if self.when[row.when](settings))

    def needed(self, settings: Settings, on: str = "") -> dict[str, tuple[str, ...]]:
        """Right on ``on`` → the types for which it is needed, sorted."""
        types: dict[str, list[str]] = {}
        for row in (each for each in self.declared(settings) if each.on == on):
            for right in row.rights:
                types.setdefault(right, []).append(row.type)
        return {right: tuple(types[right]) for right in sorted(types)}


def _table(file: Path) -> list[dict[str, str]]:
    lines = (line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines))
