"""Instances come as EC2 would give them: the cheapest there is room for, with all that the launch template says."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from botocore.exceptions import ClientError

from packages.rehearsal.tests.providers.eks.account import GRANT, KEY, REGION
from packages.rehearsal.tests.providers.eks.aws_api.controller import Controller
from packages.rehearsal.tests.providers.eks.aws_api.karpenter import IMAGE, TAGS, Karpenter
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.eks.cloud import AwsError, CapacityReservation, ScheduledEvent
from rehearsal.providers.eks.iam import TO_START

pytestmark = pytest.mark.slow

EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
NO_SPOT_ROLE = {"Effect": "Deny", "Action": "iam:CreateServiceLinkedRole", "Resource": "*"}


@pytest.fixture
def karpenter(controller: Controller) -> Karpenter:
    controller.install(EVERYTHING)
    karpenter = Karpenter(controller)
    karpenter.prepare()
    return karpenter


@pytest.fixture
def ec2(karpenter: Karpenter) -> Any:
    return karpenter.controller.client("ec2")


def instances(client: Any, *ids: str) -> list[dict[str, Any]]:
    reservations = client.describe_instances(InstanceIds=list(ids))["Reservations"]
    return [each for reservation in reservations for each in reservation["Instances"]]


def errors(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    tried = [(each["LaunchTemplateAndOverrides"]["Overrides"], each["ErrorCode"]) for each in answer["Errors"]]
    return [(override["InstanceType"], override["AvailabilityZone"], code) for override, code in tried]


def test_an_instance_has_what_template_and_override_say(karpenter: Karpenter, ec2: Any) -> None:
    answer = karpenter.fleet(ec2, karpenter.template(ec2))
    assert answer["Errors"] == []
    (launched,) = answer["Instances"]
    assert launched["InstanceType"] == "g4dn.xlarge"
    assert launched["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"] == f"{REGION}a"
    (instance,) = instances(ec2, *launched["InstanceIds"])
    assert instance["ImageId"] == IMAGE
    assert instance["SubnetId"] == karpenter.subnet()
    assert instance["SecurityGroups"][0]["GroupId"] == karpenter.made["group"]
    assert instance["IamInstanceProfile"]["Arn"].endswith(":instance-profile/nodes")
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert instance["Placement"]["AvailabilityZoneId"]
    assert "InstanceLifecycle" not in instance
    assert "SpotInstanceRequestId" not in instance
    assert TAGS.items() <= {tag["Key"]: tag["Value"] for tag in instance["Tags"]}.items()
    account = karpenter.controller.amazon.account
    attribute = account.call(
        "ec2", "DescribeInstanceAttribute", InstanceId=instance["InstanceId"], Attribute="userData"
    )
    assert attribute["UserData"]["Value"] == "Ym9vdA=="
    (disk,) = instance["BlockDeviceMappings"]
    volume = account.call("ec2", "DescribeVolumes", VolumeIds=[disk["Ebs"]["VolumeId"]])["Volumes"][0]
    assert (disk["DeviceName"], volume["Size"], volume["VolumeType"]) == ("/dev/xvda", 100, "gp3")
    assert TAGS.items() <= {tag["Key"]: tag["Value"] for tag in volume["Tags"]}.items()


def test_an_instance_listed_twice_is_described_once(karpenter: Karpenter, ec2: Any) -> None:
    """Karpenter's batches do that."""
    (id,) = karpenter.fleet(ec2, karpenter.template(ec2))["Instances"][0]["InstanceIds"]
    assert [each["InstanceId"] for each in instances(ec2, id, id)] == [id]


def test_a_spot_instance_says_so(karpenter: Karpenter, ec2: Any) -> None:
    answer = karpenter.fleet(ec2, karpenter.template(ec2), spot=True)
    (instance,) = instances(ec2, *answer["Instances"][0]["InstanceIds"])
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["SpotInstanceRequestId"].startswith("sir-")


def test_the_cheapest_is_taken_first(karpenter: Karpenter, ec2: Any) -> None:
    overrides = karpenter.override("g4dn.2xlarge"), karpenter.override("g4dn.xlarge")
    answer = karpenter.fleet(ec2, karpenter.template(ec2), *overrides, count=2)
    (launched,) = answer["Instances"]
    assert (launched["InstanceType"], len(launched["InstanceIds"])) == ("g4dn.xlarge", 2)


