"""VPCs, subnets, the gateways between them and the internet, routes, endpoints and security groups."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, items
from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.request import pairs, parameters, part
from rehearsal.providers.eks.row import TABLE, refused
from rehearsal.providers.resource import Pending

VPC: Final = "aws:ec2/vpc:Vpc"
SUBNET: Final = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY: Final = "aws:ec2/internetGateway:InternetGateway"
ADDRESS: Final = "aws:ec2/eip:Eip"
NAT_GATEWAY: Final = "aws:ec2/natGateway:NatGateway"
ROUTE_TARGETS: Final = (
    "coreNetworkArn",
    "egressOnlyGatewayId",
    "gatewayId",
    "localGatewayId",
    "natGatewayId",
    "networkInterfaceId",
    "transitGatewayId",
    "vpcEndpointId",
    "vpcPeeringConnectionId",
)
ROUTE_TABLE: Final = "aws:ec2/routeTable:RouteTable"
SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
ASSOCIATION: Final = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT: Final = "aws:ec2/vpcEndpoint:VpcEndpoint"
CLUSTER: Final = "aws:eks/cluster:Cluster"


@TABLE.check("subnet", "subnet-zone")
def _zone(inputs: Properties, account: Account) -> str | None:
    zone = inputs.get("availabilityZone")
    zones = account.catalog.regions.get(account.region)
    if zone is None or zones is None or zone in zones:
        return None
    return (
        f"InvalidParameterValue: Value ({zone}) for parameter availabilityZone is invalid. "
        f"Subnets can currently only be created in the following availability zones: {', '.join(zones)}."
    )


@TABLE.check("route", "route-target")
def _target(inputs: Properties, account: Account) -> str | None:
    if sum(bool(inputs.get(key)) for key in ROUTE_TARGETS) == 1:
        return None
    return f"InvalidParameterCombination: A route needs exactly one target of {', '.join(ROUTE_TARGETS)}."


def _vpc(account: Account, id: str, inputs: Properties) -> Properties:
    account.call("ec2", "DescribeVpcs", VpcIds=[id])
    mine = [{"Name": "vpc-id", "Values": [id]}]
    main = [*mine, {"Name": "association.main", "Values": ["true"]}]
    table = account.call("ec2", "DescribeRouteTables", Filters=main)["RouteTables"][0]["RouteTableId"]
    acls = account.call("ec2", "DescribeNetworkAcls", Filters=[*mine, {"Name": "default", "Values": ["true"]}])
    acl = acls["NetworkAcls"][0]["NetworkAclId"]
    return {"table": table, "acl": acl, "group": default_security_group(account, id)}


# The conditions are those of ``CustomizeDiff`` in vpc_.go, vpc_nat_gateway.go and vpc_endpoint.go of
# https://github.com/hashicorp/terraform-provider-aws/tree/main/internal/service/ec2.


def _has_other_hardware(before: Properties, after: Properties) -> bool:
    """Dedicated machines can be given up alone."""
    return (before.get("instanceTenancy"), after.get("instanceTenancy")) != ("dedicated", "default")


def _is_private(before: Properties, after: Properties) -> bool:
    return after.get("connectivityType") == "private"


def _is_no_interface(before: Properties, after: Properties) -> bool:
    return after.get("vpcEndpointType") != "Interface"


def _set_tenancy(account: Account, id: str, old: Properties, new: Properties) -> None:
    if old.get("instanceTenancy") == "dedicated" != new["instanceTenancy"]:
        account.call("ec2", "ModifyVpcTenancy", VpcId=id, InstanceTenancy=new["instanceTenancy"])


def _without_addresses(account: Account, gateway: Record) -> None:
    vpc = gateway.inputs.get("vpcId")
    for other in account.store.all(NAT_GATEWAY):
        if other.inputs.get("allocationId") and subnet(account, other.inputs["subnetId"])["VpcId"] == vpc:
            reason = f"Network {vpc} has some mapped public address(es). Please unmap those public address(es)."
            raise refused(INTERNET_GATEWAY, "DependencyViolation", reason, "DeleteInternetGateway")


def _public_name(pending: Pending[Account]) -> str:
    return f"ec2-{pending.answer['PublicIp'].replace('.', '-')}.{pending.cloud.region}.compute.amazonaws.com"


def _needs_internet(pending: Pending[Account]) -> None:
    if pending.before is not None:
        return
    vpc = subnet(pending.cloud, pending.inputs["subnetId"])["VpcId"]
    attached = [{"Name": "attachment.vpc-id", "Values": [vpc]}]
    public = pending.inputs.get("connectivityType") == "public"
    if public and not pending.cloud.call("ec2", "DescribeInternetGateways", Filters=attached)["InternetGateways"]:
        raise refused(NAT_GATEWAY, "Gateway.NotAttached", f"Network {vpc} has no Internet gateway attached")


def _remove_nat(account: Account, id: str, inputs: Properties) -> None:
    """Its address is free again: https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html."""
    account.call("ec2", "DeleteNatGateway", NatGatewayId=id)
    if address := inputs.get("allocationId"):
        (described,) = account.call("ec2", "DescribeAddresses", AllocationIds=[address])["Addresses"]
        if described.get("AssociationId"):
            account.call("ec2", "DisassociateAddress", AssociationId=described["AssociationId"])


def subnet(account: Account, id: str) -> dict[str, Any]:
    """A subnet as EC2 describes it; AWS's error if it does not exist."""
    return subnets(account, [id])[0]


