"""What is reported or asked before a job costs money: the price of a sweep, and which file it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from facts.concepts.counts import counted
from facts.jobs.fit import Fit
from facts.jobs.job import TrainingJobSpec

RUNS: Final = 100
"""A sweep with more runs is confirmed."""
HOURLY_USD: Final = 25.0
"""A sweep that may cost more per hour is confirmed."""


@dataclass(frozen=True)
class SweepPrice:
    """A sweep of ``runs``, ``at_once`` of them together, on nodes at ``node_usd`` per hour (``None``: unknown)."""

    runs: int
    at_once: int
    node_usd: float | None
    pods_per_node: int

    @property
    def hourly_usd(self) -> float | None:
        """List price of an hour with as many runs as possible."""
        return None if self.node_usd is None else -(-self.at_once // self.pods_per_node) * self.node_usd

    @property
    def large(self) -> bool:
        """Whether it has to be confirmed."""
        return self.runs > RUNS or (self.hourly_usd or 0) > HOURLY_USD

    def __str__(self) -> str:
        runs = f"{counted(self.runs, 'run')}, {self.at_once} at once"
        if self.node_usd is None or self.hourly_usd is None:
            return f"{runs}, price unknown"
        total = self.runs * self.node_usd / self.pods_per_node
        return f"{runs}: up to ${self.hourly_usd:,.2f}/h; ${total:,.2f} in all if each takes an hour"


def sweep_price(job: TrainingJobSpec, fit: Fit) -> SweepPrice | None:
    """The price of the job's sweep, if it is one."""
    if job.sweep is None:
        return None
    runs = job.sweep.runs
    return SweepPrice(runs, min(runs, job.at_once or runs), fit.hourly_usd, fit.pods_per_node)


def script_of(command: Sequence[str]) -> str | None:
    """The Python or shell file that the command runs, if it is relative to the working directory."""
    word = next((word for word in command if word.endswith((".py", ".sh")) and not word.startswith("-")), None)
    return None if word is None or PurePath(word).is_absolute() else word
