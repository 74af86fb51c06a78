"""What people write in a stack file is accepted, or refused with exactly these problems: ``stack_cases/*.yaml``.

A case is the file's ``base`` (the one stack, where there is none) with other ``keys`` (a mapping is merged with the
base's; null removes) and other values of its only GPU pool (``pool``). ``refused``: key path of each problem → a phrase
of its message or remedy. ``day`` is today. A file in ``bad_stacks`` announces its problems in its first lines. Keys
that do not exist are answered with what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from components.settings import SettingsError, from_stack_file, limits, load
from components.settings.fields.answers import Words, plain
from components.settings.fields.problems import models_in
from components.settings.sections.stack_file import StackFile
from tests import one_stack
from tests.components.settings.test_clouds import account, load_stack, own_keys, t4
from tests.yaml_file import read_yaml

FILES = {one.stem: read_yaml(one) for one in sorted((Path(__file__).parent / "stack_cases").glob("*"))}


def with_changes(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    config = dict(base)
    for key, value in case.get("keys", {}).items():
        if isinstance(value, dict) and isinstance(config.get(key, {}), dict):
            merged = {**config.get(key, {}), **value}
            value = {inner: part for inner, part in merged.items() if part is not None}
        config[key] = value
    return {**config, "gpuPools": t4(**case["pool"])} if "pool" in case else config


def problems(config: dict[str, Any], project: str, **more: Any) -> list[tuple[str, str]]:
    """Key path and the whole line of each problem."""
    try:
        load(config, stack="one", project=project, **more)
    except SettingsError as refused:
        return [(problem.path, str(problem)) for problem in refused.problems]
    return []


def check(refused: list[tuple[str, str]], case: dict[str, Any]) -> None:
    expected = case.get("refused", {})
    assert sorted(path for path, _ in refused) == sorted(expected), refused
    for path, line in refused:
        assert "the keys here are" not in line
        assert expected[path] in line
        assert "Did you mean" in expected[path] or "Did you mean" not in line


@pytest.mark.parametrize(
    ("cloud", "case"),
    [
        pytest.param(cloud, case, id=f"{cloud}-{number}-{next(iter(case.get('refused', ())), 'accepted')}")
        for cloud in one_stack.CLOUDS
        for number, case in enumerate(FILES[cloud]["cases"])
    ],
)
def test_what_a_cloud_does_not_support_is_refused(cloud: str, case: dict[str, Any]) -> None:
    file = FILES[cloud]
    check(problems(with_changes(file["base"], case), case.get("account", file["account"]), day=file["day"]), case)


@pytest.mark.parametrize(
    ("cloud", "case"),
    [
        pytest.param(cloud, case, id=f"{cloud}: {case['id']}")
        for file in ("requests", "first_try")
        for case in FILES[file]["cases"]
        for cloud in case.get("clouds", one_stack.CLOUDS)
    ],
)
def test_a_request_is_expressed_or_refused_with_an_answer(cloud: str, case: dict[str, Any]) -> None:
    check(problems(with_changes(own_keys(cloud), case), case.get("account", account(cloud))), case)


BAD = sorted((Path(__file__).parent / "bad_stacks").glob("*.yaml"))


def announced(file: Path) -> dict[str, str]:
    """``# expect: <key path> | <phrase of the message or the remedy>`` lines: path → phrase."""
    lines = (line for line in file.read_text().splitlines() if line.startswith("# expect: "))
    return dict(line.removeprefix("# expect: ").split(" | ") for line in lines)


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_bad_stack_is_refused_with_path_and_remedy(file: Path) -> None:
    expected = announced(file)
    assert expected
    with pytest.raises(SettingsError) as refused:
        from_stack_file(file)
    paths = [problem.path.removeprefix(f"{file.parent}/") for problem in refused.value.problems]
    by_path = dict(zip(paths, refused.value.problems, strict=True))
    assert sorted(paths) == sorted(expected), str(refused.value)
    for path, phrase in expected.items():
        assert phrase in str(by_path[path])
        assert str(by_path[path]) in str(refused.value)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        from_stack_file(tmp_path / "Pulumi.none.yaml")


@pytest.mark.parametrize("first", ["&x0 [a]", "&x0 {a: *x0}"])
def test_a_file_of_nested_aliases_is_refused_at_once(first: str, tmp_path: Path) -> None:
    lists = "".join(f"  x{number}: &x{number} [{', '.join([f'*x{number - 1}'] * 9)}]\n" for number in range(1, 12))
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(f"config:\n  x0: {first}\n{lists}")
    with pytest.raises(SettingsError, match=r"aliases \(\*name\) stand for too many values; write them out"):
        from_stack_file(file)


def test_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_bytes(b"\xff\xfe\x00config")
    with pytest.raises(SettingsError, match="cannot be read"):
        from_stack_file(file)


def test_a_misspelt_key_is_not_called_unsupported() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'reservation'"):
        load_stack("gke", gpuPools=t4(reservations="mine"))


def test_a_key_that_is_like_none_gets_the_list_of_all() -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", gpuPools=t4(colour="red"))
    [problem] = error.value.problems
    assert problem.message == "there is no key 'colour'"
    assert all(key in problem.remedy for key in ("name", "capacity", "taints"))


def sections(model: type[BaseModel]) -> Iterator[set[str]]:
    yield {field.alias or name for name, field in model.model_fields.items()}
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from sections(inner)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_word_for_a_key_is_no_key_where_that_is(cloud: str) -> None:
    """Elsewhere it may be one: a service has ``min``, where a pool has ``minNodes``."""
    rows = [answer for answer in limits.answers(cloud, "").rows if not answer.of]
    for section in sections(StackFile):
        existing = {plain(key) for key in section}
        assert {word for row in rows if row.key in section for word in row.words.split()} & existing == set()


@pytest.mark.parametrize("word", ["own", "", "gpu", "zone", "colour", "nodes", "disk"])
def test_other_words_have_no_answer(word: str) -> None:
    assert Words().for_key(word, (), (), value=None, in_pool=False) is None