def test_without_capacity_the_next_zone_and_then_the_next_type_is_tried(karpenter: Karpenter, ec2: Any) -> None:
    supply = karpenter.controller.amazon.account.supply
    template = karpenter.template(ec2)
    overrides = [karpenter.override(kind, zone) for zone in "ab" for kind in ("g4dn.xlarge", "g4dn.2xlarge")]
    supply.exhaust(f"{REGION}a", "g4dn.xlarge", "spot")
    first = karpenter.fleet(ec2, template, *overrides, spot=True)
    assert errors(first) == [("g4dn.xlarge", f"{REGION}a", "InsufficientInstanceCapacity")]
    assert first["Instances"][0]["LaunchTemplateAndOverrides"]["Overrides"]["AvailabilityZone"] == f"{REGION}b"
    supply.exhaust(instance_type="g4dn.xlarge")
    second = karpenter.fleet(ec2, template, *overrides)
    assert second["Instances"][0]["InstanceType"] == "g4dn.2xlarge"
    supply.exhaust()
    third = karpenter.fleet(ec2, template, *overrides)
    assert (third["Instances"], len(third["Errors"])) == ([], 4)
    supply.refill()
    assert karpenter.fleet(ec2, template, *overrides)["Errors"] == []


def test_spot_makes_its_role_where_the_caller_may(karpenter: Karpenter, ec2: Any) -> None:
    karpenter.fleet(ec2, karpenter.template(ec2), spot=True)
    role = karpenter.controller.amazon.account.call("iam", "GetRole", RoleName="AWSServiceRoleForEC2Spot")["Role"]
    assert role["Path"] == "/aws-service-role/spot.amazonaws.com/"


def test_spot_fails_where_its_role_may_not_be_made(controller: Controller) -> None:
    controller.install(EVERYTHING, NO_SPOT_ROLE)
    karpenter = Karpenter(controller)
    karpenter.prepare()
    ec2 = controller.client("ec2")
    template = karpenter.template(ec2)
    answer = karpenter.fleet(ec2, template, spot=True)
    assert errors(answer) == [("g4dn.xlarge", f"{REGION}a", "AuthFailure.ServiceLinkedRoleCreationNotPermitted")]
    assert karpenter.fleet(ec2, template)["Errors"] == []
    controller.amazon.account.call("iam", "CreateServiceLinkedRole", AWSServiceName="spot.amazonaws.com")
    assert karpenter.fleet(ec2, template, spot=True)["Errors"] == []


