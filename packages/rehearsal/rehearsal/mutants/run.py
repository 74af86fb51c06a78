"""``make mutants``: which mutants of a stack are noticed, by whom, and whether that is less than the table says."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console

from policies.offline import OfflineGate
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.mutants import table
from rehearsal.mutants.judges import NOBODY, QuickJudges, Verdict
from rehearsal.mutants.mutation import Key, Mutant, groups_of, mutants_of
from rehearsal.mutants.trials import Trials, attribute

GROUP: Final = 24  # mutants at most in the first rehearsal of a group


def run(stack: Stack, console: Console, tools: Path, *, sample: int = 0, seed: int = 0, update: bool = False) -> bool:
    """Judge a ``sample`` (0: all) of the mutants of a stack; true if nothing is noticed less than by its table.

    ``update``: write the table. Raises ``BaseFailed``.
    """
    folder = ROOT / "build" / "mutants" / stack.name
    shutil.rmtree(folder, ignore_errors=True)
    trials = Trials(stack, tools, folder)
    program, committed, judgements = trials.base(), table.read(stack.name), table.judgements(stack.name)
    with TemporaryDirectory() as records:
        gate = OfflineGate.of_file(gate_for(ROOT, stack.name).config)
        judges = QuickJudges(stack, program, gate, Path(records))
        every = mutants_of(judges.cloud.values(), judges.enum)
        mutants = random.Random(seed).sample(every, sample) if 0 < sample < len(every) else every
        rows = {one: table.row_of(one, verdict, judgements) for one, verdict in judges.verdicts(mutants).items()}
    unnoticed = [one for one, row in rows.items() if row["noticed_by"] in ("nobody", "advisory")]
    left = [one for one in unnoticed if rows[one]["harm"] != "harmless"]
    random.Random(seed).shuffle(left)  # other groups with another seed, in which others hide what one does
    console.out(f"{len(mutants)} mutants of {stack.name}; {len(left)} of them only a rehearsal can judge")
    noticed = {key for key, row in committed.items() if row["noticed_by"] in table.NOTICED}
    rehearsed = _rehearsed(left, noticed, trials, console)
    rows |= {one: table.row_of(one, verdict, judgements) for one, verdict in rehearsed.items()}
    console.print(table.summary(rows.values()), highlight=False)
    lost = table.lost(rows.values(), committed)
    for row in lost:
        console.out(f"no longer noticed: {' '.join(table.key_of(row))}; in the table by {row['noticed_by']}")
    if update:
        old = {one.key: committed[one.key] for one in every if one.key in committed}
        new = {**old, **{one.key: row for one, row in rows.items()}}
        console.out(f"Table: {table.write(stack.name, new.values())}")
    return not lost


def _rehearsed(mutants: Sequence[Mutant], noticed: set[Key], trials: Trials, console: Console) -> dict[Mutant, Verdict]:
    """What rehearsals notice: those that are ``noticed`` by the table are asked about alone, the others in groups."""
    groups = [[one] for one in mutants if one.key in noticed]
    groups += groups_of([one for one in mutants if one.key not in noticed], GROUP)
    verdicts: dict[Mutant, Verdict] = {}
    for number, group in enumerate(groups, 1):
        noticing = {one: verdict for one, verdict in attribute(group, trials.ask).items() if verdict != NOBODY}
        verdicts |= noticing
        console.out(f"group {number} of {len(groups)}: {len(noticing)} of {len(group)} noticed")
        for one, verdict in noticing.items():
            console.out(f"  {' '.join(one.key)}: {verdict.judge}: {verdict.detail}")
    return verdicts
