"""A later stack takes over what an earlier one kept, on every cloud: by imports and updates, and by no replacement."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from typing_extensions import override

from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.tools import provide
from tests import one_stack

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

REPLACED = ("replace", "create-replacement", "delete-replaced")


class _TwoStacks(Rehearsal):
    """No jobs; after the destroy the same stack again, which adopts."""

    @override
    def _scenario(self, engine: Engine) -> None:
        pass

    @override
    def _destroy(self, engine: Engine) -> None:
        super()._destroy(engine)
        content = yaml.safe_load(engine.stack_file.read_text())
        for workload in content["config"]["gpucluster:workloads"].values():
            workload["adopt"] = True
        engine.stack_file.write_text(yaml.safe_dump(content))
        adopted = engine.up(self._options.gate, name="adopt")
        steps = [f"{step.op} {step.name}" for step in adopted.outcome.steps if step.op in ("import", *REPLACED)]
        self._check("adopt", "A later stack adopts", adopted.ok, ", ".join(steps) if adopted.ok else adopted.reason)
        again = engine.up(self._options.gate, name="adopted", expect_no_changes=True)
        self._engine_check("adopted-unchanged", "What is adopted is as it should be", again)
        self._engine_check("adopted-no-drift", "The cloud is as the state says", engine.drift())
        super()._destroy(engine)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_resources_retained_by_an_earlier_stack_are_adopted_in_place(cloud: str, tmp_path: Path) -> None:
    stack = resolve(f"examples/{cloud}-research.yaml")
    options = Options(tools=provide(stack.tools), gate=None, build=tmp_path)
    finished = _TwoStacks(stack, options, Console(file=io.StringIO(), width=160)).run()
    assert finished.passed, finished.record.reasons
    (check,) = [check for check in finished.record.checks if check.id == "adopt"]
    steps = {step.split()[0] for step in check.detail.split(", ")}
    assert steps == {"import"}, check.detail
