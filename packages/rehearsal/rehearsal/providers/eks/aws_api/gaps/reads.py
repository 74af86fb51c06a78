"""What moto does not answer, or answers wrongly, of what controllers ask about: instances, capacity reservations,
prices, instance profiles, messages, and AWS's published images for EKS nodes.

Instances: moto fails where a request names one twice, and knows no maintenance. Capacity reservations: it has none.
Messages: it waits inside the request, which would block all other requests. Images: it knows none, and none of the
parameters that name the newest (https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html and
https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html); here ids and dates are made up, and
there is one image of each kind and Kubernetes version.

Prices: moto has no Price List, and one made-up price, of 2006, for all spot machines. The rehearsal has no better data.
The catalogue has prices of some machines in some regions and none of spot, and Karpenter takes a price list as a whole
or not at all (https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/pricing/pricing.go): without one
it says so in its log and stays with the prices that it carries, where spot machines cost what on-demand ones do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from typing import Any, Final

from rehearsal.providers.eks.authorization.identity import Operation, Right
from rehearsal.providers.eks.cloud import Account, AwsError, CapacityReservation
from rehearsal.providers.eks.machines.instance import BOTTLEROCKET, published


class GapError(Exception):
    """The service's error: its code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True)
class GapRequest(Operation):
    """One request. ``refusal`` says what is refused of rights that it turns out to need: EC2's message, or ``""``."""

    refusal: Callable[[Iterable[Right]], str] = lambda _: ""

    def filters(self) -> dict[str, list[str]]:
        """EC2's ``Filters`` as name → values."""
        return {each["Name"]: list(each.get("Values") or ()) for each in self.params.get("Filters") or ()}


Gap = Callable[[GapRequest], Mapping[str, Any] | None]
"""Answers with the operation's output, or leaves the request to moto with ``None``; raises :class:`GapError`."""


DRY_RUN: Final = GapError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html"""

_LIVE: Final = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
_LOOK_SECONDS: Final = 0.5


def describe_instances(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:DescribeInstances`` with an id more than once; each instance is answered once, as EC2 does."""
    ids = list(request.params.get("InstanceIds") or ())
    if len(set(ids)) == len(ids):
        return None
    return request.account.call("ec2", "DescribeInstances", **{**request.params, "InstanceIds": sorted(set(ids))})


def describe_instance_types(request: GapRequest) -> None:
    """``ec2:DescribeInstanceTypes`` as a dry run, with which Karpenter starts: moto writes down all types for it."""
    if request.params.get("DryRun"):
        raise DRY_RUN


