"""Whatever is written in place of a value: a list of problems, never a traceback."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any, Final

import pytest

from components.settings import SettingsError, load
from tests.one_stack import WORDS
from tests.program.test_every_key import COLUMNS, Config, before_and_after, keys, put

VALUES: Final[tuple[Any, ...]] = (
    *("x", "\x1b[2Jx", "b" * 100_000, -1, 2**70, float("nan"), True),
    *([], [None], ["a", "a"], [{"name": "ml"}], {"a": {"b": []}}),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: json.dumps(value)[:24])
def test_any_value_of_any_key_loads_or_is_a_list_of_problems(value: Any) -> None:
    columns = cycle(COLUMNS.values())
    for key, column in zip(keys(), columns, strict=False):
        config = before_and_after("workloads.notebook.image", column)[0]
        put(config, key, value, column.cloud)
        said = problems(config, WORDS[column.cloud]["account"].split(": ")[1])
        assert not [each for each in said if each != "\n" and not each.isprintable()], key
        assert max(map(len, said.split("\n"))) < 9_000, key


@pytest.mark.parametrize("value", [7, [7, 8], 2.5, [True]], ids=json.dumps)
def test_what_yaml_takes_for_no_text_is_answered_as_the_text_is(value: Any) -> None:
    for key, column in zip(keys(), cycle(COLUMNS.values()), strict=False):
        config = before_and_after("workloads.notebook.image", column)[0]
        put(config, key, value, column.cloud)
        assert "in quotes if" not in problems(config, WORDS[column.cloud]["account"].split(": ")[1]), key


def problems(config: Config, account: str) -> str:
    """Any other exception is a traceback for whoever wrote the file."""
    try:
        load(config, stack="dev", project=account)
    except SettingsError as error:
        return str(error)
    return ""
