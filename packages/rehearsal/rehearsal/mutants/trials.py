"""Rehearses the program with mutants: many at once, then fewer, until it is known which of them are noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from rehearsal.engine.changed_project import changed_project
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.mutants.judges import NOBODY, Verdict
from rehearsal.mutants.mutation import Mutant, Registered
from rehearsal.run.options import Options
from rehearsal.run.preview import preview
from rehearsal.run.rehearsal import Finished, Rehearsal

_PROGRAM: Final = """\
# Runs the unchanged program with other inputs.
import runpy
from pathlib import Path

from rehearsal.mutants.program import run

run(lambda: (runpy.run_path({program!r}, run_name="__main__"), None)[1], Path({plan!r}), Path({record!r}))
"""
_FAILED: Final = re.compile(r"\((\S+)\):\s*\n\s*error:")
"""In the engine's log: the resource of an error."""


class BaseFailed(Exception):
    """The program without mutants does not pass, so nothing can be learnt from it; the message says why."""


@dataclass(frozen=True)
class Trial:
    """The verdict on mutants together, and those of them that its reasons name."""

    verdict: Verdict
    suspects: tuple[Mutant, ...] = ()


Ask = Callable[[Sequence[Mutant]], Trial]


@dataclass(frozen=True)
class Trials:
    """Rehearsals of one stack, one after another, in ``folder``."""

    stack: Stack
    tools: Path
    folder: Path

    def base(self, *, quick: bool) -> list[Registered]:
        """What the program registers, from a rehearsal without mutants, if ``quick`` from a preview.

        Raises:
            BaseFailed: it does not pass.
        """
        program = self._program([])
        if quick:
            gate = gate_for(ROOT, self.stack.name)
            with changed_project(program, self.folder, ROOT) as project:
                result = preview(self.stack, tools=self.tools, gate=gate, project=project).result
            reason = "" if result.ok else result.reason
        else:
            reason = "; ".join(self._rehearse(program)[0].record.reasons)
        if reason:
            raise BaseFailed(f"{self.stack.name} without mutants does not pass: {reason}")
        lines = [json.loads(line) for line in (self.folder / "registered.jsonl").read_text().splitlines()]
        # The last registration has the values of an update, which a preview does not know.
        return list({raw["urn"]: Registered(**raw) for raw in lines}.values())

    def ask(self, mutants: Sequence[Mutant]) -> Trial:
        """Rehearse with these mutants."""
        finished, log = self._rehearse(self._program(mutants))
        if finished.interrupted:
            raise KeyboardInterrupt
        verdict = verdict_of(finished)
        names = {*_FAILED.findall(log), *(each.resource for each in finished.record.violations if each.mandatory)}
        in_detail = (one for one in mutants if re.search(rf"\b{re.escape(one.name)}\b", verdict.detail))
        return Trial(verdict, tuple(one for one in mutants if one.name in names) or tuple(in_detail))

    def _program(self, mutants: Sequence[Mutant]) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        plan, record = self.folder / "plan.json", self.folder / "registered.jsonl"
        plan.write_text(json.dumps([asdict(one) for one in mutants]))
        record.unlink(missing_ok=True)
        return _PROGRAM.format(program=str(ROOT / "__main__.py"), plan=str(plan), record=str(record))

    def _rehearse(self, program: str) -> tuple[Finished, str]:
        """One rehearsal, and the engine's log of its update if it failed."""
        gate, inside = gate_for(ROOT, self.stack.name), self.stack.only_from_inside
        with changed_project(program, self.folder, ROOT) as project, (self.folder / "output.log").open("a") as output:
            options = Options(self.tools, gate, project, inside=inside, fail_fast=True, build=self.folder)
            rehearsal = Rehearsal(self.stack, options, Console(file=output, width=120))
            finished = rehearsal.run()
        log = rehearsal.run_dir / "up.log"
        return finished, log.read_text(errors="replace") if log.exists() else ""


def verdict_of(finished: Finished) -> Verdict:
    """Who noticed something in a rehearsal; the first reason counts."""
    record = finished.record
    refused = [each.rule for each in record.violations if each.mandatory]
    failed = next((each for each in record.checks if not each.passed), None)
    if finished.passed:
        return NOBODY
    if refused:
        return Verdict("gate", refused[0])
    if failed is None or failed.id == "up":
        return Verdict("up", record.reasons[0])
    return Verdict("scenario", f"{failed.id}: {failed.detail}")


def attribute(group: Sequence[Mutant], ask: Ask, *, noticed: bool = False) -> dict[Mutant, Verdict]:
    """Who notices each mutant of a group: ask about all, then about the suspects and the rest, or about halves.

    ``noticed``: it is known already that the group is. What is only noticed together counts as not noticed.
    """
    trial = Trial(NOBODY) if noticed and len(group) > 1 else ask(group)
    if len(group) == 1 or (trial.verdict == NOBODY and not noticed):
        return dict.fromkeys(group, trial.verdict)
    first = trial.suspects if 0 < len(trial.suspects) < len(group) else group[: len(group) // 2]
    verdicts = attribute(first, ask)
    unnoticed = all(verdict == NOBODY for verdict in verdicts.values())
    return {**verdicts, **attribute([one for one in group if one not in first], ask, noticed=unnoticed)}
