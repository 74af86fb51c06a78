"""How a rehearsal is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.day_two.edits import DayTwoSet
from rehearsal.engine.engine import PolicyPack
from rehearsal.engine.stack import ROOT

BUILD: Final = ROOT / "build" / "rehearsal"


@dataclass(frozen=True)
class Options:
    """How to rehearse. ``plugins`` go before the simulated ones; ``keep`` leaves the cluster running if all passed.
    ``apply`` is a folder of the user's own manifests, ``seed`` shuffles what is in no promised order.
    ``day_two`` changes settings while a job runs: a few that end no job in two updates, or one by one all there are.
    ``account`` is a file of what the account may have and do; without one, everything.
    ``inside``: the program runs in the cluster's network, as a runner or a laptop with a VPN does; else outside.

    ``fail_fast`` ends the run at the first failure. ``gate=None`` (fault injection) leaves the policies out.
    """

    tools: Path
    gate: PolicyPack | None
    project: Path = ROOT
    plugins: Path | None = None
    keep: bool = False
    apply: Path | None = None
    account: Path | None = None
    seed: int = 0
    day_two: DayTwoSet = "none"
    inside: bool = False
    fail_fast: bool = False
    build: Path = BUILD
