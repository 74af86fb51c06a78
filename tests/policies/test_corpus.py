"""The corpus: each violating program is found, no legitimate one is blocked, every rule has its three cases.

Rules on programs that differ from a good one in one place: ``test_corpus.yaml``. ``things`` are a program's parts by a
short name: ``is`` is their class. ``programs`` are good. A case has its ``rule`` with ``limits``, and a program: ``of``
names it or lists its parts, ``with`` has other values for fields of a part, ``without`` names parts that it lacks,
``elsewhere`` groups of another program. Its ``answer`` is ``allowed``, ``not evaluated``, or words of the message; then
it may have words of the ``remedy``. ``resources`` are those of the violations, of which there is one else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts import declared
from facts.concepts.declared import Stack, Violation
from policies.docs import KNOWN_GAPS
from policies.rules.table import BY_ID, RULES
from tests.policies.corpus.case import Case, blockers, doubts, findings, judged
from tests.policies.corpus.programs import Trio, read_cases, read_trios
from tests.tables import beside, immutable

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
    assert all(violation.not_evaluated for violation in unknown)


TABLE = beside(__file__)
CASES = [
    pytest.param(case, id=f"{sentence.replace(' ', '_')}-{number}")
    for sentence, cases in TABLE["cases"].items()
    for number, case in enumerate(cases)
]
KEYS = {"rule", "limits", "of", "with", "without", "elsewhere", "answer", "remedy", "resources"}


def things(names: Sequence[str], changes: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[Any, ...]:
    changed = [{**TABLE["things"][name], **(changes or {}).get(name, {})} for name in names]
    return tuple(
        getattr(declared, fields.pop("is"))(**{key: immutable(value) for key, value in fields.items()})
        for fields in changed
    )


def answers(case: Mapping[str, Any]) -> list[Violation]:
    """What the rule reports of the program, or of each part that it is about."""
    names = TABLE["programs"][case["of"]] if isinstance(case["of"], str) else case["of"]
    changes = case.get("with", {})
    assert set(changes) | set(case.get("without", ())) <= set(names)
    parts = things([name for name in names if name not in case.get("without", ())], changes)
    rule = BY_ID[case["rule"]]
    limits = {**rule.limits(), **case.get("limits", {})}
    stack = replace(Stack.of(parts), elsewhere=things(case.get("elsewhere", ())))
    subjects = [stack] if rule.scope == "stack" else [part for part in parts if isinstance(part, rule.subjects)]
    return [violation for subject in subjects for violation in rule.check(subject, limits)]


@pytest.mark.parametrize("case", CASES)
def test_it_answers(case: Mapping[str, Any]) -> None:
    assert case.keys() <= KEYS
    violations = answers(case)
    if case["answer"] == "allowed":
        assert violations == []
        return
    unknown = case["answer"] == "not evaluated"
    assert [violation.not_evaluated for violation in violations] == [unknown] * len(case.get("resources", "1"))
    if "resources" in case:
        assert [violation.resource for violation in violations] == case["resources"]
    assert unknown or case["answer"] in violations[0].message
    assert case.get("remedy", "") in violations[0].remedy != ""