def subnets(account: Account, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Subnets as EC2 describes them; AWS's error if one is missing."""
    return account.call("ec2", "DescribeSubnets", SubnetIds=sorted(set(ids)))["Subnets"]


def default_security_group(account: Account, vpc: str) -> str:
    """The id of the security group that comes with a VPC."""
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": ["default"]}]
    groups = account.call("ec2", "DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
    return str(groups[0]["GroupId"])


ROUTE: Final = "aws:ec2/route:Route"
_DESTINATIONS: Final = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


@TABLE.check("vpc-endpoint", "endpoint-region")
def _service(inputs: Properties, account: Account) -> str | None:
    region = inputs.get("serviceRegion") or account.region
    if inputs["serviceName"].startswith(f"com.amazonaws.{region}."):
        return None
    return f"InvalidServiceName: The Vpc Endpoint Service '{inputs['serviceName']}' does not exist"


def _set_routes(account: Account, id: str, old: Properties, new: Properties) -> None:
    """Inline routes are routes of their own."""
    before, after = old.get("routes") or [], new.get("routes") or []
    for route in (route for route in before if route not in after):
        account.call("ec2", "DeleteRoute", RouteTableId=id, DestinationCidrBlock=route["cidrBlock"])
    for route in (route for route in after if route not in before):
        account.call("ec2", "CreateRoute", RouteTableId=id, **part(ROUTE_TABLE, "routes", route))


def _make_route(pending: Pending[Account]) -> str:
    inputs, destination = pending.inputs, _destination(pending.inputs)
    if _route(pending.cloud, "", inputs):
        raise refused(ROUTE, "RouteAlreadyExists", f"The route identified by {destination} already exists.")
    pending.cloud.call("ec2", "CreateRoute", **parameters(ROUTE, inputs))
    return f"r-{inputs['routeTableId']}{zlib.crc32(destination.encode())}"


def _route(account: Account, id: str, inputs: Properties) -> dict[str, Any] | None:
    tables = account.call("ec2", "DescribeRouteTables", RouteTableIds=[inputs["routeTableId"]])["RouteTables"]
    destination = _destination(inputs)
    return next((route for route in tables[0]["Routes"] if destination in route.values()), None)


def _remove_route(account: Account, id: str, inputs: Properties) -> None:
    keys = ("routeTableId", *_DESTINATIONS)
    account.call("ec2", "DeleteRoute", **{key[0].upper() + key[1:]: inputs[key] for key in keys if inputs.get(key)})


def _not_associated(pending: Pending[Account]) -> None:
    if pending.before is None and _association(pending.cloud, pending.id, pending.inputs):
        what = pending.inputs.get("subnetId") or pending.inputs.get("gatewayId")
        raise refused(ASSOCIATION, "Resource.AlreadyAssociated", f"{what} already has an associated route table")


def _association(account: Account, id: str, inputs: Properties) -> dict[str, Any] | None:
    """The association, whose present id changes with the table."""
    key = "SubnetId" if inputs.get("subnetId") else "GatewayId"
    target = inputs.get("subnetId") or inputs.get("gatewayId")
    tables = account.call("ec2", "DescribeRouteTables")["RouteTables"]
    every = ({"table": table["RouteTableId"], **each} for table in tables for each in table["Associations"])
    return next((each for each in every if each.get(key) == target), None)


def _associate_anew(account: Account, id: str, old: Properties, new: Properties) -> None:
    current = _association(account, id, old)
    if current:
        association, table = current["RouteTableAssociationId"], new["routeTableId"]
        account.call("ec2", "ReplaceRouteTableAssociation", AssociationId=association, RouteTableId=table)


def _disassociate(account: Account, id: str, inputs: Properties) -> None:
    association = _association(account, id, inputs)
    if association:
        account.call("ec2", "DisassociateRouteTable", AssociationId=association["RouteTableAssociationId"])


def _endpoint_refers(pending: Pending[Account]) -> None:
    pending.cloud.call("ec2", "DescribeVpcs", VpcIds=[pending.inputs["vpcId"]])
    if pending.inputs.get("securityGroupIds"):
        pending.cloud.call("ec2", "DescribeSecurityGroups", GroupIds=pending.inputs["securityGroupIds"])


def _dns_entries(pending: Pending[Account]) -> list[dict[str, str]]:
    entries = pending.answer.get("DnsEntries") or []
    return [{"dnsName": each.get("DnsName", ""), "hostedZoneId": each.get("HostedZoneId", "")} for each in entries]


def _change_endpoint(account: Account, id: str, old: Properties, new: Properties) -> None:
    params: dict[str, Any] = {"PolicyDocument": new.get("policy")}
    for key in ("routeTableIds", "subnetIds", "securityGroupIds"):
        noun = key[0].upper() + key[1:]
        before, after = set(old.get(key) or []), set(new.get(key) or [])
        params[f"Add{noun}"] = sorted(after - before) or None
        params[f"Remove{noun}"] = sorted(before - after) or None
    account.call("ec2", "ModifyVpcEndpoint", VpcEndpointId=id, **params)


def _destination(inputs: Properties) -> str:
    return next(str(inputs[key]) for key in _DESTINATIONS if inputs.get(key))


DEFAULT_GROUP: Final = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
_DIRECTIONS: Final = (("ingress", "Ingress", "IpPermissions"), ("egress", "Egress", "IpPermissionsEgress"))


def _adopt(pending: Pending[Account]) -> str:
    """Take over a VPC's own group."""
    account, inputs = pending.cloud, pending.inputs
    vpc = inputs.get("vpcId")
    if not vpc:
        default = account.call("ec2", "DescribeVpcs", Filters=[{"Name": "is-default", "Values": ["true"]}])
        vpc = default["Vpcs"][0]["VpcId"]
    account.call("ec2", "DescribeVpcs", VpcIds=[vpc])
    id = default_security_group(account, vpc)
    if inputs.get("tags"):
        account.call("ec2", "CreateTags", Resources=[id], Tags=pairs(inputs["tags"]))
    return id


def _in_vpc(pending: Pending[Account]) -> None:
    # moto makes a group in a network that does not exist.
    if pending.before is None and pending.inputs.get("vpcId"):
        pending.cloud.call("ec2", "DescribeVpcs", VpcIds=[pending.inputs["vpcId"]])


def _set_rules(account: Account, group: str, old: Properties, new: Properties) -> None:
    """Give the group exactly the inline rules of ``new``."""
    group_record = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group])["SecurityGroups"][0]
    for key, verb, live in _DIRECTIONS:
        if group_record.get(live):
            account.call("ec2", f"RevokeSecurityGroup{verb}", GroupId=group, IpPermissions=group_record[live])
        permissions = [_permission(rule, group) for rule in new.get(key) or []]
        if permissions:
            account.call("ec2", f"AuthorizeSecurityGroup{verb}", GroupId=group, IpPermissions=permissions)


