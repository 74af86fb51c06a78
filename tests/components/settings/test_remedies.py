"""Every remedy is followed: applied to the file that caused it, the problem is gone or another key is reported."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pulumi
import pytest
import yaml
from pydantic import BaseModel

from components.settings import Problem, SettingsError, limits, load
from components.settings.docs import columns
from components.settings.fields.problems import models_in
from components.settings.limits.joining import REFUSED
from components.settings.read import NAMESPACE, WITHOUT_ACCOUNT
from components.settings.sections.own_machines import OwnStackFile
from facts import catalog
from tests import one_stack
from tests.components.settings.remedies import Config, Followed, by_hand, followed
from tests.components.settings.test_clouds import account, own_keys
from tests.components.settings.test_stack_cases import BAD, FILES, with_changes
from tests.stacks import ROOT, run_with


@dataclass(frozen=True)
class File:
    """A stack file with problems."""

    id: str
    config: Config
    account: str | None
    day: date | None = None

    def problems(self, config: Config) -> tuple[Problem, ...]:
        known = {key: value for key, value in config.items() if ":" not in key}
        accounts = [value for key, value in config.items() if ":" in key and isinstance(value, str)]
        try:
            load(known, stack="dev", project=accounts[0] if accounts else self.account, day=self.day)
        except SettingsError as refused:
            return refused.problems
        return ()


def bad_stacks() -> Iterator[File]:
    for file in BAD:
        try:
            written = yaml.safe_load(file.read_text())["config"]
        except (yaml.YAMLError, KeyError):
            continue
        own = {key.removeprefix(f"{NAMESPACE}:"): value for key, value in written.items() if key.startswith(NAMESPACE)}
        others = [value for key, value in written.items() if not key.startswith(NAMESPACE) and isinstance(value, str)]
        yield File(file.stem, own, others[0] if others else None)


def cases_of_a_cloud(cloud: str) -> Iterator[File]:
    file = FILES[cloud]
    for number, case in enumerate(file["cases"]):
        yield File(f"{number}", with_changes(file["base"], case), case.get("account", file["account"]), file["day"])


def requests(name: str) -> Iterator[File]:
    for case in FILES[name]["cases"]:
        for cloud in case.get("clouds", one_stack.CLOUDS):
            config = with_changes(own_keys(cloud), case)
            yield File(f"{case['id']} on {cloud}", config, case.get("account", account(cloud)))


def words(cloud: str) -> Iterator[File]:
    """Every word that has an answer, as a key of the file and of a pool, with each autoscaler of the cloud."""
    for column in (column for column in columns() if column.cloud == cloud):
        place = one_stack.WORDS[column.cloud]
        for answer in limits.answers(column.cloud, column.autoscaler).rows:
            if answer.autoscaler in (None, column.autoscaler):
                base = {
                    "cloud": column.cloud,
                    "region": place["region"],
                    "zones": place["zones"][:1],
                    "network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
                    "autoscaling": {"autoscaler": column.autoscaler},
                }
                pool, word = {"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2}, answer.words.split()[0]
                name = f"{word} on {column.cloud}-{column.autoscaler}"
                for of in answer.of:
                    changes = {"gpuPools": [{**pool, of: word}]} if of in pool else {"gpuPools": [pool], of: word}
                    yield File(f"{of} {name}", {**base, **changes}, account(column.cloud))
                if not answer.of:
                    yield File(name, {**base, "gpuPools": [pool], word: True}, account(column.cloud))
                    yield File(
                        f"{name}, in a pool", {**base, "gpuPools": [{**pool, word: True}]}, account(column.cloud)
                    )


SOURCES: Mapping[str, Callable[[], Iterator[File]]] = {
    "bad_stacks": bad_stacks,
    **{cloud: functools.partial(cases_of_a_cloud, cloud) for cloud in one_stack.CLOUDS},
    **{name: functools.partial(requests, name) for name in ("requests", "first_try")},
    **{f"words on {cloud}": functools.partial(words, cloud) for cloud in one_stack.CLOUDS},
}
MOST_STEPS = 2


def not_followed(file: File, problem: Problem, way: Followed, steps: int = MOST_STEPS) -> Problem | None:
    """What is reported at the same key again, if no remedy of that leads on in so many steps."""
    for again in file.problems(way.config):
        if again.path != problem.path or by_hand(again.remedy):
            continue
        same = (again.message, again.remedy) == (problem.message, problem.remedy)
        further = [] if same or steps == 1 else followed(again, way.config)
        if all(not_followed(file, again, each, steps - 1) for each in further):
            return again
    return None


@pytest.mark.parametrize("source", SOURCES)
def test_a_remedy_leads_to_a_file_without_its_problem(source: str) -> None:
    unknown, circles = [], []
    for file in SOURCES[source]():
        for problem in file.problems(file.config):
            if by_hand(problem.remedy):
                continue
            ways = followed(problem, file.config)
            unknown += [] if ways else [(file.id, str(problem))]
            circles += [
                (file.id, str(problem), way.instruction, str(again))
                for way in ways
                if (again := not_followed(file, problem, way))
            ]
    assert unknown == [], "no instruction is found in these: word them as others are, or say in remedies.py why not"
    assert circles == []


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
@pytest.mark.parametrize("word", ["viewers", "readers", "users", "groups", "developers", "members", "rbac", "iam"])
def test_only_who_asks_for_administrators_is_answered_with_their_rights(cloud: str, word: str) -> None:
    """A remedy is copied: nobody who meant readers may get the whole cluster from it."""
    with pytest.raises(SettingsError) as error:
        load({**own_keys(cloud), word: ["ann@example.com"]}, stack="one", project=account(cloud))
    (remedy,) = (problem.remedy for problem in error.value.problems)
    role = "developer" if word in ("developers", "members") else "viewer"
    assert f"role: {role}" in remedy.partition("]")[0]
    assert "role: admin" not in remedy.partition("]")[0]


@pytest.mark.parametrize(
    ("workloads", "remedy"),
    [
        ({}, "Write adminPool.maxNodes: 13; the admin pool then grows with the others"),
        ({"monitoring": {}}, "Write adminPool.machineType: e2-standard-32"),
    ],
)
def test_an_admin_pool_that_is_too_small_is_told_one_that_is_not(workloads: Config, remedy: str) -> None:
    """80 nodes with H100: their system pods alone take more than one admin node."""
    config = {**own_keys("gke"), "workloads": workloads, "availability": "zonal", "adminPool": {}}
    config["gpuPools"] = [{"name": "h100", "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "maxNodes": 80}]
    config["cpuPools"] = []
    with pytest.raises(SettingsError) as error:
        load({**config, "adminPool": {"maxNodes": 1}}, stack="one", project=account("gke"))
    assert remedy in [problem.remedy for problem in error.value.problems]


@functools.cache
def raw_files() -> dict[str, Config]:
    """The files that load after a remedy with inputs of the provider: one for each cloud, autoscaler and remedy."""
    loaded: dict[str, Config] = {}
    for file in (file for source in SOURCES.values() for file in source()):
        for problem in file.problems(file.config):
            for way in followed(problem, file.config) if "raw: {" in problem.remedy else ():
                if not file.problems(way.config):
                    account_key = catalog.of(file.config["cloud"]).account.key
                    written = {f"{NAMESPACE}:{key}": value for key, value in way.config.items()}
                    column = (file.config["cloud"], way.config.get("autoscaling"))
                    loaded[f"{column} {way.instruction}"] = {**written, account_key: file.account}
    return loaded


@pytest.mark.slow
def test_the_program_accepts_the_inputs_that_a_remedy_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WITHOUT_ACCOUNT, "1")
    refused = {}
    for instruction, config in raw_files().items():
        try:
            run_with(config, "dev")
        except pulumi.RunError as error:
            refused[instruction] = str(error)
    assert refused == {}
    assert len(raw_files()) > 20


def keys(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Every key of a stack file with its path, without brackets of lists."""
    for name, field in model.model_fields.items():
        key = f"{before}{field.alias or name}"
        yield key
        for section in models_in(field.annotation):
            yield from keys(section, f"{key}.")


