"""Each rule of a cloud: the happy path passes it, the changes in ``rules.yaml`` of its folder break exactly it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from facts.catalog import of
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.driver import Account, changed
from packages.rehearsal.tests.providers.gke import account as google
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import Store
from rehearsal.providers.rules import ServerRule, broken
from tests.yaml_file import read_yaml

CLOUDS: tuple[type[Account], ...] = (google.Google, azure.Microsoft)
TYPES: list[tuple[type[Account], str, Properties]] = [
    (cloud, token, entry)
    for cloud in CLOUDS
    for token, entry in read_yaml(Path(__file__).parent / cloud.provider_type.cloud_name / "rules.yaml").items()
]
REFUSED = [
    pytest.param(cloud, token, rule, changed(entry["inputs"], row), also, id=f"{rule}-{number}")
    for cloud, token, entry in TYPES
    for rule, rows in entry["refused"].items()
    for number, row in enumerate(rows)
    for also in [row.pop("also", [])]
]
ALLOWED = [
    pytest.param(cloud, token, changed(entry["inputs"], row), id=f"{token.rpartition(':')[2]}-{number}")
    for cloud, token, entry in TYPES
    for number, row in enumerate([{}, *entry.get("allowed", [])])
]


def rules_of(cloud: type[Account], token: str) -> list[ServerRule[Any]]:
    return list(cloud.provider_type.rows[token].rules)


def refusing(cloud: type[Account], token: str, inputs: Properties, directory: Path) -> list[str]:
    provider = cloud.provider_type
    here = provider.make_cloud(Store(directory, provider.name), None, lambda: of(provider.cloud_name), cloud.settings)
    return [rule.id for rule in rules_of(cloud, token) if rule.check(inputs, here)]


@pytest.mark.parametrize(("cloud", "token", "inputs"), ALLOWED)
def test_what_is_within_the_limits_passes(cloud: type[Account], token: str, inputs: Properties, tmp_path: Path) -> None:
    assert refusing(cloud, token, inputs, tmp_path) == []


@pytest.mark.parametrize(("cloud", "token", "rule", "inputs", "also"), REFUSED)
def test_a_change_breaks_its_rule(
    cloud: type[Account], token: str, rule: str, inputs: Properties, also: list[str], tmp_path: Path
) -> None:
    assert sorted(refusing(cloud, token, inputs, tmp_path)) == sorted([rule, *also])


@pytest.mark.parametrize(("cloud", "token", "rule", "inputs", "also"), REFUSED)
def test_a_rule_waits_for_values_that_only_the_update_knows(
    cloud: type[Account], token: str, rule: str, inputs: Properties, also: list[str]
) -> None:
    (its,) = [each for each in rules_of(cloud, token) if each.id == rule]
    unknown = {**inputs, **{path.partition(".")[0]: UNKNOWN for path in its.reads}}
    assert broken([its], unknown, None) is None


@pytest.mark.parametrize(("cloud", "token", "entry"), TYPES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_rule_is_broken_once(cloud: type[Account], token: str, entry: Properties) -> None:
    assert {rule.id for rule in rules_of(cloud, token)} == set(entry["refused"])


@pytest.mark.parametrize(("count", "refused"), [(200, []), (201, ["authorized-ranges-public"])])
def test_aks_takes_200_authorized_ranges(count: int, refused: list[str], tmp_path: Path) -> None:
    ranges = {"apiServerAccessProfile": {"authorizedIPRanges": ["203.0.113.1"] * count}}
    inputs = {**azure.cluster(**ranges), "location": "eastus"}
    assert refusing(azure.Microsoft, azure.CLUSTER, inputs, tmp_path) == refused


@pytest.mark.parametrize(
    ("cloud", "type", "inputs", "answer"),
    [
        (
            google.Google,
            google.POOL,
            google.gpu_pool(name="x" * 41),
            r"googleapi: Error 400: .*no longer than 40 characters\), badRequest$",
        ),
        (azure.Microsoft, azure.POOL, azure.gpu_pool(maxPods=9), r'Status=400 Code="InvalidParameter" Message='),
    ],
)
def test_a_broken_rule_reads_like_the_clouds_answer(
    cloud: type[Account], type: str, inputs: Properties, answer: str, tmp_path: Path
) -> None:
    with pytest.raises(ProviderError) as refusal:
        cloud(tmp_path).preview(type, inputs)
    assert re.match(answer, str(refusal.value))
