"""An update that somebody ends by Ctrl-C in its middle: the next one completes it, nothing is left over."""

from __future__ import annotations

import io
import signal
from pathlib import Path

import psutil
import pytest
from rich.console import Console
from typing_extensions import override

from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.events import Step
from rehearsal.engine.stack import resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.tools import provide
from tests import one_stack

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]


class _CutOff(Rehearsal):
    """No jobs; the first update is told to stop when so many resources were made, or begun."""

    after = 25
    created = 0

    @override
    def _on_step(self, step: Step) -> None:
        super()._on_step(step)
        self.created += step.op == "create" and not step.planned
        if self.created == self.after:
            self.created += 1
            (engine,) = [child for child in psutil.Process().children() if child.name() == "pulumi"]
            engine.send_signal(signal.SIGINT)

    @override
    def _up(self, engine: Engine) -> CommandResult:
        first = engine.up(self._options.gate, name="cut-off")
        made = len(engine.resources())
        completed = super()._up(engine)
        detail = f"{made} of {len(engine.resources())} resources: {first.reason}"
        self._check(
            "cut-off", "The first update ends early", not first.ok and 0 < made < len(engine.resources()), detail
        )
        self._idempotence(engine)
        return completed

    @override
    def _scenario(self, engine: Engine) -> None:
        pass


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_the_next_update_completes_what_ctrl_c_cut_off(cloud: str, tmp_path: Path) -> None:
    stack = resolve(str(one_stack.file(cloud)))
    options = Options(tools=provide(stack.tools), gate=None, build=tmp_path)
    finished = _CutOff(stack, options, Console(file=io.StringIO(), width=160)).run()
    assert finished.passed, finished.record.reasons
    done = {check.id for check in finished.record.checks}
    assert {"cut-off", "up", "second-up-no-changes", "no-drift", "destroy"} <= done
