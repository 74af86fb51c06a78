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
        if key == "cloud":
            continue
        config = before_and_after("workloads.notebook.image", column)[0]
        put(config, key, value, column.cloud)
        said = problems(config, WORDS[column.cloud]["account"].split(": ")[1])
        assert not [each for each in said if each != "\n" and not each.isprintable()], key
        assert max(map(len, said.split("\n"))) < 9_000, key


def problems(config: Config, account: str) -> str:
    """Any other exception is a traceback for whoever wrote the file."""
    try:
        load(config, stack="dev", project=account)
    except SettingsError as error:
        return str(error)
    return ""
