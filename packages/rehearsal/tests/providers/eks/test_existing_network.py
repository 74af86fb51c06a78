"""What a stack names exists before it runs, and is read with its subnets and where they lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.settings import from_stack_file
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import ProviderError
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.fixtures import create_fixtures

COMPANY = ROOT / "examples" / "eks-company.yaml"


@pytest.fixture
def aws(tmp_path: Path) -> AwsProvider:
    provider = AwsProvider(tmp_path, None)
    provider.configure({"region": "us-west-2"})
    return provider


def invoke(aws: AwsProvider, function: str, **arguments: Any) -> Any:
    return aws.invoke(f"aws:ec2/{function}:{function}", arguments)


def test_what_a_stack_names_exists_before_it_runs(aws: AwsProvider) -> None:
    existing = from_stack_file(COMPANY).network.existing
    assert existing is not None
    with pytest.raises(ProviderError, match=r"InvalidVpcID\.NotFound"):
        invoke(aws, "getVpc", id=existing.network)
    create_fixtures(COMPANY, aws)
    vpc = invoke(aws, "getVpc", id=existing.network)
    assert (vpc["cidrBlock"], vpc["enableDnsSupport"], vpc["enableDnsHostnames"]) == ("10.20.0.0/16", True, True)
    assert vpc["cidrBlockAssociations"] == [{"cidrBlock": "10.20.0.0/16", "state": "associated"}]
    assert vpc["ownerId"] == "210987654321"
    subnets = {id: invoke(aws, "getSubnet", id=id) for id in existing.subnets}
    assert {each["vpcId"] for each in subnets.values()} == {existing.network}
    assert len({each["availabilityZone"] for each in subnets.values()}) == len(existing.subnets)
    assert {each["availableIpAddressCount"] for each in subnets.values()} == {8192 - 5}
    with pytest.raises(ProviderError, match=r"InvalidSubnetID\.NotFound"):
        invoke(aws, "getSubnet", id="subnet-00000000")


def test_its_private_subnets_go_out_by_nat_and_its_public_ones_by_the_gateway(aws: AwsProvider) -> None:
    create_fixtures(COMPANY, aws)
    existing = from_stack_file(COMPANY).network.existing
    assert existing is not None
    ids = invoke(aws, "getRouteTables", vpcId=existing.network)["ids"]
    ways = {}
    for table in (invoke(aws, "getRouteTable", routeTableId=id) for id in ids):
        (out,) = [route for route in table["routes"] if route["cidrBlock"] == "0.0.0.0/0"] or [{}]
        for each in table["associations"]:
            ways[each["subnetId"]] = {key: id for key, id in out.items() if id and key != "cidrBlock"}
    assert all(set(ways[id]) == {"natGatewayId"} for id in existing.subnets)
    values_by_name = {"vpc-id": [existing.network], "tag-key": ["kubernetes.io/role/elb"]}
    filters = [{"name": name, "values": values} for name, values in values_by_name.items()]
    public = invoke(aws, "getSubnets", filters=filters)["ids"]
    assert len(public) == 2
    assert all(ways[id]["gatewayId"].startswith("igw-") for id in public)


def test_only_named_resources_have_a_fixed_id(aws: AwsProvider) -> None:
    create_fixtures(COMPANY, aws)
    another = aws.account.call("ec2", "CreateVpc", CidrBlock="10.30.0.0/16")["Vpc"]["VpcId"]
    existing = from_stack_file(COMPANY).network.existing
    assert existing is not None
    assert another != existing.network
