"""Which changes replace a resource, which update it in place, and which are none."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.eks.account import (
    ADDON,
    ASG_TAG,
    CLUSTER,
    NODE_GROUP,
    SECURITY_GROUP,
    SUBNET,
    TEMPLATE,
    VPC,
    Amazon,
    gpu_group,
    subnet,
)
from rehearsal.providers.base import Properties


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> Amazon:
    return Amazon(tmp_path_factory.mktemp("aws"))


def group(**changes: Any) -> Properties:
    return gpu_group(["subnet-1", "subnet-2"], launchTemplate={"id": "lt-1", "version": "1"}, **changes)


def cluster(network: Properties | None = None, **changes: Any) -> Properties:
    usual = {
        "subnetIds": ["subnet-1", "subnet-2"],
        "publicAccessCidrs": ["1.1.1.1/32", "2.2.2.2/32"],
        **(network or {}),
    }
    return {"name": "c", "roleArn": "r", "vpcConfig": usual, "enabledClusterLogTypes": ["api", "audit"], **changes}


def tag(**changes: Any) -> Properties:
    inner = {"key": "k", "value": "v", "propagateAtLaunch": False, **changes}
    return {"autoscalingGroupName": "g", "tag": inner}


ANYWHERE = {"protocol": "-1", "fromPort": 0, "toPort": 0, "cidrBlocks": ["0.0.0.0/0"]}
SIZES = {"minSize": 0, "maxSize": 8, "desiredSize": 0}


@pytest.mark.parametrize(
    ("type_", "old", "new", "path"),
    [
        (NODE_GROUP, group(), group(scalingConfig=SIZES), "scalingConfig.maxSize"),
        (NODE_GROUP, group(), group(labels={"team": "speech"}), "labels.team"),
        (NODE_GROUP, group(), group(taints=[]), "taints[0]"),
        (NODE_GROUP, group(), {**group(), "launchTemplate": {"id": "lt-1", "version": "2"}}, "launchTemplate.version"),
        (NODE_GROUP, group(version="1.33"), group(version="1.34"), "version"),
        (CLUSTER, cluster(version="1.33"), cluster(version="1.34"), "version"),
        (CLUSTER, cluster(), cluster({"publicAccessCidrs": ["1.1.1.1/32"]}), "vpcConfig.publicAccessCidrs[1]"),
        (CLUSTER, cluster(), cluster({"endpointPublicAccess": False}), "vpcConfig.endpointPublicAccess"),
        (
            TEMPLATE,
            {"name": "t"},
            {"name": "t", "metadataOptions": {"httpTokens": "required"}},
            "metadataOptions.httpTokens",
        ),
        (ASG_TAG, tag(), tag(value="w"), "tag.value"),
        (SECURITY_GROUP, {"vpcId": "v"}, {"vpcId": "v", "egress": [ANYWHERE]}, "egress[0]"),
    ],
)
def test_changes_made_in_place(amazon: Amazon, type_: str, old: Properties, new: Properties, path: str) -> None:
    difference = amazon.diff(type_, old, new)
    assert path in difference.changes
    assert difference.replaces == ()


@pytest.mark.parametrize(
    ("type_", "old", "new", "path"),
    [
        (NODE_GROUP, group(), group(instanceTypes=["g4dn.2xlarge", "g4dn.xlarge"]), "instanceTypes[0]"),
        (NODE_GROUP, group(), group(capacityType="ON_DEMAND"), "capacityType"),
        (NODE_GROUP, group(), group(amiType="BOTTLEROCKET_x86_64_NVIDIA"), "amiType"),
        (NODE_GROUP, group(), group(subnetIds=["subnet-1"]), "subnetIds[1]"),
        (NODE_GROUP, group(), {**group(), "launchTemplate": {"id": "lt-2", "version": "1"}}, "launchTemplate.id"),
        (NODE_GROUP, group(), gpu_group(["subnet-1", "subnet-2"]), "launchTemplate.id"),
        (NODE_GROUP, group(), group(nodeRoleArn=UNKNOWN), "nodeRoleArn"),
        (CLUSTER, cluster(), cluster(roleArn="s"), "roleArn"),
        (
            CLUSTER,
            cluster(),
            cluster(encryptionConfig={"provider": {"keyArn": "k"}, "resources": ["secrets"]}),
            "encryptionConfig.provider.keyArn",
        ),
        (CLUSTER, cluster(), cluster(bootstrapSelfManagedAddons=False), "bootstrapSelfManagedAddons"),
        (SUBNET, subnet("v"), subnet("v", "us-west-2b"), "availabilityZone"),
        (
            ADDON,
            {"clusterName": "c", "addonName": "coredns"},
            {"clusterName": "d", "addonName": "coredns"},
            "clusterName",
        ),
        (ASG_TAG, tag(), tag(key="l"), "tag.key"),
    ],
)
def test_changes_that_replace(amazon: Amazon, type_: str, old: Properties, new: Properties, path: str) -> None:
    assert path in amazon.diff(type_, old, new).replaces


@pytest.mark.parametrize(
    ("type_", "old", "new"),
    [
        (NODE_GROUP, group(), group(subnetIds=["subnet-2", "subnet-1"])),
        (
            CLUSTER,
            cluster(),
            cluster({"publicAccessCidrs": ["2.2.2.2/32", "1.1.1.1/32"]}, enabledClusterLogTypes=["audit", "api"]),
        ),
        (CLUSTER, cluster(), cluster(tags={})),
        (VPC, {"cidrBlock": "10.0.0.0/16"}, {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": True}),
    ],
    ids=["sets-of-subnets", "sets-of-ranges", "empty", "default"],
)
def test_what_means_the_same_is_no_change(amazon: Amazon, type_: str, old: Properties, new: Properties) -> None:
    assert amazon.diff(type_, old, new).changes == ()


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
