"""VPCs, subnets, and the gateways between them and the internet."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.row import Row, asks, from_answer, refused, sends
from rehearsal.providers.resource import Pending, Reference
from rehearsal.providers.rules import RuleBook
from rehearsal.providers.store import Record

VPC: Final = "aws:ec2/vpc:Vpc"
SUBNET: Final = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY: Final = "aws:ec2/internetGateway:InternetGateway"
ADDRESS: Final = "aws:ec2/eip:Eip"
NAT_GATEWAY: Final = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE: Final = "aws:ec2/routeTable:RouteTable"
SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
ASSOCIATION: Final = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT: Final = "aws:ec2/vpcEndpoint:VpcEndpoint"
CLUSTER: Final = "aws:eks/cluster:Cluster"

EC2_ARN: Final = "arn:{partition}:ec2:{region}:{account}:"
_RANGES: Final = "https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"
VPC_RULES: Final = RuleBook[Account]()
SUBNET_RULES: Final = RuleBook[Account]()
NAT_RULES: Final = RuleBook[Account]()


@VPC_RULES.add("vpc-range", "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html", "cidrBlock")
@SUBNET_RULES.add("subnet-range", _RANGES, "cidrBlock")
def _range(inputs: Properties, account: Account) -> str | None:
    text = inputs.get("cidrBlock")
    if text is None:
        return None
    try:
        size = ipaddress.ip_network(text).prefixlen
    except ValueError as error:
        return f"InvalidParameterValue: Value ({text}) for parameter cidrBlock is invalid. {error}"
    if not 16 <= size <= 28:
        return f"InvalidVpc.Range: The CIDR '{text}' is invalid: AWS allows /16 to /28."
    return None


@SUBNET_RULES.add(
    "subnet-zone", "https://docs.aws.amazon.com/vpc/latest/userguide/create-subnets.html", "availabilityZone"
)
def _zone(inputs: Properties, account: Account) -> str | None:
    zone = inputs.get("availabilityZone")
    zones = account.catalog.regions.get(account.region)
    if zone is None or zones is None or zone in zones:
        return None
    return (
        f"InvalidParameterValue: Value ({zone}) for parameter availabilityZone is invalid. "
        f"Subnets can currently only be created in the following availability zones: {', '.join(zones)}."
    )


@NAT_RULES.add(
    "nat-address", "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html", "allocationId"
)
def _address(inputs: Properties, account: Account) -> str | None:
    if inputs.get("connectivityType") == "public" and not inputs.get("allocationId"):
        return "MissingParameter: A public NAT gateway must have an elastic IP address: give allocationId."
    return None


def _vpc(account: Account, id: str, inputs: Properties) -> Properties:
    account.call("ec2", "DescribeVpcs", VpcIds=[id])
    mine = [{"Name": "vpc-id", "Values": [id]}]
    main = [*mine, {"Name": "association.main", "Values": ["true"]}]
    table = account.call("ec2", "DescribeRouteTables", Filters=main)["RouteTables"][0]["RouteTableId"]
    acls = account.call("ec2", "DescribeNetworkAcls", Filters=[*mine, {"Name": "default", "Values": ["true"]}])
    acl = acls["NetworkAcls"][0]["NetworkAclId"]
    return {"table": table, "acl": acl, "group": default_security_group(account, id)}


def _vpc_attributes(account: Account, id: str, old: Properties, new: Properties) -> None:
    # One attribute a request, and names only after support, as AWS demands.
    for key in ("enableDnsSupport", "enableDnsHostnames", "enableNetworkAddressUsageMetrics"):
        if bool(new.get(key)) != bool(old.get(key)):
            attribute = {key[0].upper() + key[1:]: {"Value": bool(new.get(key))}}
            account.call("ec2", "ModifyVpcAttribute", VpcId=id, **attribute)


def _subnet_attributes(account: Account, id: str, old: Properties, new: Properties) -> None:
    public = bool(new.get("mapPublicIpOnLaunch"))
    if public != bool(old.get("mapPublicIpOnLaunch")):
        account.call("ec2", "ModifySubnetAttribute", SubnetId=id, MapPublicIpOnLaunch={"Value": public})


def _attach(account: Account, id: str, old: Properties, new: Properties) -> None:
    before, after = old.get("vpcId"), new.get("vpcId")
    if before and before != after:
        account.call("ec2", "DetachInternetGateway", InternetGatewayId=id, VpcId=before)
    if after and before != after:
        account.call("ec2", "AttachInternetGateway", InternetGatewayId=id, VpcId=after)


def _remove_internet(account: Account, id: str, inputs: Properties) -> None:
    _attach(account, id, inputs, {})
    account.call("ec2", "DeleteInternetGateway", InternetGatewayId=id)


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


def _nat(account: Account, id: str, inputs: Properties) -> Properties | None:
    gateways = account.call("ec2", "DescribeNatGateways", NatGatewayIds=[id])["NatGateways"]
    if not gateways or gateways[0]["State"] in ("deleted", "deleting"):
        return None
    addresses: list[Properties] = gateways[0].get("NatGatewayAddresses") or [{}]
    return addresses[0]


def subnet(account: Account, id: str) -> dict[str, Any]:
    """A subnet as EC2 describes it; AWS's error if it does not exist."""
    return subnets(account, [id])[0]


