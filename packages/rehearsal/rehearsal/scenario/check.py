"""The result of a check, and the declarations that it compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from facts.concepts.pool import Pool

NOT_REACHED: Final = "the scenario ended before this check"


@dataclass(frozen=True)
class Check:
    """One assertion; ``detail`` is the observation and, if it failed, the reason in the verdict."""

    id: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Pools:
    """The pools that the stack declares."""

    gpu: tuple[Pool, ...]
    cpu: tuple[Pool, ...]
    admin: Pool

    @property
    def all(self) -> tuple[Pool, ...]:
        """Every pool, the admin pool first."""
        return (self.admin, *self.cpu, *self.gpu)

    @property
    def maxima(self) -> dict[str, int]:
        """Pool → its maximum number of nodes, in the same order."""
        return {p.name: p.max_nodes for p in self.all}
