"""Which changes replace a resource, which update it in place, and which are none."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.providers.eks.tables import table
from rehearsal.providers.base import Diff, Properties


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> eks.Amazon:
    return eks.Amazon(tmp_path_factory.mktemp("aws"))


def group(**changes: Any) -> Properties:
    return eks.gpu_group(["subnet-1", "subnet-2"], launchTemplate={"id": "lt-1", "version": "1"}, **changes)


def cluster() -> Properties:
    network = {"subnetIds": ["subnet-1", "subnet-2"], "publicAccessCidrs": ["1.1.1.1/32", "2.2.2.2/32"]}
    return {"name": "c", "roleArn": "r", "vpcConfig": network, "enabledClusterLogTypes": ["api", "audit"]}


def tag() -> Properties:
    return {"autoscalingGroupName": "g", "tag": {"key": "k", "value": "v", "propagateAtLaunch": False}}


CHANGES = table("changes")
USUAL = {eks.NODE_GROUP: group(), eks.CLUSTER: cluster(), eks.ASG_TAG: tag()}


def changed(amazon: eks.Amazon, change: Properties) -> Diff:
    """The diff of a row."""
    usual = USUAL.get(change["type"], {})
    old, new = ({**usual, **change.get(each, {})} for each in ("old", "new"))
    return amazon.diff(change["type"], old, {key: value for key, value in new.items() if value is not None})


def named(change: Properties) -> str:
    return f"{change['type'].rpartition(':')[2]}-{change.get('path') or ','.join(change['new'])}"


@pytest.mark.parametrize("change", CHANGES["in_place"], ids=named)
def test_changes_made_in_place(amazon: eks.Amazon, change: Properties) -> None:
    difference = changed(amazon, change)
    assert change["path"] in difference.changes
    assert difference.replaces == ()


@pytest.mark.parametrize("change", CHANGES["replaces"], ids=named)
def test_changes_that_replace(amazon: eks.Amazon, change: Properties) -> None:
    assert change["path"] in changed(amazon, change).replaces


@pytest.mark.parametrize("change", CHANGES["none"], ids=named)
def test_what_means_the_same_is_no_change(amazon: eks.Amazon, change: Properties) -> None:
    assert changed(amazon, change).changes == ()


def test_the_autoscaler_owns_the_size(amazon: eks.Amazon) -> None:
    grown = group(scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 3})
    assert amazon.diff(eks.NODE_GROUP, group(), grown).changes == ("scalingConfig.desiredSize",)
    assert amazon.diff(eks.NODE_GROUP, group(), grown, ("scalingConfig.desiredSize",)).changes == ()


def test_names_that_the_program_leaves_open_are_made_once(amazon: eks.Amazon) -> None:
    named = amazon.check(eks.TEMPLATE, {}, name="Gpu")
    assert named["name"].startswith("Gpu-")
    assert amazon.check(eks.TEMPLATE, {}, named, name="other")["name"] == named["name"]


def test_a_written_name_is_freed_before_its_replacement(amazon: eks.Amazon) -> None:
    assert amazon.diff(eks.NODE_GROUP, group(), group(capacityType="ON_DEMAND")).delete_before_replace
    assert not amazon.diff(eks.SUBNET, eks.subnet("v"), eks.subnet("w")).delete_before_replace