def subnets(account: Account, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Subnets as EC2 describes them; AWS's error if one is missing."""
    described: list[dict[str, Any]] = account.call("ec2", "DescribeSubnets", SubnetIds=sorted(set(ids)))["Subnets"]
    return described


def default_security_group(account: Account, vpc: str) -> str:
    """The id of the security group that comes with a VPC."""
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": ["default"]}]
    groups = account.call("ec2", "DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
    return str(groups[0]["GroupId"])


ROWS: Final = (
    Row(
        token=VPC,
        answer="Vpc.VpcId",
        describe=_vpc,
        change=_vpc_attributes,
        completes_with_change=True,
        remove=sends("ec2:DeleteVpc", VpcId="{id}"),
        outputs={
            "arn": EC2_ARN + "vpc/{id}",
            "defaultNetworkAclId": from_answer("acl"),
            "defaultRouteTableId": from_answer("table"),
            "defaultSecurityGroupId": from_answer("group"),
            "mainRouteTableId": from_answer("table"),
            "ownerId": "{account}",
        },
        required=("cidrBlock",),
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        rules=VPC_RULES.rules,
        replaces=("cidrBlock", "instanceTenancy"),
        tagged="vpc",
    ),
    Row(
        token=SUBNET,
        answer="Subnet.SubnetId",
        describe=asks("ec2:DescribeSubnets", "Subnets", SubnetIds=["{id}"]),
        change=_subnet_attributes,
        completes_with_change=True,
        remove=sends("ec2:DeleteSubnet", SubnetId="{id}"),
        outputs={
            "arn": EC2_ARN + "subnet/{id}",
            "availabilityZone": from_answer("AvailabilityZone"),
            "ownerId": "{account}",
        },
        unknown=("availabilityZone",),
        required=("cidrBlock",),
        rules=SUBNET_RULES.rules,
        references={"vpcId": Reference(VPC)},
        replaces=("vpcId", "cidrBlock", "availabilityZone"),
        tagged="subnet",
    ),
    Row(
        token=INTERNET_GATEWAY,
        answer="InternetGateway.InternetGatewayId",
        describe=asks("ec2:DescribeInternetGateways", "InternetGateways", InternetGatewayIds=["{id}"]),
        change=_attach,
        completes_with_change=True,
        remove=_remove_internet,
        outputs={"arn": EC2_ARN + "internet-gateway/{id}", "ownerId": "{account}"},
        references={"vpcId": Reference(VPC)},
        require_deletable=_without_addresses,
        tagged="internet-gateway",
    ),
    Row(
        token=ADDRESS,
        answer="AllocationId",
        describe=asks("ec2:DescribeAddresses", "Addresses", AllocationIds=["{id}"]),
        remove=sends("ec2:ReleaseAddress", AllocationId="{id}"),
        outputs={
            "allocationId": "{id}",
            "arn": EC2_ARN + "elastic-ip/{id}",
            "associationId": from_answer("AssociationId", ""),
            "publicIp": from_answer("PublicIp"),
            "publicDns": _public_name,
        },
        defaults={"domain": "vpc"},
        replaces=("domain", "address", "networkBorderGroup", "publicIpv4Pool"),
        tagged="elastic-ip",
    ),
    Row(
        token=NAT_GATEWAY,
        answer="NatGateway.NatGatewayId",
        describe=_nat,
        remove=sends("ec2:DeleteNatGateway", NatGatewayId="{id}"),
        outputs={
            "associationId": from_answer("AssociationId", ""),
            "networkInterfaceId": from_answer("NetworkInterfaceId", ""),
            "privateIp": from_answer("PrivateIp", ""),
            "publicIp": from_answer("PublicIp", ""),
        },
        unknown=("privateIp",),
        required=("subnetId",),
        defaults={"connectivityType": "public"},
        rules=NAT_RULES.rules,
        references={"subnetId": Reference(SUBNET), "allocationId": Reference(ADDRESS)},
        requires=_needs_internet,
        replaces=("subnetId", "allocationId", "connectivityType", "privateIp"),
        tagged="natgateway",
    ),
)
