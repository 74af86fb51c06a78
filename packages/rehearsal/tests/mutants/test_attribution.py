"""Group testing: which mutants are noticed, from rehearsals of many at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.engine.events import PolicyViolation
from rehearsal.mutants import trials
from rehearsal.mutants.judges import NOBODY, Verdict
from rehearsal.mutants.mutation import Mutant
from rehearsal.mutants.trials import Trial, attribute
from rehearsal.scenario.check import Check

FELT = Verdict("scenario", "a check")
MUTANTS = [Mutant("t", f"r{number}", ("size",), "dropped") for number in range(24)]


def noticing(felt: Sequence[Mutant], suspects: Sequence[Mutant] = ()) -> tuple[Callable[..., Trial], list[int]]:
    """A rehearsal that fails if any of ``felt`` is in, and then names ``suspects``; and how many were in each."""
    sizes: list[int] = []

    def ask(group: Sequence[Mutant]) -> Trial:
        sizes.append(len(group))
        failed = any(one in felt for one in group)
        return (FELT, [one for one in suspects if one in group]) if failed else (NOBODY, [])

    return ask, sizes


@pytest.mark.parametrize("seed", range(20))
def test_exactly_those_that_are_noticed_are_found_whatever_the_reasons_name(seed: int) -> None:
    chance = random.Random(seed)
    felt = chance.sample(MUTANTS, chance.randint(0, 8))
    ask, _ = noticing(felt, chance.sample(MUTANTS, chance.randint(0, 4)))
    verdicts = attribute(MUTANTS, ask)
    assert {one for one, verdict in verdicts.items() if verdict == FELT} == set(felt)
    assert set(verdicts) == set(MUTANTS)


def test_a_group_that_passes_needs_one_rehearsal() -> None:
    ask, sizes = noticing([])
    assert set(attribute(MUTANTS, ask).values()) == {NOBODY}
    assert sizes == [24]


def test_a_reason_that_names_the_resource_needs_three() -> None:
    ask, sizes = noticing(MUTANTS[7:8], MUTANTS[7:8])
    assert attribute(MUTANTS, ask)[MUTANTS[7]] == FELT
    assert sizes == [24, 1, 23]


def test_what_is_only_noticed_together_is_not_noticed() -> None:
    def ask(group: Sequence[Mutant]) -> Trial:
        return (FELT, []) if len(group) > 1 else (NOBODY, [])

    assert set(attribute(MUTANTS, ask).values()) == {NOBODY}


def test_the_first_update_says_what_the_program_registers() -> None:
    preview = {"type": "t", "name": "r", "urn": "urn:r", "inputs": {"count": 0}, "id": "", "outputs": {}}
    update = {**preview, "id": "1", "outputs": {"fqdn": "x"}}
    later = {**update, "inputs": {"count": 4}}
    (one,) = trials.registered([preview, update, later])
    assert (one.id, one.inputs, one.outputs) == ("1", {"count": 0}, {"fqdn": "x"})


def record(*checks: Check, violations: Sequence[PolicyViolation] = (), reasons: Sequence[str] = ()) -> Any:
    return SimpleNamespace(checks=list(checks), violations=violations, reasons=list(reasons))


def test_the_first_reason_of_a_rehearsal_is_the_judge() -> None:
    up, later = Check("up", "", False, "Error 400"), Check("drift", "", False, "changed")
    refused = PolicyViolation("gpu-taint", "mandatory", "t4", "untainted")
    noted = PolicyViolation("gpu-taint-key", "advisory", "t4", "another key")
    assert trials.verdict_of(record(Check("up", "", True, ""), violations=[noted])) == NOBODY
    assert trials.verdict_of(record(up, violations=[refused])) == Verdict("gate", "gpu-taint")
    assert trials.verdict_of(record(up, later)) == Verdict("up", "Error 400")
    assert trials.verdict_of(record(later)) == Verdict("scenario", "drift: changed")
    assert trials.verdict_of(record(reasons=["the sandbox died"])) == Verdict("up", "the sandbox died")
