"""Which changes replace a resource, which update it in place, and which are none."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.account import (
    ASG_TAG,
    CLUSTER,
    NODE_GROUP,
    SUBNET,
    TEMPLATE,
    Amazon,
    gpu_group,
    subnet,
)
from packages.rehearsal.tests.providers.eks.tables import table
from rehearsal.providers.base import Diff, Properties


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Amazon:
    return Amazon(tmp_path_factory.mktemp("aws"))


def group(**changes: Any) -> Properties:
    return gpu_group(["subnet-1", "subnet-2"], launchTemplate={"id": "lt-1", "version": "1"}, **changes)


def cluster() -> Properties:
    network = {"subnetIds": ["subnet-1", "subnet-2"], "publicAccessCidrs": ["1.1.1.1/32", "2.2.2.2/32"]}
    return {"name": "c", "roleArn": "r", "vpcConfig": network, "enabledClusterLogTypes": ["api", "audit"]}


def tag() -> Properties:
    return {"autoscalingGroupName": "g", "tag": {"key": "k", "value": "v", "propagateAtLaunch": False}}


CHANGES = table("changes")
USUAL = {NODE_GROUP: group(), CLUSTER: cluster(), ASG_TAG: tag()}


def changed(amazon: Amazon, change: Properties) -> Diff:
    """The diff of a row."""
    usual = USUAL.get(change["type"], {})
    old, new = ({**usual, **change.get(each, {})} for each in ("old", "new"))
    return amazon.diff(change["type"], old, {key: value for key, value in new.items() if value is not None})


def named(change: Properties) -> str:
    return f"{change['type'].rpartition(':')[2]}-{change.get('path') or ','.join(change['new'])}"


@pytest.mark.parametrize("change", CHANGES["in_place"], ids=named)
def test_changes_made_in_place(amazon: Amazon, change: Properties) -> None:
    difference = changed(amazon, change)
    assert change["path"] in difference.changes
    assert difference.replaces == ()


@pytest.mark.parametrize("change", CHANGES["replaces"], ids=named)
def test_changes_that_replace(amazon: Amazon, change: Properties) -> None:
    assert change["path"] in changed(amazon, change).replaces


@pytest.mark.parametrize("change", CHANGES["none"], ids=named)
def test_what_means_the_same_is_no_change(amazon: Amazon, change: Properties) -> None:
    assert changed(amazon, change).changes == ()


def test_the_autoscaler_owns_the_size(amazon: Amazon) -> None:
    grown = group(scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 3})
    assert amazon.diff(NODE_GROUP, group(), grown).changes == ("scalingConfig.desiredSize",)
    assert amazon.diff(NODE_GROUP, group(), grown, ("scalingConfig.desiredSize",)).changes == ()


def test_names_that_the_program_leaves_open_are_made_once(amazon: Amazon) -> None:
    named = amazon.check(TEMPLATE, {}, name="Gpu")
    assert named["name"].startswith("Gpu-")
    assert amazon.check(TEMPLATE, {}, named, name="other")["name"] == named["name"]


def test_a_written_name_is_freed_before_its_replacement(amazon: Amazon) -> None:
    assert amazon.diff(NODE_GROUP, group(), group(capacityType="ON_DEMAND")).delete_before_replace
    assert not amazon.diff(SUBNET, subnet("v"), subnet("w")).delete_before_replace
