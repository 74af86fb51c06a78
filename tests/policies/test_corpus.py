"""The corpus: in every violating program the expected rule finds something, no legitimate one is blocked."""

from __future__ import annotations

import pytest

from policies.docs import KNOWN_GAPS
from tests.policies.corpus.case import Case, blockers, doubts, findings
from tests.policies.corpus.programs import read_cases

_CASES = read_cases()
BLOCKED, ALLOWED, UNJUDGED = (
    [case for case in _CASES if case.verdict == verdict] for verdict in ("refused", "allowed", "not evaluated")
)
SILENT = {case.id.removeprefix("gap-"): case for case in ALLOWED if case.id.startswith("gap-")}


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
    assert doubts(case) == []


@pytest.mark.parametrize("case", UNJUDGED, ids=_id)
def test_the_reason_is_reported_where_a_rule_is_not_evaluated(case: Case) -> None:
    assert blockers(case) == []
    reasons = doubts(case)
    assert any(case.reason in why for why in reasons), reasons


def test_every_case_has_its_own_id() -> None:
    ids = [case.id for case in _CASES]
    assert len(ids) == len(set(ids))


def test_each_line_of_what_the_gate_does_not_see_has_its_program() -> None:
    assert SILENT.keys() == set(KNOWN_GAPS)


@pytest.mark.parametrize("line", KNOWN_GAPS)
def test_what_the_gate_does_not_see_passes_in_silence(line: str) -> None:
    """Once this fails, the gate sees more than its page says: take the line away."""
    assert findings(SILENT[line]) == []
    assert doubts(SILENT[line]) == []


@pytest.mark.parametrize("case", [case for case in ALLOWED if case.rule], ids=_id)
def test_a_rule_next_to_it_reports_nothing(case: Case) -> None:
    assert case.rule not in {violation.rule for violation in findings(case)}
