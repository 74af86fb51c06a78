"""Capacity reservations: moto has none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.supply import CapacityReservation

_LIVE: Final = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]


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
    answer = account.call("ec2", "DescribeInstances", Filters=_LIVE)
    instances = [each for group in answer["Reservations"] for each in group["Instances"]]
    return max(0, reservation.count - sum(each.get("CapacityReservationId") == reservation.id for each in instances))


def _described(account: Account, reservation: CapacityReservation) -> dict[str, Any]:
    owner = reservation.owner or account.id
    return {
        "CapacityReservationId": reservation.id,
        "OwnerId": owner,
        "CapacityReservationArn": f"arn:aws:ec2:{account.region}:{owner}:capacity-reservation/{reservation.id}",
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
