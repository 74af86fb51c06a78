"""EC2's launches: instant fleets, dry runs, EC2's checks before it starts an instance, and the start.

moto starts the first override of a fleet whatever happens, and takes half of the template along.
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-allocation-strategy.html. It has no placement groups:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-groups.html.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rehearsal.providers.eks.authorization import needs
from rehearsal.providers.eks.aws_api.gaps import reads
from rehearsal.providers.eks.aws_api.gaps.reads import DRY_RUN, GapError, GapRequest, publish
from rehearsal.providers.eks.cloud import Account, AwsError, Market
from rehearsal.providers.eks.iam import TO_START, may_use
from rehearsal.providers.eks.leftovers import TERMINATED
from rehearsal.providers.eks.machines.instance_types import offered_in


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
    for key, name in (("GroupNames", "GroupName"), ("GroupIds", "GroupId")):
        if asked := request.params.get(key):
            groups = [each for each in groups if each[name] in asked]
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


SPOT_ROLE: Final = "AWSServiceRoleForEC2Spot"
_SPOT_SERVICE: Final = "spot.amazonaws.com"


@dataclass(frozen=True)
class LaunchPlan:
    """One instance to start: ``data`` is a launch template's with everything that replaces parts of it.

    ``template`` is the version that a fleet names, and ``override`` what it replaces.
    """

    template: Mapping[str, Any]
    data: Mapping[str, Any]
    market: Market
    override: Mapping[str, Any] = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        """Its security groups."""
        interfaces = self.data.get("NetworkInterfaces") or ()
        within = [id for each in interfaces[:1] for id in each.get("Groups") or ()]
        return [str(id) for id in (*(self.data.get("SecurityGroupIds") or ()), *within)]

    @property
    def reservation(self) -> str:
        """The reservation that it is to run in."""
        target = (self.data.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
        return str(target.get("CapacityReservationId") or "")

    def described(self) -> dict[str, Any]:
        """As a fleet answers it."""
        keys = ("LaunchTemplateId", "LaunchTemplateName")
        specification = {**{key: self.template[key] for key in keys}, "Version": str(self.template["VersionNumber"])}
        overrides = {"LaunchTemplateSpecification": specification, "Overrides": self.override}
        return {"LaunchTemplateAndOverrides": overrides, "Lifecycle": self.market}


def check_references(account: Account, plan: LaunchPlan) -> None:
    """What the plan names must exist and fit together; a dry run looks at this much too."""
    data = plan.data
    publish(account)
    profile = (data.get("IamInstanceProfile") or {}).get("Name")
    if profile:
        try:
            account.call("iam", "GetInstanceProfile", InstanceProfileName=profile)
        except AwsError as error:
            message = f"Value ({profile}) for parameter iamInstanceProfile.name is invalid."
            raise GapError("InvalidParameterValue", f"{message} Invalid IAM Instance Profile name") from error
    images = account.call("ec2", "DescribeImages", Filters=[{"Name": "image-id", "Values": [data.get("ImageId", "")]}])
    if not images["Images"]:
        raise GapError("InvalidAMIID.NotFound", f"The image id '[{data.get('ImageId')}]' does not exist")
    group_of(account, data)
    subnet = subnet_of(account, plan)
    groups = account.call("ec2", "DescribeSecurityGroups", Filters=[{"Name": "group-id", "Values": plan.groups}])
    known = {each["GroupId"]: each["VpcId"] for each in groups["SecurityGroups"]}
    for group in plan.groups:
        if group not in known:
            raise GapError("InvalidGroup.NotFound", f"The security group '{group}' does not exist")
        if known[group] != subnet["VpcId"]:
            message = f"Security group {group} and subnet {subnet['SubnetId']} belong to different networks."
            raise GapError("InvalidParameter", message)


def check_capacity(request: GapRequest, plan: LaunchPlan) -> None:
    """Whether there is room for one more, for the caller."""
    account, kind = request.account, str(plan.data.get("InstanceType"))
    subnet = subnet_of(account, plan)
    zone = str(subnet["AvailabilityZone"])
    if not offered_in(account, kind, zone):
        message = (
            f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone})."
        )
        raise GapError("Unsupported", message)
    if int(subnet["AvailableIpAddressCount"]) < 1:
        message = f"There are not enough free addresses in subnet '{subnet['SubnetId']}' to satisfy the request."
        raise GapError("InsufficientFreeAddressesInSubnet", message)
    if plan.market == "spot":
        _require_spot_role(request)
        _require_keys_of_spot(account, plan)
    if plan.reservation:
        _check_reservation(account, plan.reservation, kind, zone)
    elif account.supply.is_dry(zone, kind, plan.market):
        raise GapError("InsufficientInstanceCapacity", _no_capacity(plan.market, kind, zone))


def _start_instance(account: Account, plan: LaunchPlan, fleet: str) -> str:
    """Start it; the instance's id."""
    data = plan.data
    user_data = data.get("UserData")
    subnet = subnet_of(account, plan)
    answer = account.call(
        "ec2",
        "RunInstances",
        MinCount=1,
        MaxCount=1,
        ImageId=data["ImageId"],
        InstanceType=data["InstanceType"],
        SubnetId=subnet["SubnetId"],
        SecurityGroupIds=plan.groups or None,
        IamInstanceProfile=data.get("IamInstanceProfile"),
        # The client encodes it again.
        UserData=base64.b64decode(user_data).decode() if user_data else None,
        BlockDeviceMappings=data.get("BlockDeviceMappings"),
        MetadataOptions=_known_options(data.get("MetadataOptions")),
        Monitoring=data.get("Monitoring"),
        InstanceMarketOptions={"MarketType": "spot"} if plan.market == "spot" else None,
        TagSpecifications=[each for each in data.get("TagSpecifications") or () if each.get("Tags")] or None,
    )
    id = str(answer["Instances"][0]["InstanceId"])
    _add_what_moto_lacks(account, plan, id, fleet, subnet)
    return id


