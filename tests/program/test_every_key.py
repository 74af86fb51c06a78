"""No key of a stack file is ignored: changed, it changes what the program declares, or it is refused with a reason."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pulumi
import pytest
import yaml
from pydantic import BaseModel

from components.settings import SettingsError
from components.settings.docs import Column, columns
from components.settings.fields.problems import models_in
from components.settings.read import NAMESPACE, load
from components.settings.sections.stack_file import StackFile
from facts import catalog
from tests import eks_answers
from tests.api_server import ApiServer
from tests.one_stack import WORDS
from tests.program.left import left
from tests.recorder import Recording, Registration
from tests.stacks import run_with

Config = dict[str, Any]
CHANGES: Final[dict[str, Config]] = yaml.safe_load((Path(__file__).parent / "every_key.yaml").read_text())
LEFT: Final[dict[str, Config]] = yaml.safe_load((Path(__file__).parent / "left.yaml").read_text())
COLUMNS: Final = {f"{column.cloud}-{column.autoscaler}": column for column in columns()}
# A list that a key is in has this for its one entry.
_ENTRIES: Final[Config] = {
    "network.authorizedNetworks": {"name": "office", "cidr": "203.0.113.0/24"},
    "maintenance.exclusions": {"name": "deadline", "first": "2099-03-01", "last": "2099-03-08"},
    "gpuPools": {"name": "gpu", "gpu": "nvidia-t4", "maxNodes": 2},
    "gpuPools[].taints": {"key": "example.com/team", "value": "text", "effect": "NoSchedule"},
    "cpuPools": {"name": "cpu", "maxNodes": 2},
    "cpuPools[].taints": {"key": "example.com/team", "value": "text", "effect": "NoSchedule"},
    "workloads.services": {"name": "demo", "image": "registry.example/serve:1"},
    "teams": {"name": "research", "gpus": 1},
}


# What a key says nothing about on a cloud → why nobody is misled by that.
_PEOPLE: Final = "it is for who reads the file; the cloud's ranges have no names"
_ANY_IMAGE: Final = "any name can be pushed, which the key's description says"
IGNORED: Final = {
    ("network.authorizedNetworks[].name", "eks"): _PEOPLE,
    ("network.authorizedNetworks[].name", "aks"): _PEOPLE,
    ("maintenance.exclusions[].name", "aks"): "it is for who reads the file; Azure's days have no names",
    ("workloads.registry.images", "gke"): _ANY_IMAGE,
    ("workloads.registry.images", "aks"): _ANY_IMAGE,
    ("workloads.registry.mutableTags", "aks"): "there tags are always so; the key's description says: where it can",
}
# What another autoscaler of the same cloud has no part in.
_CLOUDS_OWN: Final = (
    *("workloads.registry", "workloads.checkpoints", "workloads.sharedVolume", "workloads.services"),
    *("workloads.monitoring", "workloads.notebook", "identities", "access", "teams"),
)
# What its own pools are made of: with it `make test` tries these alone, `make test-all` the cloud's other keys as well.
_OF_POOLS: Final = ("gpuPools", "cpuPools", "adminPool", "autoscaling", "kubernetes", "security")


def keys(model: type[BaseModel] = StackFile, before: str = "") -> Iterator[str]:
    """All keys of a stack file; a section that is always there only by its own keys."""
    for name, field in model.model_fields.items():
        key, inner, written = f"{before}{field.alias or name}", list(models_in(field.annotation)), str(field.annotation)
        if not inner or "tuple" in written or "None" in written:
            yield key
        for each in inner:
            yield from keys(each, f"{key}{'[]' if 'tuple' in written else ''}.")


def of_cloud(change: Config, word: str, cloud: str) -> Any:
    """What a change says for this cloud, or else for all."""
    own = cloud if word == "to" else f"{word}-{cloud}"
    return change[own] if own in change else change.get(word, {})


def section(config: Config, key: str, cloud: str) -> tuple[Config, str]:
    """The mapping that ``key`` is in, in the first entry of lists, and its name there; made if it is not there."""
    *parents, last = key.split(".")
    people = {"name": "ops", "role": "viewer", "who": catalog.of(cloud).account.people[0]}
    entries = {**_ENTRIES, "access": people, "identities": of_cloud(CHANGES["identities"], "to", cloud)[0]}
    here, before = config, ""
    for parent in parents:
        name = parent.removesuffix("[]")
        if name == parent:
            here = here.setdefault(name, {})
        else:
            here = here.setdefault(name, [copy.deepcopy(entries.get(before + name, {}))])[0]
        before += f"{parent}."
    return here, last


def put(config: Config, key: str, value: Any, cloud: str) -> None:
    """Write ``key``; ``None`` removes it."""
    here, name = section(config, key, cloud)
    here[name.removesuffix("[]")] = copy.deepcopy([value] if name.endswith("[]") else value)
    if value is None:
        del here[name]


def before_and_after(key: str, column: Column) -> tuple[Config, Config]:
    """A small stack on this cloud, and the same with that one key changed."""
    change, cloud = CHANGES[key], column.cloud
    words = WORDS[cloud]
    config: Config = {
        "cloud": cloud,
        "region": words["region"],
        "zones": words["zones"][:1],
        "network": {"authorizedNetworks": [_ENTRIES["network.authorizedNetworks"]]},
        "autoscaling": {"autoscaler": column.autoscaler},
        "gpuPools": [_ENTRIES["gpuPools"]],
    }
    config = copy.deepcopy(config)
    for other, value in of_cloud(change, "with", cloud).items():
        put(config, other, value, cloud)
    section(config, key, cloud)
    changed = copy.deepcopy(config)
    put(changed, key, of_cloud(change, "to", cloud), cloud)
    return config, changed


@functools.cache
def declared(config_json: str, deployed_json: str = "") -> Config | str:
    """What the program declares for a stack file's keys, or why it is refused; ``deployed``: the keys before."""
    config: Config = json.loads(config_json)
    before = declared(deployed_json) if deployed_json else None
    deployed = Recording(answers=before["answers"]) if isinstance(before, dict) else None
    cloud = config["cloud"]
    account = WORDS[cloud]["account"].split(": ")
    full_config = {account[0]: account[1], **{f"{NAMESPACE}:{key}": value for key, value in config.items()}}
    try:
        load(config, stack="every-key", project=account[1])
        objects = {**eks_answers.KARPENTER, **eks_answers.AUTOSCALER} if cloud == "eks" else {}
        reader = mock.patch("components.cluster_reader.ClusterReader", ApiServer(objects=dict(objects)).reader)
        with reader, mock.patch("secrets.token_urlsafe", return_value="generated"):
            recording = run_with(full_config, "every-key", deployed=deployed)
    except (SettingsError, pulumi.RunError) as error:
        return str(error)
    # The order of resources, calls and dependencies is no part of a program: it differs from run to run.
    resources = {each.urn: _ordered(each) for each in recording.resources}
    return {**vars(recording), "calls": sorted(recording.calls), "resources": resources}


