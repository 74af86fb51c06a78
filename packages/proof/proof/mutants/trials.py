"""``make mutants``: which mutants of a stack are noticed, by whom, and whether that is less than the table says.

The program is rehearsed with mutants: many at once, then fewer, until it is known which of them are noticed.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from policies.offline import OfflineGate
from proof.mutants import table
from proof.mutants.judges import NOBODY, QuickJudges, Verdict
from proof.mutants.mutation import Mutant, Registered, groups_of, mutants_of
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.engine.changed_stacks import changed_project
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.report.report import RunRecord
from rehearsal.run.options import Options
from rehearsal.run.recorder import Finished
from rehearsal.run.rehearsal import Rehearsal

_PROGRAM: Final = """\
# Runs the unchanged program with other inputs.
from proof.mutants.program import run

run({program!r}, {plan!r}, {record!r})
"""
_FAILED: Final = re.compile(r"\((\S+)\):\s*\n\s*error:")
"""In the engine's log: the resource of an error."""

Trial = tuple[Verdict, Sequence[Mutant]]
"""The verdict on mutants together, and those of them that its reasons name."""


class BaseFailed(EngineError):
    """The program without mutants does not pass, so nothing can be learnt from it; the message says why."""


@dataclass(frozen=True)
class Trials:
    """Rehearsals of one stack, one after another, in ``folder``."""

    stack: Stack
    tools: Path
    folder: Path

    def base(self) -> list[Registered]:
        """What the program registers, from a rehearsal without mutants. Raises ``BaseFailed``."""
        record = self.folder / "registered.jsonl"
        reasons = self._rehearse([], record)[0].record.reasons
        if reasons:
            raise BaseFailed(f"{self.stack.name} without mutants does not pass: {'; '.join(reasons)}")
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        record.unlink()  # it may hold secrets
        return registered(lines)

    def ask(self, mutants: Sequence[Mutant]) -> Trial:
        """Rehearse with these mutants."""
        finished, log = self._rehearse(mutants, Path(os.devnull))
        if finished.interrupted:
            raise KeyboardInterrupt
        verdict = verdict_of(finished.record)
        names = {*_FAILED.findall(log), *(each.resource for each in finished.record.violations if each.mandatory)}
        in_detail = [one for one in mutants if re.search(rf"\b{re.escape(one.name)}\b", verdict.detail)]
        return verdict, [one for one in mutants if one.name in names] or in_detail

    def _rehearse(self, mutants: Sequence[Mutant], record: Path) -> tuple[Finished[RunRecord], str]:
        """One rehearsal, and the engine's log of its update if it failed; ``record`` gets what is registered."""
        self.folder.mkdir(parents=True, exist_ok=True)
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps([asdict(one) for one in mutants]))
        program = _PROGRAM.format(program=str(ROOT / "__main__.py"), plan=str(plan), record=str(record))
        gate, inside = gate_for(ROOT, self.stack.name), self.stack.only_from_inside
        with changed_project(program, self.folder, ROOT) as project, (self.folder / "output.log").open("a") as output:
            options = Options(self.tools, gate, project, inside=inside, fail_fast=True, build=self.folder)
            rehearsal = Rehearsal(self.stack, options, Console(file=output, width=120))
            finished = rehearsal.run()
        log = rehearsal.run_dir / "up.log"
        return finished, log.read_text(errors="replace") if log.exists() else ""


def registered(lines: Iterable[Mapping[str, Any]]) -> list[Registered]:
    """Each resource as the first update registered it: a preview knows no outputs, and a later update's inputs may have
    what the scenario changed, such as the number of nodes."""
    first: dict[str, Registered] = {}
    for raw in lines:
        if raw["id"]:
            first.setdefault(raw["urn"], Registered(**raw))
    return list(first.values())


def verdict_of(record: RunRecord) -> Verdict:
    """Who noticed something in a rehearsal; the first reason counts."""
    if refused := [each.rule for each in record.violations if each.mandatory]:
        return Verdict("gate", refused[0])
    if failed := [each for each in record.checks if not each.passed]:
        up, detail = failed[0].id == "up", failed[0].detail
        return Verdict("up", detail) if up else Verdict("scenario", f"{failed[0].id}: {detail}")
    return Verdict("up", record.reasons[0]) if record.reasons else NOBODY


def attribute(group: Sequence[Mutant], ask: Callable[[Sequence[Mutant]], Trial]) -> dict[Mutant, Verdict]:
    """Who notices each mutant of a group: while the group is noticed, one that explains it is found and taken out.

    A rehearsal that fails is shorter than one that passes. What is only noticed together counts as not noticed.
    """
    left, verdicts = list(group), dict.fromkeys(group, NOBODY)
    while left and (trial := ask(left))[0] != NOBODY:
        one, verdict = _noticed(left, trial, ask)
        verdicts[one] = verdict
        left.remove(one)
    return verdicts