def subnet_of(account: Account, plan: LaunchPlan) -> Mapping[str, Any]:
    """The plan's subnet; EC2's error if it does not exist."""
    id = plan.data.get("SubnetId")
    if not id:
        interfaces = plan.data.get("NetworkInterfaces") or ({},)
        id = interfaces[0].get("SubnetId")
    subnets = account.call("ec2", "DescribeSubnets", Filters=[{"Name": "subnet-id", "Values": [str(id)]}])["Subnets"]
    if not subnets:
        raise GapError("InvalidSubnetID.NotFound", f"The subnet ID '{id}' does not exist")
    return subnets[0]


def _require_spot_role(request: GapRequest) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html."""
    account = request.account
    try:
        account.call("iam", "GetRole", RoleName=SPOT_ROLE)
    except AwsError:
        arn = account.arn("iam", f"role/aws-service-role/{_SPOT_SERVICE}/{SPOT_ROLE}", everywhere=True)
        right = needs.Right("iam:CreateServiceLinkedRole", arn, {"iam:AWSServiceName": _SPOT_SERVICE})
        if request.refusal([right]):
            message = "The provided credentials do not have permission to create the service-linked role for"
            code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
            raise GapError(code, f"{message} EC2 Spot Instances.") from None
        account.call("iam", "CreateServiceLinkedRole", AWSServiceName=_SPOT_SERVICE)


def _require_keys_of_spot(account: Account, plan: LaunchPlan) -> None:
    """EC2 starts spot machines with the account's service-linked role, which needs a grant on a customer's key:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html.

    Of ``instant`` fleets, which start with their caller's rights, nobody says whether that is so: Karpenter's guide
    (https://karpenter.sh/v1.14/troubleshooting/#node-terminates-before-ready-on-failed-encrypted-ebs-volume) names the
    caller's rights alone. Here both are asked for.
    """
    for key in needs.disk_keys(plan.data):
        if not may_use(account, key, f"/{SPOT_ROLE}", TO_START):
            message = (
                "Instance launch failed because an EBS volume cannot be encrypted. If your launch specification "
                f"includes an encrypted EBS volume, you must grant the {SPOT_ROLE} service-linked role access to any "
                "custom KMS keys."
            )
            raise GapError("InvalidParameter", message)


def _check_reservation(account: Account, id: str, kind: str, zone: str) -> None:
    reservation = account.supply.reservation(id)
    if reservation is None:
        message = f"The capacity reservation ID '{id}' does not exist"
        raise GapError("InvalidCapacityReservationId.NotFound", message)
    if (reservation.instance_type, reservation.zone) != (kind, zone) or reads.free(account, reservation) < 1:
        message = (
            "The requested reservation does not have sufficient compatible and available capacity for this request."
        )
        raise GapError("ReservationCapacityExceeded", message)


def _no_capacity(market: Market, kind: str, zone: str) -> str:
    if market == "spot":
        return "There is no Spot capacity available that matches your request."
    return (
        f"We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}). "
        "Our system will be working on provisioning additional capacity."
    )


def _add_what_moto_lacks(account: Account, plan: LaunchPlan, id: str, fleet: str, subnet: Mapping[str, Any]) -> None:
    """moto answers these with its instances' attributes, once they have them."""
    from moto.ec2.models import ec2_backends

    instance: Any = ec2_backends[account.id][account.region].get_instance(id)
    instance.add_tags({"aws:ec2:fleet-id": fleet})
    if plan.template:
        template = {"id": plan.template["LaunchTemplateId"], "version": plan.template["VersionNumber"]}
        instance.add_tags({f"aws:ec2launchtemplate:{key}": str(value) for key, value in template.items()})
    instance.placement.availability_zone_id = subnet["AvailabilityZoneId"]
    if group := group_of(account, plan.data):
        account.supply.placed[id] = group
    if plan.market == "spot":
        instance.spot_instance_request_id = f"sir-{uuid.uuid4().hex[:8]}"
    if plan.reservation:
        instance.capacity_reservation_id = plan.reservation
        instance.capacity_reservation_specification = plan.data["CapacityReservationSpecification"]


def _known_options(options: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {key: value for key, value in options.items() if key != "State"} if options else None


_REPLACES: Final = ("ImageId", "InstanceType", "SubnetId")


def create_fleet(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:CreateFleet`` of type ``instant``: the cheapest that there is room for, and what was in others' way."""
    params = request.params
    if params.get("Type") != "instant":
        return None
    target = params.get("TargetCapacitySpecification") or {}
    market: Market = "spot" if target.get("DefaultTargetCapacityType") == "spot" else "on-demand"
    plans = _in_order(request.account, list(_plans(request, market)))
    if params.get("DryRun"):
        raise DRY_RUN
    fleet = f"fleet-{uuid.uuid4()}"
    started: dict[int, list[str]] = {}
    errors: dict[int, GapError] = {}
    for _ in range(int(target.get("TotalTargetCapacity") or 0)):
        for place, plan in enumerate(plans):
            if place in errors:
                continue
            try:
                started.setdefault(place, []).append(_start(request, plan, fleet))
                break
            except GapError as error:
                errors[place] = error
    return {
        "FleetId": fleet,
        "Instances": [
            {**plans[place].described(), "InstanceIds": ids, "InstanceType": plans[place].data["InstanceType"]}
            for place, ids in started.items()
            if ids
        ],
        "Errors": [
            {**plans[place].described(), "ErrorCode": error.code, "ErrorMessage": error.message}
            for place, error in errors.items()
        ],
    }


def run_instances(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:RunInstances`` as a dry run: what it names must exist."""
    if not request.params.get("DryRun"):
        return None
    template = _template(request.account, request.params.get("LaunchTemplate") or {})
    own = {key: value for key, value in request.params.items() if value}
    plan = LaunchPlan(template, {**(template.get("LaunchTemplateData") or {}), **own}, "on-demand")
    check_references(request.account, plan)
    raise DRY_RUN


def _plans(request: GapRequest, market: Market) -> Iterator[LaunchPlan]:
    tags = [each for each in request.params.get("TagSpecifications") or () if each.get("ResourceType") != "fleet"]
    for config in request.params.get("LaunchTemplateConfigs") or ():
        template = _template(request.account, config.get("LaunchTemplateSpecification") or {})
        data = template["LaunchTemplateData"]
        merged = {**data, "TagSpecifications": _joined([*(data.get("TagSpecifications") or ()), *tags])}
        for override in config.get("Overrides") or ({},):
            replaced = {key: override[key] for key in _REPLACES if override.get(key)}
            yield LaunchPlan(template, {**merged, **replaced}, market, override)


def _template(account: Account, specification: Mapping[str, Any]) -> Mapping[str, Any]:
    template = needs.launch_template(account, specification)
    if specification and not template:
        by_name = bool(specification.get("LaunchTemplateName"))
        code = f"InvalidLaunchTemplate{'Name.NotFoundException' if by_name else 'Id.NotFound'}"
        raise GapError(code, "At least one of the launch templates specified in the request does not exist.")
    return template


def _start(request: GapRequest, plan: LaunchPlan, fleet: str) -> str:
    refused = request.refusal(needs.launch(request, plan.template, plan.data, spot=plan.market == "spot"))
    if refused:
        raise GapError("UnauthorizedOperation", refused)
    check_references(request.account, plan)
    check_capacity(request, plan)
    return _start_instance(request.account, plan, fleet)


def _in_order(account: Account, plans: list[LaunchPlan]) -> list[LaunchPlan]:
    """Cheapest first: by the catalogue's price, else by what the request says that it reckons with."""

    def price(plan: LaunchPlan) -> float:
        machine = account.catalog.machines.get(str(plan.data.get("InstanceType")))
        for spot in (plan.market == "spot", False):
            rate = machine and account.catalog.prices.machine(account.region, machine, spot=spot)
            if rate:
                return rate.usd
        return float(plan.override.get("Priority") or "inf")

    return sorted(plans, key=price)


def _joined(specifications: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One specification for each type of resource; where two set a tag, the later one does."""
    merged: dict[str, dict[str, str]] = {}
    for each in specifications:
        tags = {tag["Key"]: tag.get("Value") or "" for tag in each.get("Tags") or ()}
        merged.setdefault(str(each["ResourceType"]), {}).update(tags)
    return [
        {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        for kind, tags in merged.items()
    ]