def _ordered(registration: Registration) -> Registration:
    dependencies = {name: tuple(sorted(urns)) for name, urns in registration.property_dependencies.items()}
    return replace(registration, depends_on=tuple(sorted(registration.depends_on)), property_dependencies=dependencies)


def outcome(key: str, column: Column) -> str:
    """``changed``, ``refused`` or ``ignored``."""
    before, after = (declared(json.dumps(config)) for config in before_and_after(key, column))
    if isinstance(after, str):
        assert key.split(".")[0].removesuffix("[]") in after, (
            f"{key} on {column} is refused, and it is not told: {after}"
        )
        return "refused"
    return "ignored" if after == before else "changed"


def left_behind(key: str, column: Column) -> set[tuple[str, str]]:
    """What stays on the cloud when a stack file gets that key, and when it loses it: types and paths of inputs."""
    one, other = (json.dumps(config) for config in before_and_after(key, column))
    found = set()
    for before, after in ((one, other), (other, one)):
        first, second = declared(before), declared(after)
        if isinstance(first, dict) and isinstance(second, dict) and left(first["resources"], second["resources"]):
            updated = declared(after, before)
            found |= left(first["resources"], updated["resources"]) if isinstance(updated, dict) else set()
    return found


def asked(column: Column) -> list[str]:
    """The keys to try: of a cloud's second autoscaler those that it may have a part in."""
    return [key for key in CHANGES if _is_first(column) or not key.startswith(_CLOUDS_OWN)]


def _is_first(column: Column) -> bool:
    return column.autoscaler == catalog.of(column.cloud).choices.autoscalers[0]


def _shares() -> Iterator[Any]:
    """Each column with its keys, those of a second autoscaler in two shares."""
    for name, column in COLUMNS.items():
        own = [key for key in asked(column) if _is_first(column) or key.startswith(_OF_POOLS)]
        yield pytest.param(name, own, id=name)
        if rest := sorted({*asked(column)} - {*own}):
            yield pytest.param(name, rest, marks=pytest.mark.rehearsal, id=f"{name}-rest")


def test_every_key_is_tried() -> None:
    """All but ``cloud``, without which nothing is checked."""
    assert sorted(CHANGES) == sorted({*keys()} - {"cloud"})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [*_shares()])
def test_a_key_changes_the_program_or_is_refused(name: str, share: list[str]) -> None:
    column = COLUMNS[name]
    unchanged = json.dumps(before_and_after("workloads.notebook.image", column)[0])
    # Without this an ignored key would look as if it had changed something.
    assert isinstance(declared(unchanged), dict)
    assert declared.__wrapped__(unchanged) == declared(unchanged)
    ignored = {key for key in share if outcome(key, column) == "ignored"}
    assert ignored == {key for key, cloud in IGNORED if cloud == column.cloud and key in share}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [*_shares()])
def test_what_a_key_takes_out_of_the_program_leaves_the_cloud(name: str, share: list[str]) -> None:
    """Or left.yaml says why it is right that it stays."""
    column = COLUMNS[name]
    found = {each for key in share if not key.endswith("raw") for each in left_behind(key, column)}
    rows = {(type, path) for type, paths in LEFT.items() for path in paths}
    assert found - rows == set(), "end it in the program, or say in left.yaml why it stays"
    if _is_first(column):
        plugin = catalog.PLUGINS[column.cloud]
        assert {row for row in rows - found if row[0].startswith(f"{plugin}:")} == set(), "take the row out"


@pytest.mark.slow
def test_every_key_changes_the_program_on_some_cloud() -> None:
    """But those that only refuse: a budget, a minimum of GPU nodes, a range that the existing subnet has not."""
    silent = [key for key in CHANGES if all(outcome(key, column) != "changed" for column in COLUMNS.values())]
    ranges = ["network.existing.podRange", "network.existing.serviceRange"]
    assert silent == [*ranges, "gpuPools[].minNodes", "budget.maxHourlyUsd"]
