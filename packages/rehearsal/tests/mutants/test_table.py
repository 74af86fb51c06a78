"""The committed tables: how many harmful mutants are noticed, and that whatever is not is named in the verdict."""

from __future__ import annotations

import pytest

from rehearsal.engine.stack import resolve
from rehearsal.mutants import table
from rehearsal.report.scope import scope_of

# Only goes up: measured with `make mutants STACK=… UPDATE=1`.
FLOORS = {"dev": 0.97, "examples/aks-train-infer.yaml": 0.85}


@pytest.mark.parametrize("stack", FLOORS)
def test_most_harmful_mutants_are_noticed(stack: str) -> None:
    rows = [row for row in table.read(resolve(stack).name).values() if row["harm"] == "harmful"]
    noticed = sum(row["noticed_by"] in table.NOTICED for row in rows)
    assert noticed >= FLOORS[stack] * len(rows) > 0, f"{noticed} of {len(rows)}"


@pytest.mark.parametrize("stack", FLOORS)
def test_what_is_called_named_has_its_subject_in_the_verdict(stack: str) -> None:
    resolved = resolve(stack)
    subjects = scope_of(resolved.settings).not_rehearsed
    named = {row["why"].partition(":")[0] for row in table.read(resolved.name).values() if row["harm"] == "named"}
    assert named
    assert named <= subjects.keys()


def test_every_judgement_has_a_reason_and_a_source() -> None:
    for row in table.judgements():
        assert row["harm"] in ("harmful", "harmless", "named")
        assert row["why"]
        assert row["source"].startswith("https://")
