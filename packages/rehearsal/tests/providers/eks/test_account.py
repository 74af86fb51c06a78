"""The account: through several engines, what exists before the program, and what is left over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.settings import from_stack_file
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.providers.eks.account import KEY, VPC, Amazon
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.fixtures import create_fixtures


def test_a_new_account_is_empty(amazon: eks.Amazon, tmp_path: Path) -> None:
    """A process has one account. It lives as long as the simulation."""
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.stop()
    other = eks.Amazon(tmp_path)
    assert other.read(eks.VPC, vpc.id, vpc.inputs).id == ""
    other.refuses(eks.SUBNET, eks.subnet(vpc.id), r"InvalidVpcID\.NotFound")
    other.stop()


def test_names_that_the_program_leaves_open_are_made_once(amazon: eks.Amazon) -> None:
    named = amazon.check(eks.TEMPLATE, {}, name="Gpu")
    assert named["name"].startswith("Gpu-")
    assert amazon.check(eks.TEMPLATE, {}, named, name="other")["name"] == named["name"]


def test_an_interrupted_engine_waits_no_longer(tmp_path: Path) -> None:
    amazon = eks.Amazon(tmp_path, patience=600)
    amazon.cluster()
    amazon.provider.cancel()
    amazon.refuses(eks.ADDON, {"clusterName": "gpu-dev", "addonName": "coredns"}, "DEGRADED")
    amazon.stop()


def test_a_refresh_drops_what_was_deleted_outside_the_program(amazon: eks.Amazon) -> None:
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.account.call("ec2", "DeleteVpc", VpcId=vpc.id)
    assert amazon.read(eks.VPC, vpc.id, vpc.inputs).id == ""
    amazon.delete(eks.VPC, vpc)


def test_the_address_of_a_deleted_nat_gateway_is_free_again(amazon: eks.Amazon) -> None:
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.create(eks.INTERNET_GATEWAY, {"vpcId": vpc.id})
    place, address = amazon.create(eks.SUBNET, eks.subnet(vpc.id)), amazon.create("aws:ec2/eip:Eip", {"domain": "vpc"})
    inputs = {"subnetId": place.id, "allocationId": address.id}
    first = amazon.create(eks.NAT, inputs, "first")
    with pytest.raises(ProviderError, match="already associated"):
        amazon.create(eks.NAT, inputs, "second")
    amazon.delete(eks.NAT, first)
    assert amazon.create(eks.NAT, inputs, "third").id


def test_what_does_not_exist_is_nothing_where_it_is_only_looked_up(amazon: eks.Amazon) -> None:
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    (known,) = amazon.account.look_up("ec2", "DescribeVpcs", "Vpcs", VpcIds=[vpc.id])
    assert known["CidrBlock"] == "10.0.0.0/16"
    assert amazon.account.look_up("ec2", "DescribeVpcs", "Vpcs", VpcIds=["vpc-none"]) is None


def test_a_refused_request_leaves_nothing_behind(amazon: eks.Amazon) -> None:
    amazon.cluster()
    before = amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"]
    with pytest.raises(ProviderError, match="not supported in"):
        amazon.node_group(instanceTypes=["p5en.48xlarge"], subnetIds=[_subnet_in(amazon, "b")])
    assert amazon.account.call("autoscaling", "DescribeAutoScalingGroups")["AutoScalingGroups"] == before
    amazon.node_group()


def _subnet_in(amazon: eks.Amazon, letter: str) -> str:
    subnets: list[Properties] = [created.state for type_, created in amazon.made if type_ == eks.SUBNET]
    ids = [created.id for type_, created in amazon.made if type_ == eks.SUBNET]
    return next(id for id, state in zip(ids, subnets, strict=True) if state["availabilityZone"].endswith(letter))


POWER = f"{eks.AWS_POLICY}/PowerUserAccess"


def boundary(amazon: eks.Amazon) -> str | None:
    attached = amazon.account.call("iam", "GetRole", RoleName="nodes")["Role"].get("PermissionsBoundary") or {}
    return attached.get("PermissionsBoundaryArn")


def test_a_boundary_comes_changes_and_goes_and_has_to_be_there(amazon: eks.Amazon) -> None:
    inputs = {"name": "nodes", "assumeRolePolicy": eks.trust("ec2.amazonaws.com"), "path": "/platform/"}
    for nobodys in (f"{eks.AWS_POLICY}/Company", "arn:aws:iam::210987654321:policy/company"):
        with pytest.raises(ProviderError, match=r"NoSuchEntity.*policy/[Cc]ompany does not exist"):
            amazon.create(eks.ROLE, {**inputs, "permissionsBoundary": nobodys})
    role = amazon.create(eks.ROLE, {**inputs, "permissionsBoundary": POWER})
    assert role.state["arn"] == "arn:aws:iam::123456789012:role/platform/nodes"
    assert boundary(amazon) == POWER
    # What somebody else of the account made is not known here.
    other = "arn:aws:iam::123456789012:policy/rules/company"
    amazon.update(eks.ROLE, role, {**inputs, "permissionsBoundary": other})
    assert boundary(amazon) == other
    amazon.update(eks.ROLE, amazon.read(eks.ROLE, role.id, {**inputs, "permissionsBoundary": other}), inputs)
    assert boundary(amazon) is None


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


def test_a_new_account_holds_nothing_that_counts(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    account = amazon.account
    account.call("ec2", "DescribeVpcs")
    account.call("ec2", "ModifyEbsDefaultKmsKeyId", KmsKeyId="")
    account.call("iam", "CreateServiceLinkedRole", AWSServiceName="eks.amazonaws.com")
    assert amazon.provider.inventory() == []


def test_resources_of_the_program_and_of_others_count_until_they_are_deleted(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    amazon.account.call("logs", "CreateLogGroup", logGroupName="/aws/eks/demo/cluster")
    image = "ami-0123456789abcdef0"
    amazon.account.call("ec2", "RunInstances", ImageId=image, MinCount=1, MaxCount=1)
    (instance,) = (each for each in amazon.provider.inventory() if each.startswith("EC2 instance "))
    assert {f"VPC {vpc.id}", "log group /aws/eks/demo/cluster"} <= set(amazon.provider.inventory())
    amazon.account.call("ec2", "TerminateInstances", InstanceIds=[instance.rpartition(" ")[2]])
    amazon.account.call("logs", "DeleteLogGroup", logGroupName="/aws/eks/demo/cluster")
    amazon.delete(VPC, vpc)
    assert not [each for each in amazon.provider.inventory() if not each.startswith("EBS volume ")]


@pytest.mark.parametrize(
    ("service", "operation", "request_", "name"),
    [
        ("logs", "CreateLogGroup", {"logGroupName": "left"}, "log group left"),
        ("ecr", "CreateRepository", {"repositoryName": "left"}, "ECR repository left"),
        ("iam", "CreateRole", {"RoleName": "left", "AssumeRolePolicyDocument": "{}"}, "IAM role left"),
    ],
)
def test_leftovers_count_in_regions_without_machines_or_networks(
    service: str, operation: str, request_: dict[str, str], name: str, tmp_path: Path
) -> None:
    amazon = Amazon(tmp_path)
    replace(amazon.account, region="eu-north-1").call(service, operation, **request_)
    assert amazon.provider.inventory() == [name]


def test_a_key_that_waits_for_its_deletion_does_not_count(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    key = amazon.create(KEY, {"description": "secrets"})
    assert amazon.provider.inventory() == [f"KMS key {key.id}"]
    amazon.delete(KEY, key)
    assert amazon.provider.inventory() == []
