"""Placement groups, of which moto has none: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-groups.html."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.leftovers import TERMINATED


def create_placement_group(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:CreatePlacementGroup``: the group, which is there at once."""
    name, groups = str(request.params["GroupName"]), request.account.supply.placement_groups
    if name in groups:
        raise GapError("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
    tags = [tag for each in request.params.get("TagSpecifications") or () for tag in each.get("Tags") or ()]
    group = {"GroupName": name, "GroupId": f"pg-{uuid.uuid4().hex[:17]}", "State": "available", "Tags": tags}
    groups[name] = {**group, "Strategy": request.params.get("Strategy") or "cluster"}
    return {"PlacementGroup": groups[name]}


def describe_placement_groups(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:DescribePlacementGroups``: all, or those that are named, by name or id."""
    groups = request.account.supply.placement_groups.values()
    for key, field in (("GroupNames", "GroupName"), ("GroupIds", "GroupId")):
        if asked := request.params.get(key):
            groups = [each for each in groups if each[field] in asked]
            if len(groups) < len(asked):
                raise _unknown(", ".join(asked))
    return {"PlacementGroups": list(groups)}


def delete_placement_group(request: GapRequest) -> Mapping[str, Any]:
    """``ec2:DeletePlacementGroup``: of a group without instances."""
    account, name = request.account, str(request.params["GroupName"])
    if name not in account.supply.placement_groups:
        raise _unknown(name)
    alive = {each["InstanceId"] for each in account.instances() if each["State"]["Name"] not in TERMINATED}
    if any(id in alive for id, group in account.supply.placed.items() if group == name):
        raise GapError("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted.")
    del account.supply.placement_groups[name]
    return {}


def group_of(account: Account, data: Mapping[str, Any]) -> str:
    """The name of the group in which a launch template's data places an instance, ``""`` without one; EC2's error if it
    does not exist."""
    placement = data.get("Placement") or {}
    asked = {str(placement[key]) for key in ("GroupName", "GroupId") if placement.get(key)}
    groups = account.supply.placement_groups.values()
    named = [str(each["GroupName"]) for each in groups if {each["GroupName"], each["GroupId"]} & asked]
    if asked and not named:
        raise _unknown(", ".join(sorted(asked)))
    return named[0] if named else ""


def _unknown(name: str) -> GapError:
    return GapError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
