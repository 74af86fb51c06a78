"""The second update of a rehearsal: nothing may change, but an autoscaler may be in its way once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from packages.rehearsal.tests.objects import Clock, Cluster
from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import Outcome
from rehearsal.engine.stack import resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal


class _Engine:
    """Fails ``failures`` updates, and loses a node during the first if ``shrinks``."""

    def __init__(self, cluster: Cluster, failures: int, *, shrinks: bool) -> None:
        self._cluster, self._failures, self._shrinks = cluster, failures, shrinks
        self.updates = 0

    def up(self, *arguments: Any, **named: Any) -> CommandResult:
        self.updates += 1
        if self._shrinks and self.updates == 1:
            self._cluster.deleted("gpu-0", "t4-1", size=1)
        failed = self.updates <= self._failures
        return CommandResult("up", int(failed), 1.0, Outcome(errors=("refused",) if failed else ()), Path("up.log"))

    def drift(self) -> CommandResult:
        return CommandResult("refresh", 0, 1.0, Outcome(), Path("refresh.log"))


@pytest.mark.parametrize(
    ("failures", "shrinks", "updates", "passed"),
    [(0, True, 1, True), (1, True, 2, True), (2, True, 2, False), (1, False, 1, False)],
)
def test_it_is_tried_again_only_if_pools_changed_meanwhile(
    failures: int, shrinks: bool, updates: int, passed: bool, tmp_path: Path
) -> None:
    options = Options(tools=tmp_path, gate=None, build=tmp_path)
    rehearsal: Any = Rehearsal(resolve("dev"), options, Console(file=io.StringIO()))
    cluster = Cluster(rehearsal._timeline, Clock())
    cluster.node("gpu-0", "t4-1", size=1)
    engine = _Engine(cluster, failures, shrinks=shrinks)
    rehearsal._idempotence(engine)
    (check, _drift) = rehearsal._record.checks
    assert (check.passed, engine.updates) == (passed, updates)
    assert "With 1 GPU node running" in check.title