def _permission(rule: Properties, group: str) -> dict[str, Any]:
    described = {"Description": rule["description"]} if rule.get("description") else {}
    groups = [*(rule.get("securityGroups") or []), *([group] if rule.get("self") else [])]
    permission: dict[str, Any] = {
        "IpProtocol": "-1" if rule["protocol"] == "all" else rule["protocol"],
        "IpRanges": [{"CidrIp": block, **described} for block in rule.get("cidrBlocks") or []],
        "Ipv6Ranges": [{"CidrIpv6": block, **described} for block in rule.get("ipv6CidrBlocks") or []],
        "PrefixListIds": [{"PrefixListId": id, **described} for id in rule.get("prefixListIds") or []],
        "UserIdGroupPairs": [{"GroupId": id, **described} for id in groups],
    }
    if permission["IpProtocol"] != "-1":
        permission |= {"FromPort": int(rule["fromPort"]), "ToPort": int(rule["toPort"])}
    return permission


def _wrong_ports(inputs: Properties) -> Iterator[CheckFailure]:
    for direction, _, _ in _DIRECTIONS:
        for index, each in enumerate(items(inputs.get(direction))):
            if not isinstance(each, dict) or each.get("protocol") not in ("-1", "all"):
                continue
            if any(each.get(key) not in (None, 0, UNKNOWN) for key in ("fromPort", "toPort")):
                yield CheckFailure(f"{direction}[{index}]", "all protocols (-1) need fromPort and toPort 0")


ROWS: Final = (
    TABLE.row(VPC, describe=_vpc, change=_set_tenancy, replaces_if={"instanceTenancy": _has_other_hardware}),
    TABLE.row(INTERNET_GATEWAY, require_deletable=_without_addresses),
    TABLE.row(ADDRESS, outputs={"publicDns": _public_name}),
    TABLE.row(
        NAT_GATEWAY,
        requires=_needs_internet,
        remove=_remove_nat,
        replaces_if={"secondaryPrivateIpAddressCount": _is_private},
    ),
    TABLE.row(ROUTE_TABLE, change=_set_routes),
    TABLE.row(ROUTE, make=_make_route, describe=_route, remove=_remove_route),
    TABLE.row(
        ASSOCIATION, describe=_association, change=_associate_anew, remove=_disassociate, requires=_not_associated
    ),
    TABLE.row(
        ENDPOINT,
        change=_change_endpoint,
        outputs={"dnsEntries": _dns_entries},
        requires=_endpoint_refers,
        replaces_if={"privateDnsEnabled": _is_no_interface},
    ),
    TABLE.row(SECURITY_GROUP, change=_set_rules, requires=_in_vpc, wrong=_wrong_ports),
    TABLE.row(DEFAULT_GROUP, make=_adopt, change=_set_rules, wrong=_wrong_ports),
)