def test_spot_with_a_customers_key_starts_once_its_role_is_granted_it(karpenter: Karpenter, ec2: Any) -> None:
    amazon = karpenter.controller.amazon
    key = amazon.create(KEY, {}).state["arn"]
    disk = {"VolumeSize": 100, "VolumeType": "gp3", "Encrypted": True, "KmsKeyId": key}
    template = karpenter.template(ec2, BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": disk}])
    refused = karpenter.fleet(ec2, template, spot=True)
    assert "you must grant the AWSServiceRoleForEC2Spot" in refused["Errors"][0]["ErrorMessage"]
    assert karpenter.fleet(ec2, template)["Errors"] == []
    role = "arn:aws:iam::123456789012:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
    amazon.create(GRANT, {"keyId": key, "granteePrincipal": role, "operations": sorted(TO_START)})
    assert karpenter.fleet(ec2, template, spot=True)["Errors"] == []


@cases
def test_what_does_not_exist_is_the_fleets_error(karpenter: Karpenter, ec2: Any, change: Any, code: str) -> None:
    answer = karpenter.fleet(ec2, karpenter.template(ec2, **change))
    assert (answer["Instances"], errors(answer)) == ([], [("g4dn.xlarge", f"{REGION}a", code)])


def test_an_image_or_type_that_is_not_there_is_the_fleets_error(karpenter: Karpenter, ec2: Any) -> None:
    template = karpenter.template(ec2)
    unknown = {**karpenter.override(), "ImageId": "ami-0123456789abcdef0"}
    assert errors(karpenter.fleet(ec2, template, unknown))[0][2] == "InvalidAMIID.NotFound"
    elsewhere = karpenter.override("p5en.48xlarge", "b")
    assert errors(karpenter.fleet(ec2, template, elsewhere))[0][2] == "Unsupported"


def test_a_deleted_template_fails_the_whole_request(karpenter: Karpenter, ec2: Any) -> None:
    with pytest.raises(ClientError) as refused:
        karpenter.fleet(ec2, "karpenter.k8s.aws/gone")
    assert refused.value.response["Error"]["Code"] == "InvalidLaunchTemplateName.NotFoundException"


def test_a_full_subnet_has_no_address_left(karpenter: Karpenter, ec2: Any) -> None:
    from moto.ec2.models import ec2_backends

    account = karpenter.controller.amazon.account
    subnet: Any = ec2_backends[account.id][account.region].get_subnet(karpenter.subnet())
    subnet._available_ip_addresses = 0
    answer = karpenter.fleet(ec2, karpenter.template(ec2))
    assert errors(answer)[0][2] == "InsufficientFreeAddressesInSubnet"


def test_a_reservation_holds_as_many_as_it_says(karpenter: Karpenter, ec2: Any) -> None:
    supply = karpenter.controller.amazon.account.supply
    supply.reserve(CapacityReservation("cr-0123456789abcdef0", "g4dn.xlarge", f"{REGION}a", 1))
    target = {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"},
    }
    template = karpenter.template(ec2, CapacityReservationSpecification=target)
    answer = karpenter.fleet(ec2, template, count=2)
    (instance,) = instances(ec2, *answer["Instances"][0]["InstanceIds"])
    assert instance["CapacityReservationId"] == "cr-0123456789abcdef0"
    preference = instance["CapacityReservationSpecification"]["CapacityReservationPreference"]
    assert preference == "capacity-reservations-only"
    assert errors(answer)[0][2] == "ReservationCapacityExceeded"
    (described,) = ec2.describe_capacity_reservations()["CapacityReservations"]
    assert (described["TotalInstanceCount"], described["AvailableInstanceCount"]) == (1, 0)


def test_dry_runs_start_nothing(karpenter: Karpenter, ec2: Any) -> None:
    template = karpenter.template(ec2)
    with pytest.raises(ClientError, match="DryRunOperation"):
        karpenter.fleet(ec2, template, DryRun=True)
    run = {"MinCount": 1, "MaxCount": 1, "InstanceType": "g4dn.xlarge", "DryRun": True}
    interface = {"DeviceIndex": 0, "SubnetId": karpenter.subnet(), "Groups": [karpenter.made["group"]]}
    with pytest.raises(ClientError, match="DryRunOperation"):
        ec2.run_instances(LaunchTemplate={"LaunchTemplateName": template}, NetworkInterfaces=[interface], **run)
    wrong = karpenter.template(ec2, IamInstanceProfile={"Name": "nobody"})
    with pytest.raises(ClientError, match="Invalid IAM Instance Profile name"):
        ec2.run_instances(LaunchTemplate={"LaunchTemplateName": wrong}, NetworkInterfaces=[interface], **run)
    running = ec2.describe_instances(Filters=[{"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]}])
    assert running["Reservations"] == []


def test_announced_maintenance_is_in_the_status_of_that_instance_alone(karpenter: Karpenter, ec2: Any) -> None:
    template = karpenter.template(ec2)
    first, second = (karpenter.fleet(ec2, template)["Instances"][0]["InstanceIds"][0] for _ in range(2))
    day = datetime(2030, 1, 1, tzinfo=timezone.utc)
    karpenter.controller.amazon.account.supply.announced[first] = ScheduledEvent("instance-reboot", day)

    def having(name: str, value: str) -> set[str]:
        statuses = ec2.describe_instance_status(Filters=[{"Name": name, "Values": [value]}])["InstanceStatuses"]
        return {each["InstanceId"] for each in statuses}

    assert having("event.code", "instance-reboot") == {first}
    assert having("event.code", "instance-stop") == set()
    assert having("system-status.status", "impaired") == set()
    assert {first, second} <= having("system-status.status", "ok")
    (status,) = ec2.describe_instance_status(InstanceIds=[first])["InstanceStatuses"]
    (event,) = status["Events"]
    assert (event["Code"], event["NotBefore"]) == ("instance-reboot", day)


def test_a_placement_group_lasts_as_long_as_an_instance_in_it(karpenter: Karpenter, ec2: Any) -> None:
    account = karpenter.controller.amazon.account
    made = account.call("ec2", "CreatePlacementGroup", GroupName="near", Strategy="cluster")["PlacementGroup"]
    (described,) = ec2.describe_placement_groups(GroupNames=["near"])["PlacementGroups"]
    assert (described["GroupId"], described["State"]) == (made["GroupId"], "available")
    answer = karpenter.fleet(ec2, karpenter.template(ec2, Placement={"GroupId": made["GroupId"]}))
    (id,) = answer["Instances"][0]["InstanceIds"]
    assert account.supply.placed == {id: "near"}
    with pytest.raises(AwsError, match="InUse"):
        account.call("ec2", "DeletePlacementGroup", GroupName="near")
    account.call("ec2", "TerminateInstances", InstanceIds=[id])
    account.call("ec2", "DeletePlacementGroup", GroupName="near")
    assert account.call("ec2", "DescribePlacementGroups")["PlacementGroups"] == []
