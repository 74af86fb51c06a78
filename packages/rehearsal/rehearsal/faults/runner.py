"""Runs fault injection: builds the faulty project, previews it with the gate, rehearses it without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from rehearsal.engine.changed_stacks import changed_project
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.faults.injections import Case
from rehearsal.report.report import RunRecord
from rehearsal.run.options import Options
from rehearsal.run.preview import Preview, preview, show
from rehearsal.run.recorder import Finished
from rehearsal.run.rehearsal import Rehearsal

_PROGRAM: Final = """\
# Runs the unchanged program with one fault.
import runpy

from rehearsal.faults.injections import CASES

CASES[{name!r}].inject(lambda: (runpy.run_path({program!r}, run_name="__main__"), None)[1])
"""


@dataclass(frozen=True)
class GateRefusal:
    """The gate's verdict on a preview of the faulty program.

    ``refused``: the case's own rule refused it. ``expected``: that, or the case has no rule and the preview passed.
    """

    case: Case
    preview: Preview

    @property
    def refused(self) -> bool:
        """Whether the preview failed because of the rule that the case names."""
        return not self.preview.ok and any(
            violation.rule == self.case.rule for violation in self.preview.result.outcome.mandatory
        )

    @property
    def expected(self) -> bool:
        """Whether the gate did what the case says."""
        return self.preview.ok if self.case.rule is None else self.refused


@contextmanager
def faulty_project(case: Case, root: Path = ROOT) -> Iterator[Path]:
    """The checkout as a project directory whose program runs with the fault."""
    program = _PROGRAM.format(name=case.name, program=str(root / "__main__.py"))
    with changed_project(program, root / "build" / "faults", root) as project:
        yield project


def refusal(case: Case, *, tools: Path) -> GateRefusal:
    """Preview the faulty program with the gate."""
    stack = resolve(case.stack)
    with faulty_project(case) as project:
        return GateRefusal(case, preview(stack, tools=tools, gate=gate_for(ROOT, stack.name), project=project))


def rehearse_without_gate(case: Case, console: Console, *, tools: Path) -> Finished[RunRecord]:
    """Rehearse the faulty program without the gate."""
    with faulty_project(case) as project:
        options = Options(
            tools=tools, gate=None, project=project, fail_fast=True, build=ROOT / "build" / "faults" / "rehearsal"
        )
        return Rehearsal(resolve(case.stack), options, console).run()


def noticed_by(case: Case, finished: Finished[RunRecord]) -> bool:
    """Whether the rehearsal failed at the case's own check, for the case's own reason."""
    return any(
        not check.passed and check.id.startswith(case.check) and case.reason in check.detail
        for check in finished.record.checks
    )


def run_case(case: Case, console: Console, *, tools: Path, rehearse: bool) -> bool:
    """Run and show one case; true if the gate did what the case says and, with ``rehearse``, the rehearsal failed."""
    console.print(f"[bold]{case.name}[/]: {case.title} (stack {case.stack})\n", highlight=False)
    verdict = refusal(case, tools=tools)
    show(console, case.stack, verdict.preview, verbose=False)
    if case.rule is None:
        console.print("No rule of the gate can detect this." if verdict.expected else "The gate did NOT let it pass.")
    else:
        console.print(f"The gate {'refused it' if verdict.refused else 'did NOT refuse it'}: rule {case.rule}.")
    if not rehearse:
        return verdict.expected
    console.print("\nNow without the gate:")
    noticed = noticed_by(case, rehearse_without_gate(case, console, tools=tools))
    console.print(f"The rehearsal {'failed' if noticed else 'did NOT fail'} at check {case.check}.")
    return verdict.expected and noticed
