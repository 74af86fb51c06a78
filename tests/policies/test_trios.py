"""Every rule has its three corpus cases; a new rule without them fails here, with the missing ones."""

from __future__ import annotations

from collections import Counter

import pytest

from facts.concepts.declared import Violation
from policies.rules.table import RULES
from tests.policies.corpus.case import Case, doubts, judged
from tests.policies.corpus.programs import Trio, read_trios

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