def _noticed(group: Sequence[Mutant], trial: Trial, ask: Callable[[Sequence[Mutant]], Trial]) -> tuple[Mutant, Verdict]:
    """One mutant of a group that is noticed: the suspects are asked about first, then halves."""
    verdict, suspects = trial
    while len(group) > 1:
        first = suspects if 0 < len(suspects) < len(group) else group[: len(group) // 2]
        verdict, suspects = ask(first)
        if verdict == NOBODY:
            first = [one for one in group if one not in first]
        group = first
    return group[0], verdict if verdict != NOBODY else ask(group)[0]


GROUP: Final = 24  # mutants at most in the first rehearsal of a group


@contextmanager
def _empty_cluster(folder: Path, tools: Path) -> Iterator[tuple[Api, SimulatedKubernetes]]:
    with ControlPlane(folder, tools=tools) as plane:
        provider = SimulatedKubernetes((), tools)
        provider.configure({"kubeconfig": plane.kubeconfig.read_text()})
        yield plane.api, provider


def run(
    stack: Stack,
    console: Console,
    tools: Path,
    *,
    sample: int = 0,
    seed: int = 0,
    update: bool = False,
    objects: bool = False,
) -> bool:
    """Judge a ``sample`` (0: all) of the mutants of a stack; true if nothing is noticed less than by its table.

    ``update``: write the table. ``objects``: mutants of objects in the cluster instead, with a table of their own.
    Raises ``BaseFailed``.
    """
    name = f"{stack.name}-objects" if objects else stack.name
    folder = ROOT / "build" / "mutants" / stack.name
    shutil.rmtree(folder, ignore_errors=True)
    trials = Trials(stack, tools, folder)
    program, committed, judgements = trials.base(), table.read(name), table.judgements(name)
    with TemporaryDirectory() as records, ExitStack() as cluster:
        gate = OfflineGate.of_file(gate_for(ROOT, stack.name).config)
        empty = cluster.enter_context(_empty_cluster(folder / "cluster", tools)) if objects else None
        judges = QuickJudges(stack, program, gate, Path(records), empty)
        if judges.refusal:
            console.out(f"without an engine the program cannot be created: {judges.refusal}")
        mutable = judges.mutable.items()
        every = mutants_of((each for key, each in mutable if (key not in judges.cloud) is objects), judges.enum)
        mutants = random.Random(seed).sample(every, sample) if 0 < sample < len(every) else every
        rows = {one: table.row_of(one, verdict, judgements) for one, verdict in judges.verdicts(mutants).items()}
    left = [one for one, row in rows.items() if table.unnoticed([row])]
    random.Random(seed).shuffle(left)  # other groups with another seed, in which others hide what one does
    console.print(table.summary(rows.values()), highlight=False)
    console.out(f"{len(mutants)} mutants of {name}; {len(left)} of them only a rehearsal can judge")
    # What the table does not have was noticed, perhaps by a rehearsal: alone, because others could hide it. Named ones
    # apart, because they could hide harmful ones.
    alone = [[one] for one in left if committed is not None and one.key not in committed]
    others = [one for one in left if [one] not in alone]
    harmful = groups_of([one for one in others if rows[one]["harm"] == "harmful"], GROUP)
    named = groups_of([one for one in others if rows[one]["harm"] == "named"], GROUP)
    rehearsed = _rehearsed([*alone, *harmful, *named], trials, console)
    rows |= {one: table.row_of(one, verdict, judgements) for one, verdict in rehearsed.items()}
    console.print(table.summary(rows.values()), highlight=False)
    lost = table.lost(rows.values(), committed)
    for row in lost:
        console.out(f"not noticed, and not in the table: {' '.join(table.key_of(row))}")
    if update and len(mutants) < len(every):
        console.out("The table is written after a run without N=, which judges all mutants")
    elif update:
        console.out(f"Table: {table.write(name, rows.values())}")
    return not lost


def _rehearsed(groups: Sequence[Sequence[Mutant]], trials: Trials, console: Console) -> dict[Mutant, Verdict]:
    """What rehearsals of these groups notice."""
    verdicts: dict[Mutant, Verdict] = {}
    for number, group in enumerate(groups, 1):
        noticing = {one: verdict for one, verdict in attribute(group, trials.ask).items() if verdict != NOBODY}
        verdicts |= noticing
        console.out(f"group {number} of {len(groups)}: {len(noticing)} of {len(group)} noticed")
        for one, verdict in noticing.items():
            console.out(f"  {' '.join(one.key)}: {verdict.judge}: {verdict.detail}")
    return verdicts
