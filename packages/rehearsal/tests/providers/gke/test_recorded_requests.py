"""What Google's own provider sends and plans, as measured, against what the simulated one does.

``recorded/requests.json``: the resources that the examples declare, and the requests that hashicorp's google-beta of
2026-08-21, which pulumi-gcp wraps, sends to create each. ``recorded/changes.csv``: what it plans if one declared
property is changed or removed, and whether the update sends anything; several answers where the resource matters.
"""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.gke.account import POOL, Google, cpu_pool, gpu_pool
from packages.rehearsal.tests.providers.gke.requests import requests
from rehearsal.providers.base import CallContext, Previous, Properties

FOLDER: Final = Path(__file__).parent / "recorded"
RESOURCES: Final[list[dict[str, Any]]] = json.loads((FOLDER / "requests.json").read_text("utf-8"))
BUCKET: Final = "gcp:storage/bucket:Bucket"
# No example of then declares one with all of these.
_BUCKET_INPUTS: Final[Properties] = {
    "forceDestroy": False,
    "labels": {},
    "lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 30}}],
    "location": "us-central1",
    "name": "checkpoints",
    "project": "my-gcp-project",
    "publicAccessPrevention": "enforced",
    "softDeletePolicy": {"retentionDurationSeconds": 604800},
    "uniformBucketLevelAccess": True,
}
DECLARED: Final = [*((each["type"], each["inputs"]) for each in RESOURCES), (BUCKET, _BUCKET_INPUTS)]

with (FOLDER / "changes.csv").open(newline="", encoding="utf-8") as _file:
    CHANGES: Final = list(csv.DictReader(_file))

NEW_VALUES: Final[dict[str, Any]] = {"ipCidrRange": "10.99.0.0/20"}
DIFFERENCES: Final = {
    ("gcp:compute/router:Router", "remove", "network"): "the alternative, an NCC gateway, is not simulated",
    ("gcp:compute/resourcePolicy:ResourcePolicy", "change", "name"): "the real update fails",
    ("gcp:filestore/instance:Instance", "change", "name"): "the real update fails",
    (POOL, "change", "nodeConfig.guestAccelerators"): "the new value is not recorded",
    ("gcp:artifactregistry/repository:Repository", "change", "cleanupPolicies[].condition.olderThan"): (
        "the new value is not recorded; sent if it is another duration"
    ),
}
"""Of these the simulated provider plans something else; why."""


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['stack']}: {each['name']}")
def test_the_inputs_become_the_requests_of_the_real_provider(resource: dict[str, Any]) -> None:
    assert requests(resource["type"], resource["inputs"]) == resource["requests"]


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row['type']} {row['change']} {row['property']}")
def test_a_change_is_planned_as_by_the_real_provider(row: dict[str, str], google_of_examples: Google) -> None:
    planned = set(_plans(google_of_examples, row["type"], row["change"], row["property"]))
    # Which resources were changed is not recorded, so others may have another answer, too.
    agrees = set(row["provider"].split(" or ")) <= planned
    assert agrees is ((row["type"], row["change"], row["property"]) not in DIFFERENCES), planned


@pytest.fixture(scope="module")
def google_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Google]:
    google = Google(tmp_path_factory.mktemp("google"), project="my-gcp-project")
    yield google
    google.stop()


def _plans(google: Google, type: str, change: str, path: str) -> Iterator[str]:
    """What is planned for each resource of the type that has the property."""
    row = google.provider.row(type)
    for inputs in (inputs for each, inputs in DECLARED if each == type):
        new = copy.deepcopy(inputs)
        places = list(_places(new, path.split(".")))
        for block, key in places:
            if change == "remove":
                del block[key]
            else:
                block[key] = NEW_VALUES.get(key, _other(block[key]))
        if not places:
            continue
        context = CallContext(f"urn:pulumi:dev::test::{type}::it", type, "it", random_seed=b"it")
        before, _ = google.provider.check(context, {}, copy.deepcopy(inputs))
        after, failures = google.provider.check(context, before, new)
        diff = google.provider.diff(context, "it", Previous(before, dict(before)), after, ())
        if failures:
            yield "refused by the provider"
        # A change may be to a value that is not one of the provider's, which says nothing about the plan of another.
        if failures and change == "remove":
            continue
        if diff.replaces:
            yield "replace"
        elif all(each.partition("[")[0].startswith(row.silent) for each in diff.changes) and diff.changes:
            yield "update, nothing is sent"
        else:
            yield "update, sent" if diff.changes else "no change"


def _places(block: Any, steps: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every block that has the property, and its key; ``x[]`` are the elements of a list, labels have dots."""
    name, rest = steps[0].removesuffix("[]"), steps[1:]
    whole = ".".join(steps)
    if not isinstance(block, dict):
        return
    if whole in block:
        yield block, whole
    elif name in block:
        elements = block[name] if steps[0].endswith("[]") else [block[name]]
        for each in elements if rest else ():
            yield from _places(each, rest)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return [_other(each) for each in value] or ["x"]
    return {key: _other(each) for key, each in value.items()} or {"x": "y"}


def test_what_is_sent_on_creation_alone_stays_as_it_was(google: Google) -> None:
    google.cluster()
    exclusion = [{"exclusionUntilEndOfSupports": [{"enabled": True}]}]
    pool = google.create(POOL, cpu_pool(maintenancePolicies=exclusion))
    without = google.check(POOL, cpu_pool(maintenancePolicies=None))
    before = Previous(google.check(POOL, cpu_pool(maintenancePolicies=exclusion)), pool.state)
    request = google.request(POOL)
    assert google.provider.diff(request, pool.id, before, without, ()).changes
    state = google.provider.update(request, pool.id, before, without, 0)
    assert state["maintenancePolicies"] == exclusion
    after = Previous(without, state)
    assert google.provider.diff(request, pool.id, after, without, ()).changes, "every later preview shows it again"


@pytest.mark.parametrize(
    ("network", "public"),
    [
        ({"createPodRange": False}, True),
        ({"createPodRange": False, "enablePrivateNodes": True}, False),
        ({"createPodRange": False, "enablePrivateNodes": False}, None),
        (None, False),
    ],
)
def test_a_declared_network_block_makes_nodes_public_unless_it_says_otherwise(
    google: Google, network: Properties | None, public: bool | None
) -> None:
    """Who wrote that they are public (``None``) is not told of it."""
    google.cluster(privateClusterConfig={"enablePrivateNodes": True})
    google.create(POOL, gpu_pool(networkConfig=network))
    (group,) = google.fleet.groups.values()
    assert group.nodes.labels["cloud.google.com/private-node"] == str(public is False).lower()
    problems = list(google.provider.problems() or ())
    assert [each for each in problems if "have public addresses" in each] == problems
    assert bool(problems) is bool(public)
