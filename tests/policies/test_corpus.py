"""The corpus: in every violating program the expected rule finds something, no legitimate one is blocked."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from policies.known_gaps import KNOWN_GAPS
from tests.policies import corpus
from tests.policies.corpus.accelerators import NOTHING_UP, RULE
from tests.policies.corpus.case import Case, blockers, doubts, findings
from tests.policies.corpus.side_doors import NEIGHBOURS
from tests.policies.corpus.silent import SILENT


def _cases(kind: str) -> list[Case]:
    names = [f"{corpus.__name__}.{module.name}" for module in pkgutil.iter_modules(corpus.__path__)]
    return [case for name in names for case in getattr(importlib.import_module(name), kind, ())]


BLOCKED, ALLOWED, UNJUDGED = _cases("BLOCKED"), _cases("ALLOWED"), _cases("UNJUDGED")


def _id(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", BLOCKED, ids=_id)
def test_the_rule_reports_a_violation(case: Case) -> None:
    violations = findings(case)
    assert case.rule in {violation.rule for violation in violations}, violations
    assert all(violation.message and violation.remedy for violation in violations)


@pytest.mark.parametrize("case", ALLOWED, ids=_id)
def test_allowed(case: Case) -> None:
    assert blockers(case) == []
    assert [why for why in doubts(case) if not case.unjudged or case.unjudged not in why] == []


@pytest.mark.parametrize("case", UNJUDGED, ids=_id)
def test_the_reason_is_reported_where_a_rule_is_not_evaluated(case: Case) -> None:
    assert blockers(case) == []
    reasons = doubts(case)
    assert case.unjudged
    assert any(case.unjudged in why for why in reasons), reasons


def test_every_case_has_its_own_id() -> None:
    ids = [case.id for case in (*BLOCKED, *ALLOWED, *UNJUDGED)]
    assert len(ids) == len(set(ids))


def test_each_line_of_what_the_gate_does_not_see_has_its_program() -> None:
    assert list(SILENT) == list(KNOWN_GAPS)


@pytest.mark.parametrize("line", KNOWN_GAPS)
def test_what_the_gate_does_not_see_passes_in_silence(line: str) -> None:
    """Once this fails, the gate sees more than its page says: take the line away."""
    assert findings(SILENT[line]) == []
    assert doubts(SILENT[line]) == []


@pytest.mark.parametrize("case", NOTHING_UP, ids=_id)
def test_nothing_is_noted_of_accelerators_where_nothing_is_up(case: Case) -> None:
    assert RULE not in {violation.rule for violation in findings(case)}


@pytest.mark.parametrize("case", NEIGHBOURS, ids=_id)
def test_the_neighbour_of_a_side_door_keeps_its_rule(case: Case) -> None:
    assert case.rule not in {violation.rule for violation in findings(case)}
