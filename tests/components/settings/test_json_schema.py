"""The schema that editors use refuses mistakes of form alone; the reference says what can be asked for where."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from components.settings import SettingsError, docs, from_stack_file
from components.settings.fields.types import Section
from components.settings.json_schema import stack_schema
from components.settings.sections.stack_file import StackFile
from tests import one_stack
from tests.components.settings.test_stack_cases import FILES, with_changes
from tests.stacks import ROOT

STACKS = sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("Pulumi.*.yaml")])
BAD = sorted((Path(__file__).parent / "bad_stacks").glob("*.yaml"))


@functools.cache
def _schema() -> jsonschema.Draft7Validator:
    """Made in the worker that needs it: each imports all tests."""
    return jsonschema.Draft7Validator(stack_schema())


def errors(content: Any) -> list[str]:
    return [error.json_path for error in _schema().iter_errors(content)]


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(stack_schema())


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_every_stack_is_valid_and_names_the_schema(file: Path) -> None:
    text = file.read_text()
    assert errors(yaml.safe_load(text)) == []
    _, _, target = text.splitlines()[0].partition("# yaml-language-server: $schema=")
    assert (file.parent / target).resolve() == ROOT / "schemas" / "stack.schema.json"


@pytest.mark.parametrize(
    ("base", "case"),
    [
        pytest.param(FILES[cloud]["base"], case, id=f"{cloud}-{number}")
        for cloud in one_stack.CLOUDS
        for number, case in enumerate(FILES[cloud]["cases"])
        if not case.get("refused")
    ],
)
def test_what_the_program_accepts_the_schema_accepts(base: dict[str, Any], case: dict[str, Any]) -> None:
    keys = with_changes(base, case)
    assert errors({"config": {f"gpucluster:{key}": value for key, value in keys.items()}}) == []


def readable(file: Path) -> Any:
    try:
        return yaml.safe_load(file.read_text())
    except (UnicodeDecodeError, yaml.YAMLError):
        return None


def test_no_key_in_a_section_may_be_empty() -> None:
    """The program refuses it: test_answers.py."""
    definitions = stack_schema()["definitions"]
    keys = [(name, key, form) for name, each in definitions.items() for key, form in each["properties"].items()]
    assert len(keys) > 100
    may = [
        f"{name}.{key}"
        for name, key, form in keys
        if jsonschema.Draft7Validator({"definitions": definitions, "allOf": [form]}).is_valid(None)
    ]
    assert may == []


def test_the_schema_refuses_only_files_that_the_program_refuses() -> None:
    refused = [file for file in BAD if readable(file) is not None and errors(readable(file))]
    # Unknown keys, wrong types and missing keys; most of the other mistakes are about a cloud or between keys.
    assert len(refused) >= 40
    for file in refused:
        with pytest.raises(SettingsError):
            from_stack_file(file)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gpucluster:gpuPool", []),
        ("gpucluster:cloud", "gcp"),
        ("gpucluster:availability", "global"),
        ("gpucluster:gpuPools", [{"name": "t4", "gpu": "nvidia-t4", "minNodes": 1}]),
        ("gpucluster:gpuPools", [{"name": "t4", "gpu": "nvidia-t4", "capacity": "preemptable"}]),
        ("gpucluster:gpuPools", [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": "4"}]),
    ],
)
def test_a_mistake_of_form_is_marked(key: str, value: object) -> None:
    content = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    content["config"][key] = value
    assert errors(content)


def test_an_editor_can_complete_gpus_and_describe_keys() -> None:
    pool = stack_schema()["definitions"]["GpuPool"]["properties"]
    assert "nvidia-h100-80gb" in pool["gpu"]["anyOf"][0]["enum"]
    assert all("description" in key for key in pool.values())


def test_a_key_of_another_cloud_is_marked() -> None:
    content = yaml.safe_load((ROOT / "examples/kubeadm.yaml").read_text())
    content["config"]["gpucluster:region"] = "us-central1"
    assert errors(content)


def sections(section: type[Section] = Section) -> Iterator[type[Section]]:
    for each in section.__subclasses__():
        yield each
        yield from sections(each)


def test_every_key_has_a_description_which_the_page_ends() -> None:
    assert StackFile in sections()
    descriptions = {
        f"{each.__name__}.{name}": field.description or "."
        for each in sections()
        for name, field in each.model_fields.items()
    }
    assert [key for key, description in descriptions.items() if description.endswith(".")] == []


@pytest.mark.parametrize("column", [*docs.columns()], ids=lambda column: f"{column.cloud}-{column.autoscaler}")
def test_the_stack_that_settings_are_added_to_is_accepted_everywhere(column: docs.Column) -> None:
    """So a "no" in the reference is about the setting."""
    assert docs.supports(column, {})
    assert not docs.supports(column, {"gpuPools": {"maxNodes": 0}})
    # A section that no setting is added to yet is asked for, too.
    assert not docs.supports(column, {"maintenance": {"hours": 0}})


def test_the_reference_tells_apart_what_clouds_can_do() -> None:
    answers = dict(docs.support())
    assert all(len(row) == len([*docs.columns()]) for row in answers.values())
    assert [title for title, row in answers.items() if not any(row)] == []
    assert all(answers["`gpuPools[].drivers: none`"])