MACHINES = ROOT / "packages" / "machines" / "machines"
# A path of keys; or a key with a capital letter inside, behind "write", "set" and the like.
NAMED = re.compile(
    r"\b((?:adminPool|network|packages|ssh|kubernetes(?!\.io)|security|gpuPools|workloads)\.[a-zA-Z.$]+[a-zA-Z])"
    r"|\b(?:set|write|Write|Leave|leave|name it in|as) ([a-z]+[A-Z][A-Za-z]+|drivers)\b"
)
SHELL = {"setting": ("kubernetes", "driver", "toolkit")}


@pytest.mark.parametrize("file", [*MACHINES.rglob("*.py"), *MACHINES.rglob("*.sh")], ids=lambda file: file.name)
def test_what_happens_on_a_machine_is_answered_with_keys_of_the_stack_file(file: Path) -> None:
    known = {*keys(OwnStackFile)}
    texts = re.findall(r"[\"'][^\"\n]{12,}[\"']", file.read_text())
    named = {path or key for text in texts if " " in text for path, key in NAMED.findall(text)}
    for variable, values in SHELL.items():
        replaced = {each.replace(f"${variable}", value) for each in named for value in values}
        named = replaced if any(f"${variable}" in each for each in named) else named
    last_keys = {path.rpartition(".")[2] for path in known}
    assert {each for each in named if each not in (known if "." in each else last_keys)} == set()


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_what_a_pool_says_in_place_of_raw_works_on_a_cluster_of_others_too(cloud: str) -> None:
    """A key that a file with ``existingCluster`` refuses is advised with a word on such a cluster."""
    raw = catalog.of(cloud).choices.raw
    sections = "|".join(sorted({*REFUSED} - {"raw", "identities", "autoscaling"}))
    for known in (raw.pool, *raw.pool_of.values()):
        advised = {path: words for path, words in known.owned.items() if re.search(rf"\b(?:{sections})\b", words)}
        assert [path for path, words in advised.items() if "cluster of others" not in words] == []
