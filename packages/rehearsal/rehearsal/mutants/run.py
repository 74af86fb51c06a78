"""``make mutants``: which mutants of a stack are noticed, by whom, and whether that is less than the table says."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console

from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.mutants import table
from rehearsal.mutants.judges import NOBODY, QuickJudges, Verdict
from rehearsal.mutants.mutation import Key, Mutant, groups_of, mutants_of
from rehearsal.mutants.trials import Ask, Trials, attribute

GROUP: Final = 24
"""As many mutants at most in the first rehearsal of a group."""


def run(
    stack: Stack,
    console: Console,
    *,
    tools: Path,
    sample: int = 0,
    seed: int = 0,
    types: Sequence[str] = (),
    quick: bool = False,
    update: bool = False,
) -> bool:
    """Judge a ``sample`` (0: all) of the mutants of resources whose type begins with one of ``types`` (by default the
    cloud's). ``quick``: without rehearsals. ``update``: write the table. True if nothing is noticed less than before.

    Raises:
        BaseFailed: the stack does not pass without mutants.
    """
    folder = ROOT / "build" / "mutants" / stack.name
    shutil.rmtree(folder, ignore_errors=True)
    trials = Trials(stack, tools, folder)
    program, committed, judgements = trials.base(quick=quick), table.read(stack.name), table.judgements()
    with TemporaryDirectory() as records:
        judges = QuickJudges(stack, program, gate_for(ROOT, stack.name).config, Path(records))
        wanted = tuple(types) or tuple(f"{plugin}:" for plugin in stack.plugins)
        every = [one for one in mutants_of(program, judges.enum) if one.type.startswith(wanted)]
        mutants = random.Random(seed).sample(every, sample) if 0 < sample < len(every) else every
        verdicts = {one: judges.verdict(one) for one in mutants}
    rows = {one: table.row_of(one, verdict, judgements) for one, verdict in verdicts.items()}
    left = [
        one for one, row in rows.items() if row["noticed_by"] in ("nobody", "advisory") and row["harm"] != "harmless"
    ]
    console.print(f"{len(mutants)} mutants of {stack.name}; {len(left)} of them only a rehearsal can judge")
    if quick:
        rows = {one: row for one, row in rows.items() if one not in left}
    else:
        noticed = {key for key, row in committed.items() if row["noticed_by"] in table.NOTICED}
        found = _rehearsed(left, noticed, trials.ask, console)
        rows |= {one: table.row_of(one, verdict, judgements) for one, verdict in found.items()}
    console.print(table.summary(rows.values()), highlight=False)
    lost = table.lost(rows.values(), committed)
    for row in lost:
        _say(console, f"no longer noticed: {' '.join(table.key_of(row))}; in the table by {row['noticed_by']}")
    if update:
        keys = {one.key for one in every}
        old = {key: row for key, row in committed.items() if key in keys or not row["type"].startswith(wanted)}
        new = {**old, **{one.key: row for one, row in rows.items()}}
        _say(console, f"Table: {table.write(stack.name, new.values())}")
    return not lost


def _rehearsed(mutants: Sequence[Mutant], noticed: set[Key], ask: Ask, console: Console) -> dict[Mutant, Verdict]:
    """What rehearsals notice: those that are ``noticed`` by the table are asked about alone, the others in groups."""
    groups = [[one] for one in mutants if one.key in noticed]
    groups += groups_of([one for one in mutants if one.key not in noticed], GROUP)
    verdicts: dict[Mutant, Verdict] = {}
    for number, group in enumerate(groups, 1):
        found = {one: verdict for one, verdict in attribute(group, ask).items() if verdict != NOBODY}
        verdicts |= found
        _say(console, f"group {number} of {len(groups)}: {len(found)} of {len(group)} noticed")
        for one, verdict in found.items():
            _say(console, f"  {' '.join(one.key)}: {verdict.judge}: {verdict.detail}")
    return verdicts


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
