"""A mapping for a list, a list for a mapping, an unknown key, nothing after a key: each is refused by its name."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pydantic import BaseModel

from components.settings import SettingsError, load
from components.settings.fields.problems import Location, keys_of, path
from components.settings.sections.stack_file import StackFile
from tests.one_stack import WORDS
from tests.program import test_machine_keys as machines
from tests.program.test_every_key import CHANGES, COLUMNS, Config, before_and_after

UNKNOWN: Final = "qqqq"
ONE_OR_MANY: Final = ("reservation",)
"""Keys that take a mapping, or a list of them."""


def files() -> Iterator[Any]:
    """Stack files in which every key is written, with their model."""
    for name, column in COLUMNS.items():
        account = WORDS[column.cloud]["account"].split(": ")[1]
        configs = [before_and_after(key, column)[1] for key in CHANGES]
        yield pytest.param(StackFile, configs, account, id=name)
    for name, model in machines.MODELS.items():
        example = {key.removeprefix("gpucluster:"): value for key, value in machines.EXAMPLES[name].items()}
        configs = [{**example, **change} for change in machines.CHANGES[name].values() if change]
        yield pytest.param(model, configs, "", id=name)


def containers(here: Any, location: Location = ()) -> Iterator[tuple[Location, Any]]:
    """The mappings and lists of a file and where they are."""
    if isinstance(here, dict | list):
        yield location, here
        for step, each in here.items() if isinstance(here, dict) else enumerate(here):
            yield from containers(each, (*location, step))


def written(config: Config, location: Location, value: Any) -> Config:
    """The file with another value there."""
    changed: Any = {"": copy.deepcopy(config)}
    here, steps = changed, ("", *location)
    for step in steps[:-1]:
        here = here[step]
    here[steps[-1]] = value
    return changed[""]


def refused(config: Config, account: str) -> dict[str, str]:
    try:
        load(config, stack="dev", project=account)
    except SettingsError as error:
        return {problem.path: f"{problem}" for problem in error.problems}
    return {}


def mistakes(model: type[BaseModel], config: Config) -> Iterator[tuple[Config, Location, str]]:
    """A file with one of the mistakes, the key that the answer names, and a word of the answer."""
    for location, value in containers(config):
        section, in_list = keys_of(model, location), isinstance(location[-1], int) if location else True
        if isinstance(value, dict) and section:
            yield written(config, location, {**value, UNKNOWN: 1}), (*location, UNKNOWN), UNKNOWN
        if isinstance(value, dict) and section and location:
            for key in value:
                yield written(config, (*location, key), None), (*location, key), key
        if isinstance(value, dict) and not in_list and location[-1] not in ONE_OR_MANY:
            yield written(config, location, [value]), location, "mapping" if section else ""
        if isinstance(value, list):
            # Where one entry may be written without the list, its own keys are checked.
            entry = value[0] if section and value and isinstance(value[0], dict) else {}
            yield written(config, location, {**entry, UNKNOWN: 1}), location, ""


@pytest.mark.parametrize(("model", "configs", "account"), [*files()])
def test_each_is_refused_by_its_name(model: type[BaseModel], configs: list[Config], account: str) -> None:
    tried, wrong = set[str](), {}
    for config in configs:
        for changed, location, word in mistakes(model, config):
            here = path(location)
            if f"{here} {word}" in tried:
                continue
            tried.add(f"{here} {word}")
            problems = refused(changed, account)
            said = [text for at, text in problems.items() if at == here or (not word and at.startswith(f"{here}."))]
            if not said or not all(word in text for text in said):
                wrong[here] = problems
    assert wrong == {}
