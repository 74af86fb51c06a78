"""What moto lacks or has wrong, asked of moto itself: a test that fails here says that a gap of ours can go."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import count
from typing import Any

import boto3
import pytest
from moto import mock_aws

from rehearsal.providers.eks.aws_api.gaps import GAPS

REGION = "us-west-2"
PROVEN: set[tuple[str, str]] = set()


def shows(*gap: str) -> Any:
    """Marks the proof of one gap."""
    service, operation = gap
    PROVEN.add((service, operation))
    return lambda test: test


@pytest.fixture
def moto() -> Iterator[None]:
    with mock_aws():
        yield


@functools.cache
def client(service: str) -> Any:
    """One for all tests, as it takes longer to make than they run; whether moto answers it is asked per request."""
    return boto3.client(service, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")


def template(ec2: Any, **data: Any) -> None:
    ec2.create_launch_template(LaunchTemplateName="template", LaunchTemplateData={"ImageId": "ami-1", **data})


def fleet(ec2: Any, *overrides: dict[str, Any], **more: Any) -> dict[str, Any]:
    specified = {"LaunchTemplateName": "template", "Version": "$Latest"}
    answer: dict[str, Any] = ec2.create_fleet(
        Type="instant",
        LaunchTemplateConfigs=[{"LaunchTemplateSpecification": specified, "Overrides": list(overrides)}],
        TargetCapacitySpecification={"DefaultTargetCapacityType": "on-demand", "TotalTargetCapacity": 1},
        **more,
    )
    return answer


def launched(ec2: Any, answer: dict[str, Any]) -> dict[str, Any]:
    ids = answer["Instances"][0]["InstanceIds"]
    instance: dict[str, Any] = ec2.describe_instances(InstanceIds=ids)["Reservations"][0]["Instances"][0]
    return instance


@shows("ec2", "CreateFleet")
def test_a_fleets_instances_get_neither_the_templates_role_nor_its_groups(moto: None) -> None:
    iam, ec2 = client("iam"), client("ec2")
    iam.create_instance_profile(InstanceProfileName="nodes")
    group = ec2.create_security_group(GroupName="g", Description="g")["GroupId"]
    template(ec2, IamInstanceProfile={"Name": "nodes"}, NetworkInterfaces=[{"DeviceIndex": 0, "Groups": [group]}])
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    instance = launched(ec2, fleet(ec2, {"InstanceType": "g4dn.xlarge", "SubnetId": subnet}))
    assert "IamInstanceProfile" not in instance
    assert group not in [each["GroupId"] for each in instance["SecurityGroups"]]


@shows("ec2", "RunInstances")
def test_a_dry_run_does_not_look_at_the_templates_role(moto: None) -> None:
    ec2 = client("ec2")
    template(ec2, IamInstanceProfile={"Name": "nobody"})
    with pytest.raises(ec2.exceptions.ClientError, match="DryRunOperation"):
        ec2.run_instances(MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateName": "template"}, DryRun=True)


@shows("ec2", "DescribeInstanceTypes")
def test_a_dry_run_is_no_other_question_about_types(moto: None) -> None:
    assert client("ec2").describe_instance_types(InstanceTypes=["g4dn.xlarge"], DryRun=True)["InstanceTypes"]


@shows("ec2", "DescribeImages")
def test_there_are_no_images_for_eks(moto: None) -> None:
    names = [{"Name": "name", "Values": ["amazon-eks-node-al2023-*", "bottlerocket-aws-k8s-*"]}]
    assert client("ec2").describe_images(Filters=names)["Images"] == []


@shows("ssm", "GetParameter")
def test_no_parameter_names_an_image_for_eks(moto: None) -> None:
    ssm = client("ssm")
    name = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"
    with pytest.raises(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name=name)


@shows("ec2", "DescribeInstances")
def test_an_instance_that_is_asked_for_twice_is_an_error(moto: None) -> None:
    ec2 = client("ec2")
    id = ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1)["Instances"][0]["InstanceId"]
    with pytest.raises(IndexError):
        ec2.describe_instances(InstanceIds=[id, id])


@shows("ec2", "DescribeInstanceStatus")
def test_every_instance_has_the_status_and_the_events_that_are_asked_for(moto: None) -> None:
    ec2 = client("ec2")
    ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1)
    for name, value in (("event.code", "instance-reboot"), ("system-status.status", "impaired")):
        statuses = ec2.describe_instance_status(Filters=[{"Name": name, "Values": [value]}])["InstanceStatuses"]
        assert [each["SystemStatus"]["Status"] for each in statuses] == ["ok"]
        assert "Events" not in statuses[0]


@shows("ec2", "DescribeSpotPriceHistory")
def test_all_spot_prices_are_the_same(moto: None) -> None:
    history = client("ec2").describe_spot_price_history(InstanceTypes=["g4dn.xlarge", "p4d.24xlarge"])
    assert {each["SpotPrice"] for each in history["SpotPriceHistory"]} == {"0.00001"}


@shows("iam", "ListInstanceProfiles")
def test_instance_profiles_are_listed_whatever_their_path(moto: None) -> None:
    iam = client("iam")
    iam.create_instance_profile(InstanceProfileName="nodes")
    assert iam.list_instance_profiles(PathPrefix="/karpenter/")["InstanceProfiles"]


@shows("iam", "RemoveRoleFromInstanceProfile")
def test_a_role_that_is_not_in_a_profile_ends_in_a_traceback(moto: None) -> None:
    iam = client("iam")
    iam.create_instance_profile(InstanceProfileName="nodes")
    iam.create_role(RoleName="nodes", AssumeRolePolicyDocument="{}")
    with pytest.raises(ValueError, match="not in list"):
        iam.remove_role_from_instance_profile(InstanceProfileName="nodes", RoleName="nodes")


@pytest.mark.slow
@shows("sqs", "ReceiveMessage")
def test_waiting_for_a_message_is_part_of_the_request(moto: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only as long as moto waits itself must the server wait before it asks."""
    from moto.sqs import models

    clock = count()
    monkeypatch.setattr(models, "unix_time", lambda *_: next(clock))
    sqs = client("sqs")
    url = sqs.create_queue(QueueName="events")["QueueUrl"]
    before = next(clock)
    sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)
    assert next(clock) - before > 5, "it looks at the clock until the time is over"


@pytest.mark.parametrize(
    ("service", "operation", "params"),
    [
        shows("ec2", "DescribeCapacityReservations")(("ec2", "describe_capacity_reservations", {})),
        shows("ec2", "CreatePlacementGroup")(
            ("ec2", "create_placement_group", {"GroupName": "a", "Strategy": "cluster"})
        ),
        shows("ec2", "DeletePlacementGroup")(("ec2", "delete_placement_group", {"GroupName": "a"})),
        shows("ec2", "DescribePlacementGroups")(("ec2", "describe_placement_groups", {})),
        shows("pricing", "GetProducts")(("pricing", "get_products", {"ServiceCode": "AmazonEC2"})),
    ],
)
def test_some_requests_moto_does_not_know(moto: None, service: str, operation: str, params: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"not been implemented|Not yet implemented|404"):
        getattr(client(service), operation)(**params)


def test_every_gap_is_shown() -> None:
    assert GAPS.keys() == PROVEN
