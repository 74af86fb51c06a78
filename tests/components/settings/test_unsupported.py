"""Keys that do not exist are answered with what to write instead; what people ask for is in ``stack_cases``."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from pydantic import BaseModel

from components.settings import SettingsError, unsupported
from components.settings.problems import models_in
from components.settings.stack_file import StackFile
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, t4

EVERY = one_stack.CLOUDS


L4 = {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 2}


def test_a_misspelt_key_is_not_called_unsupported() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'reservation'"):
        load_stack("gke", gpuPools=t4(reservations="mine"))


def test_a_key_that_is_like_none_gets_the_list_of_all() -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", gpuPools=t4(colour="red"))
    [problem] = error.value.problems
    assert problem.message == "there is no key 'colour'"
    assert all(key in problem.remedy for key in ("name", "capacity", "taints"))


def keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in models_in(field.annotation):
            yield from keys(inner)


ENTRIES = {entry.feature: entry for entry in unsupported.unsupported_keys()}


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES.values() if entry.keys], ids=lambda entry: entry.feature)
def test_no_key_that_exists_is_called_unsupported(entry: unsupported.UnsupportedKey) -> None:
    assert [key for key in keys(StackFile) if re.fullmatch(entry.keys, unsupported.plain(key))] == []


SUPPORTED = [(entry, cloud) for entry in ENTRIES.values() if entry.supported for cloud in EVERY]


@pytest.mark.parametrize(("entry", "cloud"), SUPPORTED, ids=lambda each: getattr(each, "feature", each))
def test_a_cloud_that_has_a_key_for_it_is_told_that_key(entry: unsupported.UnsupportedKey, cloud: str) -> None:
    """What is written there works; the other clouds refuse the same key."""
    [remedy] = set(entry.supported.values())
    pools = [{**L4, "gpu": "nvidia-t4", "zones": one_stack.WORDS[cloud]["zones"][:1], **yaml.safe_load(remedy)}]
    pools[0] |= {"gpu": "nvidia-l4"} if cloud == "gke" else {}
    if cloud in entry.supported:
        load_stack(cloud, gpuPools=pools)
        return
    with pytest.raises(SettingsError) as error:
        load_stack(cloud, gpuPools=pools)
    assert [problem.path for problem in error.value.problems] == [f"gpuPools[0].{remedy.partition(':')[0]}"]


def sections(model: type[BaseModel]) -> Iterator[set[str]]:
    yield {field.alias or name for name, field in model.model_fields.items()}
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from sections(inner)


def test_a_synonym_is_no_key_where_its_key_is() -> None:
    """Elsewhere it may be one: a service has ``min``, where a pool has ``minNodes``."""
    for section in sections(StackFile):
        there = {unsupported.plain(key) for key in section}
        of_here = {word for word, other in unsupported.synonyms().items() if other.partition(":")[0] in section}
        assert of_here & there == set()


@pytest.mark.parametrize("word", ["own", "", "gpu", "name", "zone", "colour", "nodes", "disk"])
def test_other_words_have_no_answer(word: str) -> None:
    assert unsupported.for_key(word, ()) is None
