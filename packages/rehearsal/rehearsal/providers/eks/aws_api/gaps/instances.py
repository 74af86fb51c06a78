"""Instances by id, and how they are: moto fails where a request names one twice, and knows no maintenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rehearsal.providers.eks.aws_api.gaps.gap import GapRequest


def describe_instances(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:DescribeInstances`` with an id more than once; each instance is answered once, as EC2 does."""
    ids = list(request.params.get("InstanceIds") or ())
    if len(set(ids)) == len(ids):
        return None
    return request.account.call("ec2", "DescribeInstances", **{**request.params, "InstanceIds": sorted(set(ids))})


def describe_instance_status(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribeInstanceStatus`` with the maintenance that :class:`Supply` announces, and filtered by it.

    moto ignores these filters. An event is listed from its announcement on, whatever its date:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html
    """
    ids = sorted(set(request.params.get("InstanceIds") or ()))
    answer = request.account.call(
        "ec2", "DescribeInstances", **({"InstanceIds": ids} if ids else {"Filters": _RUNNING})
    )
    statuses = [_status(request, each) for group in answer["Reservations"] for each in group["Instances"]]
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
    announced = request.account.supply.announced(instance)
    if announced is None:
        return []
    event = f"instance-event-{instance.removeprefix('i-')}"
    described = {"Code": announced.code, "Description": f"The instance is scheduled for {announced.code}"}
    return [{"InstanceEventId": event, **described, "NotBefore": announced.not_before}]
