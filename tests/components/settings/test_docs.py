"""What the reference says of clouds: what can be asked for where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.settings import docs
from components.settings.fields import Section
from components.settings.stack_file import StackFile

MEANINGS = json.loads(Path(docs.__file__).with_name("meanings.json").read_text())


def sections(section: type[Section] = Section) -> Iterator[type[Section]]:
    for each in section.__subclasses__():
        yield each
        yield from sections(each)


def test_every_meaning_is_of_a_key_that_exists() -> None:
    assert StackFile in sections()
    keys = {each.__name__: {field.alias or name for name, field in each.model_fields.items()} for each in sections()}
    assert [(name, key) for name, each in MEANINGS.items() for key in each if key not in keys.get(name, ())] == []


@pytest.mark.parametrize("column", [*docs.columns()], ids=lambda column: f"{column.cloud}-{column.autoscaler}")
def test_the_stack_that_wishes_are_added_to_is_accepted_everywhere(column: docs.Column) -> None:
    """So a "no" in the reference is about the wish."""
    assert docs.supports(column, {})
    assert not docs.supports(column, {"gpuPools": {"maxNodes": 0}})
    # A section that no wish is about yet is asked for, too.
    assert not docs.supports(column, {"maintenance": {"hours": 0}})


def test_the_reference_tells_apart_what_clouds_can_do() -> None:
    answers = dict(docs.support())
    assert all(len(row) == len([*docs.columns()]) for row in answers.values())
    assert [title for title, row in answers.items() if not any(row)] == []
    assert all(answers["`gpuPools[].drivers: none`"])
