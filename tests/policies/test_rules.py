"""Each rule on programs that differ from a good one in one place: ``test_rules.yaml``; see also test_corpus.py.

``things`` are a program's parts by a short name: ``is`` is their class. ``programs`` are good. A case has its ``rule``
with ``limits``, and a program: ``of`` names it or lists its parts, ``with`` has other values for fields of a part,
``without`` names parts that it lacks, ``elsewhere`` groups of another program. Its ``answer`` is ``allowed``, ``not
evaluated``, or words of the message; then it may have words of the ``remedy``. ``resources`` are those of the
violations, of which there is one else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts import declared
from facts.concepts.declared import Stack, Violation
from policies.rules.table import BY_ID
from tests.tables import Loader, immutable

TABLE = yaml.load(Path(__file__).with_suffix(".yaml").read_text("utf-8"), Loader)
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
