"""The corpus: each violating program is found, no legitimate one is blocked, every rule has its three cases."""

from __future__ import annotations

from collections import Counter

import pytest

from facts.concepts.declared import Violation
from policies.docs import KNOWN_GAPS
from policies.rules.table import RULES
from tests.policies.corpus.case import Case, blockers, doubts, findings, judged
from tests.policies.corpus.programs import Trio, read_cases, read_trios

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
    assert [id for id, times in Counter(case.id for case in _CASES).items() if times > 1] == []


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


TRIOS, WITHOUT = read_trios()

PER_RULE = pytest.mark.parametrize("trio", TRIOS, ids=lambda trio: trio.rule)


def violations(case: Case) -> list[Violation]:
    return [violation for violation in judged(case) if violation.rule == case.rule]


def test_every_rule_has_its_three_cases() -> None:
    known = {trio.rule for trio in TRIOS} | set(WITHOUT)
    missing = [f"{rule.id}: refused, allowed, unknown" for rule in RULES if rule.id not in known]
    assert missing == [], "add one to tests/policies/corpus/trios.yaml"
    assert [rule for rule, times in Counter(trio.rule for trio in TRIOS).items() if times > 1] == []
    assert set(WITHOUT) & {trio.rule for trio in TRIOS} == set()


@PER_RULE
def test_the_first_is_refused(trio: Trio) -> None:
    if trio.rule == "unjudged":
        assert doubts(trio.case(trio.refused))
    else:
        assert any(not violation.not_evaluated for violation in violations(trio.case(trio.refused)))


@PER_RULE
def test_its_neighbour_is_allowed(trio: Trio) -> None:
    assert violations(trio.case(trio.allowed)) == []
    if trio.rule == "unjudged":
        assert doubts(trio.case(trio.allowed)) == []


@PER_RULE
def test_it_is_not_evaluated_while_the_value_is_unknown(trio: Trio) -> None:
    unknown = violations(trio.case(trio.unknown))
    if trio.no_unknown:
        assert unknown == [], f"{trio.rule} reports an unknown value: remove no_unknown ({trio.no_unknown})"
        return
    assert unknown, f"{trio.rule} reports nothing while the value is unknown: say why in no_unknown"
    assert {violation.not_evaluated for violation in unknown} == {not trio.unknown_refused}
