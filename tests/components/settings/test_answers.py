"""What is written in another place, form or unit than the file's is answered with the right one."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
import yaml

from components.settings import Problem, SettingsError, limits, load
from components.settings.fields.answers import plain
from components.settings.fields.problems import keys_of
from components.settings.sections.stack_file import StackFile
from tests.components.settings.test_clouds import load_stack
from tests.one_stack import WORDS
from tests.program.test_every_key import CHANGES, COLUMNS, Config, before_and_after, of_cloud


def problems(config: Config) -> tuple[Problem, ...]:
    """Also of a file whose other keys need correcting."""
    try:
        load(config, stack="dev", project=WORDS[config["cloud"]]["account"].split(": ")[1])
    except SettingsError as error:
        return error.problems
    return ()


RESERVATION: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown": ({"name": "june", "machines": 1}, "gpuPools[0].reservation.machines", "Leave it out; the keys here are"),
    "misspelt": ({"name": "june", "node": 1}, "gpuPools[0].reservation.node", "Did you mean 'nodes'?"),
    "misspelt and required": ({"nam": "june"}, "gpuPools[0].reservation.nam", "Did you mean 'name'?"),
    "missing": ({"nodes": 1}, "gpuPools[0].reservation.name", "Write name ("),
    "no number": ({"name": "june", "nodes": "1"}, "gpuPools[0].reservation.nodes", "Write 1, without quotes"),
}


@pytest.mark.parametrize("case", RESERVATION)
def test_a_reservation_without_its_list_is_read_as_one_in_a_list(case: str) -> None:
    reservation, where, remedy = RESERVATION[case]
    pool = {"name": "a", "gpu": "nvidia-t4", "maxNodes": 2, "capacity": "reserved"}
    with pytest.raises(SettingsError) as error:
        load_stack("gke", zones=["us-central1-a"], gpuPools=[{**pool, "reservation": reservation}])
    (problem,) = error.value.problems
    assert problem.path == where
    assert problem.remedy.startswith(remedy)


def test_a_key_at_the_top_is_answered_with_its_section() -> None:
    """But a word that has an answer of its own, such as ``name``."""
    wrong = {}
    for key, column in zip(CHANGES, cycle(COLUMNS.values()), strict=False):
        name = key.split(".")[-1]
        rows = limits.answers(column.cloud, column.autoscaler).rows
        if "." not in key or name in keys_of(StackFile, ()) or any(plain(name) in row.words.split() for row in rows):
            continue
        config = before_and_after("workloads.notebook.image", column)[0]
        config[name] = of_cloud(CHANGES[key], "to", column.cloud)
        remedy = next((each.remedy for each in problems(config) if each.path == name), "")
        if key not in remedy and f"{key.split('.')[-2].removesuffix('[]')}: {{{name}: " not in remedy:
            wrong[key] = remedy
    assert wrong == {}


@pytest.mark.parametrize(
    ("keys", "remedy"),
    [
        ({"gpuPools": {"name": "a", "gpu": "nvidia-t4", "maxNodes": 2}}, "[{name: a, gpu: nvidia-t4, maxNodes: 2}]"),
        ({"teams": {"research": {"gpus": 1}}}, "[{name: research, gpus: 1}]"),
    ],
    ids=["one entry", "entries by their names"],
)
def test_a_mapping_in_place_of_a_list_is_answered_with_the_list(keys: Config, remedy: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", **keys)
    (key,) = keys
    (problem,) = error.value.problems
    assert problem.remedy == f"Write {key}: {remedy}"
    load_stack("gke", **{key: yaml.safe_load(remedy)})


@pytest.mark.parametrize("amount", [64, "64", "64m", "512k"])
def test_a_teams_memory_without_its_unit_is_no_limit_of_some_bytes(amount: int | str) -> None:
    """No pod of the team would start any more."""
    with pytest.raises(SettingsError) as error:
        load_stack("gke", teams=[{"name": "research", "gpus": 1, "memory": amount}])
    (problem,) = error.value.problems
    assert problem.path == "teams[0].memory"
    assert problem.remedy == f"Write {str(amount).rstrip('mk')}Gi, or another unit"
    load_stack("gke", teams=[{"name": "research", "gpus": 1, "memory": problem.remedy.split()[1].rstrip(",")}])


@pytest.mark.parametrize("value", [{"usd": 1}, [1]], ids=["mapping", "list"])
def test_a_price_that_is_no_number_is_one_problem(value: object) -> None:
    with pytest.raises(SettingsError) as error:
        load_stack("gke", adminPool={"hourlyUsd": value})
    assert [each.path for each in error.value.problems] == ["adminPool.hourlyUsd"]


def test_quotas_are_asked_for_at_the_top_of_a_file() -> None:
    pool = {"name": "a", "gpu": "nvidia-t4", "maxNodes": 2}
    for keys, where, remedy in (
        ({"gpuPools": [{**pool, "quota": 8}]}, "gpuPools[0].quota", "Leave it out: quotas are gpus of"),
        ({"team": "research"}, "team", "Write teams: [{name: research, gpus: 8}]"),
        ({"gpuPools": [{**pool, "team": "research"}]}, "gpuPools[0].team", "Write teams: [research]"),
    ):
        with pytest.raises(SettingsError) as error:
            load_stack("gke", **keys)
        (problem,) = error.value.problems
        assert problem.path == where
        assert problem.remedy.startswith(remedy)
