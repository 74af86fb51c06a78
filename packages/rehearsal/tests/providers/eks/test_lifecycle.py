"""Create, read, update, replace and delete, through several engines and wrong references."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.eks.account import (
    ADDON,
    SUBNET,
    VPC,
    Amazon,
    subnet,
)
from rehearsal.providers.base import Properties, ProviderError


def test_a_new_account_is_empty(amazon: Amazon, tmp_path: Path) -> None:
    """A process has one account. It lives as long as the simulation."""
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.stop()
    other = Amazon(tmp_path)
    assert other.read(VPC, vpc.id, vpc.inputs).id == ""
    with pytest.raises(ProviderError, match=r"InvalidVpcID\.NotFound"):
        other.create(SUBNET, subnet(vpc.id))
    other.stop()


def test_an_interrupted_engine_waits_no_longer(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path, patience=600)
    amazon.cluster()
    amazon.provider.cancel()
    with pytest.raises(ProviderError, match="DEGRADED"):
        amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "coredns"})
    amazon.stop()


def test_a_refresh_drops_what_was_deleted_outside_the_program(amazon: Amazon) -> None:
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.account.call("ec2", "DeleteVpc", VpcId=vpc.id)
    assert amazon.read(VPC, vpc.id, vpc.inputs).id == ""
    amazon.delete(VPC, vpc)


def test_a_refused_request_leaves_nothing_behind(amazon: Amazon) -> None:
    amazon.cluster()
    before = amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"]
    with pytest.raises(ProviderError, match="not supported in"):
        amazon.node_group(instanceTypes=["p5en.48xlarge"], subnetIds=[_subnet_in(amazon, "b")])
    assert amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"] == before
    amazon.node_group()


def _subnet_in(amazon: Amazon, letter: str) -> str:
    subnets: list[Properties] = [created.state for type_, created in amazon.made if type_ == SUBNET]
    ids = [created.id for type_, created in amazon.made if type_ == SUBNET]
    return next(id for id, state in zip(ids, subnets, strict=True) if state["availabilityZone"].endswith(letter))