def describe_instance_status(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribeInstanceStatus`` with the maintenance that :class:`Supply` announces, and filtered by it.

    moto ignores these filters. An event is listed from its announcement on, whatever its date:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html
    """
    ids = sorted(set(request.params.get("InstanceIds") or ()))
    instances = request.account.instances(**({"InstanceIds": ids} if ids else {"Filters": _RUNNING}))
    statuses = [_status(request, each) for each in instances]
    filters = {name: values for name, values in request.filters().items() if name in _BY_STATUS}
    fitting = [
        each for each in statuses if all(set(_BY_STATUS[name](each)) & set(values) for name, values in filters.items())
    ]
    return {"InstanceStatuses": fitting}


_RUNNING: Final = [{"Name": "instance-state-name", "Values": ["running"]}]
_BY_STATUS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[str]]]] = {
    "event.code": lambda status: [each["Code"] for each in status["Events"]],
    "instance-status.status": lambda status: [status["InstanceStatus"]["Status"]],
    "system-status.status": lambda status: [status["SystemStatus"]["Status"]],
}


def _status(request: GapRequest, instance: Mapping[str, Any]) -> dict[str, Any]:
    passed = {"Status": "ok", "Details": [{"Name": "reachability", "Status": "passed"}]}
    return {
        "InstanceId": instance["InstanceId"],
        "AvailabilityZone": instance["Placement"]["AvailabilityZone"],
        "InstanceState": instance["State"],
        "InstanceStatus": passed,
        "SystemStatus": passed,
        "Events": _events(request, instance["InstanceId"]),
    }


def _events(request: GapRequest, instance: str) -> list[dict[str, Any]]:
    announced = request.account.supply.announced.get(instance)
    if announced is None:
        return []
    event = f"instance-event-{instance.removeprefix('i-')}"
    described = {"Code": announced.code, "Description": f"The instance is scheduled for {announced.code}"}
    return [{"InstanceEventId": event, **described, "NotBefore": announced.not_before}]


def describe_capacity_reservations(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribeCapacityReservations``: those of :class:`Supply`, less the instances that run in them."""
    account, filters = request.account, request.filters()
    known = {each.id: each for each in account.supply.reservations()}
    ids = list(request.params.get("CapacityReservationIds") or ()) or list(known)
    missing = [id for id in ids if id not in known]
    if missing:
        message = f"The capacity reservation ID '{missing[0]}' does not exist"
        raise GapError("InvalidCapacityReservationId.NotFound", message)
    described = [_described(account, known[id]) for id in ids]
    return {"CapacityReservations": [each for each in described if _fits(each, filters)]}


def free(account: Account, reservation: CapacityReservation) -> int:
    """How many more instances a reservation holds."""
    running = (each.get("CapacityReservationId") for each in account.instances(Filters=_LIVE))
    return max(0, reservation.count - sum(id == reservation.id for id in running))


def _described(account: Account, reservation: CapacityReservation) -> dict[str, Any]:
    return {
        "CapacityReservationId": reservation.id,
        "OwnerId": account.id,
        "CapacityReservationArn": account.arn("ec2", f"capacity-reservation/{reservation.id}"),
        "InstanceType": reservation.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": reservation.zone,
        "Tenancy": "default",
        "TotalInstanceCount": reservation.count,
        "AvailableInstanceCount": free(account, reservation),
        "State": "active",
        "InstanceMatchCriteria": "targeted",
        "EndDateType": "unlimited",
        "ReservationType": "capacity-block" if reservation.block else "default",
        "StartDate": datetime(2026, 11, 1, tzinfo=timezone.utc),
        "CreateDate": datetime(2026, 11, 1, tzinfo=timezone.utc),
    }


def _fits(described: Mapping[str, Any], filters: Mapping[str, list[str]]) -> bool:
    keys = {"state": "State", "instance-type": "InstanceType", "availability-zone": "AvailabilityZone"}
    keys |= {"instance-match-criteria": "InstanceMatchCriteria", "owner-id": "OwnerId"}
    return all(described[keys[name]] in values for name, values in filters.items() if name in keys)


def get_products(_: GapRequest) -> Mapping[str, Any]:
    """``pricing:GetProducts``: a price list without products."""
    return {"FormatVersion": "aws_v1", "PriceList": []}


def describe_spot_price_history(_: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribeSpotPriceHistory``: no history."""
    return {"SpotPriceHistory": []}


def list_instance_profiles(request: GapRequest) -> Mapping[str, Any] | None:
    """``iam:ListInstanceProfiles`` with a ``PathPrefix``: moto lists all, and Karpenter would take them for its own."""
    prefix = request.params.get("PathPrefix")
    if not prefix:
        return None
    profiles = request.account.call("iam", "ListInstanceProfiles")["InstanceProfiles"]
    return {"InstanceProfiles": [each for each in profiles if each["Path"].startswith(prefix)], "IsTruncated": False}


def remove_role_from_instance_profile(request: GapRequest) -> Mapping[str, Any] | None:
    """``iam:RemoveRoleFromInstanceProfile`` of a role that is not in it, on which moto ends in a traceback."""
    name, role = request.params["InstanceProfileName"], request.params["RoleName"]
    profile = request.account.call("iam", "GetInstanceProfile", InstanceProfileName=name)["InstanceProfile"]
    if role not in [each["RoleName"] for each in profile["Roles"]]:
        # https://docs.aws.amazon.com/IAM/latest/APIReference/API_RemoveRoleFromInstanceProfile.html
        raise GapError("NoSuchEntity", f"The role {role} is not in the instance profile {name}.")
    return None


def receive_message(request: GapRequest) -> Mapping[str, Any] | None:
    """``sqs:ReceiveMessage`` without waiting; the server has already waited (:func:`wait`)."""
    if not request.params.get("WaitTimeSeconds"):
        return None
    return request.account.call("sqs", "ReceiveMessage", **{**request.params, "WaitTimeSeconds": 0})


def wait(account: Account, params: Mapping[str, Any], ended: threading.Event) -> None:
    """Return when the queue has a message, after ``WaitTimeSeconds``, or when the server ends."""
    deadline = time.monotonic() + int(params.get("WaitTimeSeconds") or 0)
    while time.monotonic() < deadline and not ended.is_set() and _empty(account, str(params.get("QueueUrl"))):
        ended.wait(_LOOK_SECONDS)


def _empty(account: Account, url: str) -> bool:
    names = ["ApproximateNumberOfMessages"]
    try:
        attributes = account.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"]
    except AwsError:
        return False  # the request itself will say why
    return int(attributes[names[0]]) == 0


OWNER: Final = "602401143452"
"""Of Amazon's EKS images: https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html."""

_PUBLISHED: Final = datetime(2026, 11, 1)


@cache
def _parameters() -> Mapping[str, str]:
    """Public parameter → the id of the image that it names."""
    ids = {}
    for id, image in published().items():
        if image.family == "al2023":
            folder = f"eks/optimized-ami/{image.minor}/amazon-linux-2023/{image.arch}/{image.variant}"
            newest = ("recommended", image.name)
        else:
            variant = "" if image.variant == "standard" else f"-{image.variant}"
            folder, newest = f"bottlerocket/aws-k8s-{image.minor}{variant}/{image.arch}", ("latest", BOTTLEROCKET)
        ids.update({f"/aws/service/{folder}/{which}/image_id": id for which in newest})
    return ids


def get_parameter(request: GapRequest) -> Mapping[str, Any] | None:
    """``ssm:GetParameter`` of a public parameter that names an image."""
    name = str(request.params.get("Name") or "")
    if not name.startswith(("/aws/service/eks/", "/aws/service/bottlerocket/")):
        return None
    image = _parameters().get(name)
    if image is None:
        raise GapError("ParameterNotFound", f"{name} is no parameter that AWS publishes")
    publish(request.account)
    arn = f"arn:{request.account.partition}:ssm:{request.account.region}::parameter{name}"
    return {
        "Parameter": {
            "Name": name,
            "Type": "String",
            "Value": image,
            "Version": 1,
            "LastModifiedDate": _PUBLISHED,
            "ARN": arn,
            "DataType": "text",
        }
    }


def describe_images(request: GapRequest) -> None:
    """``ec2:DescribeImages``: moto's answer, once it knows the images."""
    publish(request.account)


def publish(account: Account) -> None:
    """Let moto know the images, in the account's region."""
    from moto.ec2.models import ec2_backends
    from moto.ec2.models.amis import Ami

    with account.store.held():
        backend: Any = ec2_backends[account.id][account.region]
        if published().keys() <= backend.amis.keys():
            return
        for id, image in published().items():
            backend.amis[id] = Ami(
                backend,
                id,
                name=image.name,
                description=f"EKS Kubernetes Worker AMI ({image.family}, {image.variant})",
                owner_id=OWNER,
                owner_alias="amazon",
                public=True,
                virtualization_type="hvm",
                architecture=image.arch,
                creation_date=_PUBLISHED,
                root_device_type="ebs",
                root_device_name="/dev/xvda",
                hypervisor="xen",
                region_name=account.region,
            )
