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
    """How to rehearse. ``plugins`` precede simulated ones; ``keep`` leaves the cluster running after a pass.
    ``apply`` is a folder of the user's own manifests; ``seed`` shuffles the order of jobs.
    ``day_two`` changes settings while a job runs: in two updates a few that end no job, or all of them one by one.
    ``account`` is a file with the account's quotas and permissions; without one, nothing is limited.
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
