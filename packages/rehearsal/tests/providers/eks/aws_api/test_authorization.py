"""A controller may do what its role says: every right that a call needs, on what it names, with its tags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from packages.rehearsal.tests.providers.eks.account import REGION, VPC
from packages.rehearsal.tests.providers.eks.aws_api.controller import Controller
from packages.rehearsal.tests.providers.eks.aws_api.karpenter import Karpenter, specification
from packages.rehearsal.tests.providers.eks.tables import table
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.authorization.needs import TABLE
from rehearsal.providers.eks.aws_api import backend

pytestmark = pytest.mark.slow

ACCOUNT = "123456789012"
EC2 = f"arn:aws:ec2:{REGION}:{ACCOUNT}"
PUBLIC = f"arn:aws:ec2:{REGION}::"
REQUESTED = {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/gpu-dev": "owned"}}
OWNED = {"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/gpu-dev": "owned"}}
MADE = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")


def allow(action: Any, resource: Any = "*", condition: Any = None) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


SEE = allow("ec2:Describe*", "*", {"StringEquals": {"aws:RequestedRegion": REGION}})
LAUNCH = {
    "use": allow(
        ["ec2:RunInstances", "ec2:CreateFleet"], [f"{PUBLIC}image/*", f"{EC2}:subnet/*", f"{EC2}:security-group/*"]
    ),
    "templates": allow(["ec2:RunInstances", "ec2:CreateFleet"], f"{EC2}:launch-template/*", OWNED),
    "make": allow(
        ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"],
        [f"{EC2}:{kind}/*" for kind in MADE],
        REQUESTED,
    ),
    "tag": allow(
        "ec2:CreateTags",
        [f"{EC2}:{kind}/*" for kind in MADE],
        {"StringEquals": {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}},
    ),
    "pass": allow(
        "iam:PassRole",
        f"arn:aws:iam::{ACCOUNT}:role/nodes",
        {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    ),
}


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def install(controller: Controller, *statements: dict[str, Any]) -> tuple[Karpenter, Any]:
    controller.install(*statements)
    karpenter = Karpenter(controller)
    karpenter.prepare()
    return karpenter, controller.client("ec2")


def test_a_role_without_rights_may_do_nothing_but_ask_who_it_is(controller: Controller) -> None:
    controller.install()
    controller.client("sts").get_caller_identity()
    with pytest.raises(ClientError) as refused:
        controller.client("ec2").describe_subnets()
    assert code(refused) == "UnauthorizedOperation"


@cases
def test_a_refusal_is_in_the_services_words(
    controller: Controller, service: str, operation: str, params: dict[str, Any], expected: str
) -> None:
    controller.install()
    with pytest.raises(ClientError) as refused:
        getattr(controller.client(service), operation)(**params)
    assert code(refused) == expected
    assert "because no identity-based policy allows the" in str(refused.value)


def test_a_right_for_one_region_is_none_for_another(controller: Controller) -> None:
    elsewhere = allow("ec2:Describe*", "*", {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}})
    controller.install(elsewhere)
    with pytest.raises(ClientError, match="ec2:DescribeSubnets"):
        controller.client("ec2").describe_subnets()


def test_an_explicit_deny_is_named(controller: Controller) -> None:
    controller.install(allow("*"), {"Effect": "Deny", "Action": "ec2:DescribeImages", "Resource": "*"})
    with pytest.raises(ClientError, match="with an explicit deny in an identity-based policy"):
        controller.client("ec2").describe_images()
    controller.client("ec2").describe_subnets()


def test_a_permissions_boundary_limits_what_policies_allow(controller: Controller) -> None:
    controller.install(allow("*"))
    account = controller.amazon.account
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow("eks:*")]})
    boundary = account.call("iam", "CreatePolicy", PolicyName="limit", PolicyDocument=document)["Policy"]["Arn"]
    account.call("iam", "PutRolePermissionsBoundary", RoleName="controller", PermissionsBoundary=boundary)
    controller.client("eks").describe_cluster(name="gpu-dev")
    with pytest.raises(ClientError, match="no permissions boundary allows the ec2:DescribeSubnets action"):
        controller.client("ec2").describe_subnets()


def test_a_changed_policy_counts_at_once(controller: Controller) -> None:
    controller.install(SEE)
    ec2 = controller.client("ec2")
    ec2.describe_subnets()
    controller.amazon.account.call("iam", "DeleteRolePolicy", RoleName="controller", PolicyName="own")
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        ec2.describe_subnets()


def test_karpenters_rights_are_enough_to_start_and_end_a_node(controller: Controller) -> None:
    end = allow("ec2:TerminateInstances", f"{EC2}:instance/*", OWNED)
    spot = allow("iam:CreateServiceLinkedRole")
    karpenter, ec2 = install(controller, SEE, *LAUNCH.values(), end, spot)
    answer = karpenter.fleet(ec2, karpenter.template(ec2), spot=True)
    assert answer["Errors"] == []
    ec2.terminate_instances(InstanceIds=answer["Instances"][0]["InstanceIds"])


def test_a_shared_subnet_has_its_owners_account_in_its_arn(controller: Controller) -> None:
    karpenter, ec2 = install(controller, SEE, *LAUNCH.values())
    backend.share(next(made.id for type_, made in controller.amazon.made if type_ == VPC), "210987654321")
    (subnet,) = ec2.describe_subnets(SubnetIds=[karpenter.subnet()])["Subnets"]
    assert subnet["OwnerId"] == "210987654321"
    with pytest.raises(ClientError, match=f"CreateFleet on resource: arn:aws:ec2:{REGION}:210987654321:subnet/"):
        karpenter.fleet(ec2, karpenter.template(ec2))


@cases
def test_each_right_to_launch_is_needed(controller: Controller, without: str, missing: str) -> None:
    karpenter, ec2 = install(controller, SEE, *(each for name, each in LAUNCH.items() if name != without))
    with pytest.raises(ClientError, match=f"not authorized to perform: {missing} on resource"):
        karpenter.fleet(ec2, karpenter.template(ec2))


def test_a_right_that_starting_needs_is_the_fleets_error(controller: Controller) -> None:
    karpenter, ec2 = install(controller, SEE, *(each for name, each in LAUNCH.items() if name != "pass"))
    answer = karpenter.fleet(ec2, karpenter.template(ec2))
    (error,) = answer["Errors"]
    assert error["ErrorCode"] == "UnauthorizedOperation"
    assert f"iam:PassRole on resource: arn:aws:iam::{ACCOUNT}:role/nodes" in error["ErrorMessage"]


def test_tags_in_the_request_are_what_a_condition_sees(controller: Controller) -> None:
    karpenter, ec2 = install(controller, SEE, *LAUNCH.values())
    data = karpenter.template_data()
    other = specification("launch-template", **{"kubernetes.io/cluster/gpu-dev": "shared"})
    with pytest.raises(ClientError, match="ec2:CreateLaunchTemplate"):
        ec2.create_launch_template(LaunchTemplateName="x", LaunchTemplateData=data, TagSpecifications=[other])
    with pytest.raises(ClientError, match="ec2:CreateLaunchTemplate"):
        ec2.create_launch_template(LaunchTemplateName="x", LaunchTemplateData=data)


def test_tags_of_the_resource_are_what_a_condition_sees(controller: Controller) -> None:
    end = allow(["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"], "*", OWNED)
    named = {"ForAllValues:StringEquals": {"aws:TagKeys": ["Name"]}}
    tag = allow("ec2:CreateTags", f"{EC2}:instance/*", {**OWNED, **named})
    karpenter, ec2 = install(controller, SEE, *LAUNCH.values(), end, tag)
    template = karpenter.template(ec2)
    mine = karpenter.fleet(ec2, template)["Instances"][0]["InstanceIds"]
    account = controller.amazon.account
    other = account.call("ec2", "RunInstances", ImageId="ami-1", MinCount=1, MaxCount=1)["Instances"][0]["InstanceId"]
    with pytest.raises(ClientError, match="ec2:TerminateInstances"):
        ec2.terminate_instances(InstanceIds=[*mine, other])
    ec2.create_tags(Resources=mine, Tags=[{"Key": "Name", "Value": "node"}])
    with pytest.raises(ClientError, match="ec2:CreateTags"):
        ec2.create_tags(Resources=mine, Tags=[{"Key": "owner", "Value": "me"}])
    ec2.terminate_instances(InstanceIds=mine)
    ec2.delete_launch_template(LaunchTemplateName=template)


def test_the_log_names_the_missing_right(controller: Controller, tmp_path: Path) -> None:
    controller.install(SEE)
    with pytest.raises(ClientError):
        controller.client("eks").describe_cluster(name="gpu-dev")
    (call,) = [json.loads(line) for line in (tmp_path / "aws-calls.jsonl").read_text().splitlines()]
    assert call["verdict"] == "denied"
    assert call["resources"] == [f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/gpu-dev"]
    assert "eks:DescribeCluster on resource" in call["missing"]


def test_the_table_knows_every_call_of_karpenter() -> None:
    calls = table("aws_api/test_authorization")["karpenter_calls"]
    calls = {(service, name) for service, names in calls.items() for name in names.split()}
    assert calls <= TABLE.keys()
