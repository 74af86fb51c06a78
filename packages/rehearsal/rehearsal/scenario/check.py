"""The result of a check, and the declarations that it compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from facts.concepts.pool import Pool

NOT_REACHED: Final = "the scenario did not get this far"


@dataclass(frozen=True)
class Check:
    """One assertion: ``detail`` says what was observed; where it failed, that is the reason in the verdict."""

    id: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Pools:
    """What the stack declared."""

    gpu: tuple[Pool, ...]
    cpu: tuple[Pool, ...]
    admin: Pool

    @property
    def all(self) -> tuple[Pool, ...]:
        """Every pool, the one that always stays first."""
        return (self.admin, *self.cpu, *self.gpu)

    @property
    def maxima(self) -> dict[str, int]:
        """Pool → the most nodes that it may have, in the same order."""
        return {p.name: p.max_nodes for p in self.all}
