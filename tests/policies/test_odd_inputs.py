"""No input, however odd or unknown, makes the gate fail: it reads what it can, and names what it cannot read.

``--hypothesis-profile=long`` tries for minutes what ``make test`` tries for seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.concepts.declared import Unreadable
from facts.concepts.unknown import UNKNOWN
from policies.judging import tags_of
from policies.readers import linked, read, read_stack, reading, waits
from policies.readers.resource import Declared
from policies.rules.table import RULES
from tests.policies.corpus.case import Case, blockers, declared_by
from tests.policies.test_corpus import ALLOWED, BLOCKED, UNJUDGED

_CASES = [*BLOCKED, *ALLOWED]
_TEXTS = ("", " ", "x", "0", "-1", "a=b", "a:b", "${a", "/")
_NUMBERS = (0, -1.0, 1.5, 1e300, math.inf, math.nan)
_SCALARS = st.sampled_from([None, *_TEXTS, True, False, *_NUMBERS, UNKNOWN])
_KEYS = st.sampled_from(["", "a", "key", "name", "value", "effect", "spec", "limits", "min", "containers"])
_ODD = st.recursive(
    _SCALARS, lambda part: st.lists(part, max_size=2) | st.dictionaries(_KEYS, part, max_size=2), max_leaves=4
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _places(part, (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _places(part, (*path, index))


def _with(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    if isinstance(value, Mapping):
        return {**value, path[0]: _with(value[path[0]], path[1:], odd)}
    return [*value[: path[0]], _with(value[path[0]], path[1:], odd), *value[path[0] + 1 :]]


@st.composite
def programs(draw: st.DrawFn) -> Case:
    """A case of the corpus in which something odd stands in up to two places."""
    case = draw(st.sampled_from(_CASES))
    resources = list(case.resources)
    for _ in range(draw(st.integers(1, 2))):
        index = draw(st.integers(0, len(resources) - 1))
        token, name, properties = resources[index]
        places = list(_places(properties))
        if places:
            resources[index] = (token, name, _with(properties, draw(st.sampled_from(places)), draw(_ODD)))
    return replace(case, resources=tuple(resources))


@given(programs())
def test_every_program_is_read_and_judged(case: Case) -> None:
    declared = declared_by(case)
    for resource in declared:
        waits(resource)
        tags_of(resource.properties)
    together = linked(declared)
    read_items = [item for resource in together for item in read(resource)]
    assert [item.why for item in read_items if isinstance(item, Unreadable)] == []
    stack = read_stack(together)
    for rule in RULES:
        for subject in (
            [stack] if rule.scope == "stack" else [item for item in read_items if isinstance(item, rule.subjects)]
        ):
            rule.check(subject, {**rule.limits(), **rule.example_limits})


@pytest.mark.parametrize("case", [*_CASES, *UNJUDGED], ids=lambda case: case.id)
def test_any_part_may_be_unknown(case: Case) -> None:
    for index, (token, name, properties) in enumerate(case.resources):
        for path in _places(properties):
            changed = (token, name, _with(properties, path, UNKNOWN))
            program = replace(case, resources=(*case.resources[:index], changed, *case.resources[index + 1 :]))
            assert "resource-readable" not in {violation.rule for violation in blockers(program)}


def test_what_no_reader_can_read_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(resource: Declared) -> Iterator[Any]:
        yield from (None,)
        raise TypeError(f"no such thing in {resource.name}")

    monkeypatch.setattr(reading, "reader_of", lambda token: broken)
    (item,) = read(Declared("gcp:container/nodePool:NodePool", "gpu", "urn:gpu", {}))
    assert item == Unreadable("gcp:container/nodePool:NodePool 'gpu'", "TypeError: no such thing in gpu", "urn:gpu")
