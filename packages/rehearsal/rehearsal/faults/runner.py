"""Runs sabotage cases: builds the sabotaged project, previews it with the gate, rehearses it without."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.faults.case import Case
from rehearsal.faults.table import module_of
from rehearsal.run.options import Options
from rehearsal.run.preview import Preview, preview, show
from rehearsal.run.rehearsal import Finished, Rehearsal

_LEFT_OUT: Final = frozenset({"__main__.py", "build", ".git", ".pytest_cache", ".ruff_cache"})
_PROGRAM: Final = """\
# Runs the unchanged program under one sabotage case.
import runpy

from {module} import CASE

CASE.sabotage(lambda: (runpy.run_path({program!r}, run_name="__main__"), None)[1])
"""


@dataclass(frozen=True)
class GateRefusal:
    """What the gate said to a sabotaged preview.

    ``refused`` is true only if the case's own rule stopped it; ``expected`` also if it has none and nothing stopped it.
    """

    case: Case
    preview: Preview

    @property
    def refused(self) -> bool:
        """Whether the preview failed because of the rule that the case names."""
        return not self.preview.ok and any(
            found.rule == self.case.rule for found in self.preview.result.outcome.mandatory
        )

    @property
    def expected(self) -> bool:
        """Whether the gate did what the case says."""
        return self.preview.ok if self.case.rule is None else self.refused


@contextmanager
def sabotaged_project(case: Case, root: Path = ROOT) -> Iterator[Path]:
    """The checkout as a project directory of symbolic links, except for the program, which runs under ``case``."""
    build = root / "build" / "sabotage"
    build.mkdir(parents=True, exist_ok=True)
    project = Path(tempfile.mkdtemp(prefix=f"{case.name}-", dir=build))
    try:
        for entry in root.iterdir():
            if entry.name not in _LEFT_OUT:
                (project / entry.name).symlink_to(entry)
        (project / "__main__.py").write_text(_PROGRAM.format(module=module_of(case), program=str(root / "__main__.py")))
        yield project
    finally:
        shutil.rmtree(project, ignore_errors=True)


def refusal(case: Case, *, tools: Path) -> GateRefusal:
    """Preview the sabotaged program with the gate."""
    stack = resolve(case.stack)
    with sabotaged_project(case) as project:
        return GateRefusal(case, preview(stack, tools=tools, gate=gate_for(ROOT, stack.name), project=project))


def rehearsed(case: Case, console: Console, *, tools: Path) -> Finished:
    """Rehearse the sabotaged program with the gate off."""
    with sabotaged_project(case) as project:
        options = Options(
            tools=tools, gate=None, project=project, fail_fast=True, build=ROOT / "build" / "sabotage" / "rehearsal"
        )
        return Rehearsal(resolve(case.stack), options, console).run()


def caught(case: Case, finished: Finished) -> bool:
    """Whether the rehearsal failed at the case's own check, for the case's own reason."""
    return any(
        not check.passed and check.id.startswith(case.check) and case.reason in check.detail
        for check in finished.record.checks
    )


def run_case(case: Case, console: Console, *, tools: Path, rehearse: bool) -> bool:
    """Show one case; true if the gate did what the case says and, with ``rehearse``, the rehearsal noticed."""
    console.print(f"[bold]{case.name}[/]: {case.title} (stack {case.stack})\n", highlight=False)
    found = refusal(case, tools=tools)
    show(console, case.stack, found.preview, verbose=False)
    if case.rule is None:
        console.print("No rule of the gate can know this." if found.expected else "The gate did NOT let it pass.")
    else:
        console.print(f"The gate {'refused it by' if found.refused else 'did NOT refuse it by'} rule {case.rule}.")
    if not rehearse:
        return found.expected
    console.print("\nNow without the gate:")
    noticed = caught(case, rehearsed(case, console, tools=tools))
    console.print(f"The rehearsal {'failed' if noticed else 'did NOT fail'} at check {case.check}.")
    return found.expected and noticed
