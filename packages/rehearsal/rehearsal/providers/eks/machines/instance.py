"""Instances as EC2 describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.machines.user_data import decoded

_OF_A_GROUP: Final = "aws:autoscaling:groupName"
"""Tag of what an Auto Scaling group started; node groups' machines are known to the fleet as groups."""


@dataclass(frozen=True)
class Instance:
    """One instance. ``profile`` is its instance profile's ARN, ``volumes`` device → GiB; both empty without any."""

    id: str
    type: str
    state: str
    zone: str
    image: str
    subnet: str
    security_groups: tuple[str, ...]
    private_name: str
    public_ip: str
    profile: str
    spot: bool = False
    volumes: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def instances(account: Account) -> list[Instance]:
    """Every instance of the region that is in no Auto Scaling group, those that have just ended included."""
    result: list[Instance] = []
    with account.client("ec2") as client:
        for page in client.get_paginator("describe_instances").paginate():
            for reservation in page["Reservations"]:
                result += [_instance(account, each) for each in reservation["Instances"]]
    return [each for each in result if _OF_A_GROUP not in each.tags]


def user_data(account: Account, id: str) -> str:
    """What the instance reads as its user data; ``""`` without any."""
    answer = account.call("ec2", "DescribeInstanceAttribute", InstanceId=id, Attribute="userData")
    return decoded((answer.get("UserData") or {}).get("Value") or "")


def image_name(account: Account, id: str) -> str | None:
    """The name of an image, ``None`` if there is no such image."""
    try:
        images = account.call("ec2", "DescribeImages", ImageIds=[id])["Images"]
    except AwsError:
        return None
    return str(images[0].get("Name") or "") if images else None


def _instance(account: Account, raw: Mapping[str, Any]) -> Instance:
    volumes = [each["Ebs"]["VolumeId"] for each in raw.get("BlockDeviceMappings") or () if "Ebs" in each]
    sizes = _sizes(account, volumes) if raw["State"]["Name"] in ("pending", "running") else {}
    return Instance(
        id=raw["InstanceId"],
        type=raw["InstanceType"],
        state=raw["State"]["Name"],
        zone=raw["Placement"]["AvailabilityZone"],
        image=raw["ImageId"],
        subnet=raw.get("SubnetId") or "",
        security_groups=tuple(each["GroupId"] for each in raw.get("SecurityGroups") or ()),
        private_name=raw.get("PrivateDnsName") or raw["InstanceId"],
        public_ip=raw.get("PublicIpAddress") or "",
        profile=(raw.get("IamInstanceProfile") or {}).get("Arn") or "",
        spot=raw.get("InstanceLifecycle") == "spot",
        volumes={
            each["DeviceName"]: sizes[each["Ebs"]["VolumeId"]]
            for each in raw.get("BlockDeviceMappings") or ()
            if each.get("Ebs", {}).get("VolumeId") in sizes
        },
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()},
    )


def _sizes(account: Account, volumes: list[str]) -> dict[str, int]:
    if not volumes:
        return {}
    disks = account.call("ec2", "DescribeVolumes", VolumeIds=volumes)["Volumes"]
    return {each["VolumeId"]: int(each["Size"]) for each in disks}
