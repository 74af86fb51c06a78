"""A value that is not known yet, wherever it is, makes no reader and no rule fail: the gate never falls over open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case, blockers
from tests.policies.test_corpus import ALLOWED, BLOCKED, UNJUDGED


def hidden(value: Any) -> Iterator[Any]:
    """The value with each of its parts in turn not known."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield {**value, key: UNKNOWN}
            for variant in hidden(part):
                yield {**value, key: variant}
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for variant in (UNKNOWN, *hidden(part)):
                yield [*value[:index], variant, *value[index + 1 :]]


@pytest.mark.parametrize("case", [*BLOCKED, *ALLOWED, *UNJUDGED], ids=lambda case: case.id)
def test_any_part_may_be_unknown(case: Case) -> None:
    for index, (token, name, properties) in enumerate(case.resources):
        for variant in hidden(properties):
            resources = (*case.resources[:index], (token, name, variant), *case.resources[index + 1 :])
            blockers(replace(case, resources=resources))
