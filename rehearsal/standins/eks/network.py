"""VPCs, subnets, and the gateways between them and the internet."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.rules import RuleBook
from rehearsal.standins.store import Record

SUBNET: Final = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY: Final = "aws:ec2/internetGateway:InternetGateway"
NAT_GATEWAY: Final = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE: Final = "aws:ec2/routeTable:RouteTable"
SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
ENDPOINT: Final = "aws:ec2/vpcEndpoint:VpcEndpoint"
CLUSTER: Final = "aws:eks/cluster:Cluster"

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


class VpcKind(Kind):
    """``aws:ec2/vpc:Vpc``."""

    token = "aws:ec2/vpc:Vpc"
    shape = Shape(
        service="ec2",
        operation="CreateVpc",
        local=("enableDnsHostnames", "enableDnsSupport", "enableNetworkAddressUsageMetrics"),
        required=("cidrBlock",),
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        replaces=("cidrBlock", "instanceTenancy"),
        tags="specifications",
        tagged="vpc",
    )
    rules = VPC_RULES.rules
    computed = (
        "arn",
        "defaultNetworkAclId",
        "defaultRouteTableId",
        "defaultSecurityGroupId",
        "mainRouteTableId",
        "ownerId",
    )
    users = (SUBNET, INTERNET_GATEWAY, SECURITY_GROUP, ENDPOINT, ROUTE_TABLE)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        id: str = account.call("ec2", "CreateVpc", **params)["Vpc"]["VpcId"]
        self.change(account, id, {}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        account.call("ec2", "DescribeVpcs", VpcIds=[id])
        mine = [{"Name": "vpc-id", "Values": [id]}]
        main = [*mine, {"Name": "association.main", "Values": ["true"]}]
        table = account.call("ec2", "DescribeRouteTables", Filters=main)["RouteTables"][0]["RouteTableId"]
        acls = account.call("ec2", "DescribeNetworkAcls", Filters=[*mine, {"Name": "default", "Values": ["true"]}])
        return {
            "arn": account.arn("ec2", f"vpc/{id}"),
            "defaultNetworkAclId": acls["NetworkAcls"][0]["NetworkAclId"],
            "defaultRouteTableId": table,
            "defaultSecurityGroupId": default_security_group(account, id),
            "mainRouteTableId": table,
            "ownerId": account.id,
        }

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        # One attribute a request, and names only after support, as AWS demands.
        for key in ("enableDnsSupport", "enableDnsHostnames", "enableNetworkAddressUsageMetrics"):
            if bool(new.get(key)) != bool(old.get(key)):
                attribute = {key[0].upper() + key[1:]: {"Value": bool(new.get(key))}}
                account.call("ec2", "ModifyVpcAttribute", VpcId=id, **attribute)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteVpc", VpcId=id)


class SubnetKind(Kind):
    """``aws:ec2/subnet:Subnet``."""

    token = SUBNET
    shape = Shape(
        service="ec2",
        operation="CreateSubnet",
        local=("mapPublicIpOnLaunch",),
        required=("vpcId", "cidrBlock"),
        replaces=("vpcId", "cidrBlock", "availabilityZone"),
        tags="specifications",
        tagged="subnet",
    )
    rules = SUBNET_RULES.rules
    computed = ("arn", "ownerId")
    users = (NAT_GATEWAY, ENDPOINT, CLUSTER, "aws:eks/nodeGroup:NodeGroup")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        id: str = account.call("ec2", "CreateSubnet", **params)["Subnet"]["SubnetId"]
        self.change(account, id, {}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = subnet(account, id)
        return {
            "arn": account.arn("ec2", f"subnet/{id}"),
            "availabilityZone": found["AvailabilityZone"],
            "ownerId": account.id,
        }

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        public = bool(new.get("mapPublicIpOnLaunch"))
        if public != bool(old.get("mapPublicIpOnLaunch")):
            account.call("ec2", "ModifySubnetAttribute", SubnetId=id, MapPublicIpOnLaunch={"Value": public})

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteSubnet", SubnetId=id)


class InternetGatewayKind(Kind):
    """``aws:ec2/internetGateway:InternetGateway``."""

    token = INTERNET_GATEWAY
    shape = Shape(
        service="ec2",
        operation="CreateInternetGateway",
        local=("vpcId",),
        tags="specifications",
        tagged="internet-gateway",
    )
    computed = ("arn", "ownerId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        id: str = account.call("ec2", "CreateInternetGateway", **params)["InternetGateway"]["InternetGatewayId"]
        self.change(account, id, {}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        account.call("ec2", "DescribeInternetGateways", InternetGatewayIds=[id])
        return {"arn": account.arn("ec2", f"internet-gateway/{id}"), "ownerId": account.id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        before, after = old.get("vpcId"), new.get("vpcId")
        if before and before != after:
            self._detach(account, id, before)
        if after and before != after:
            account.call("ec2", "AttachInternetGateway", InternetGatewayId=id, VpcId=after)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        if inputs.get("vpcId"):
            self._detach(account, id, inputs["vpcId"])
        account.call("ec2", "DeleteInternetGateway", InternetGatewayId=id)

    @override
    def user(self, account: Account, record: Record) -> str | None:
        vpc = record.inputs.get("vpcId")
        for gateway in account.store.all(NAT_GATEWAY):
            if gateway.inputs.get("allocationId") and subnet(account, gateway.inputs["subnetId"])["VpcId"] == vpc:
                return f"Network {vpc} has some mapped public address(es). Please unmap those public address(es)."
        return None

    def _detach(self, account: Account, id: str, vpc: str) -> None:
        account.call("ec2", "DetachInternetGateway", InternetGatewayId=id, VpcId=vpc)


class EipKind(Kind):
    """``aws:ec2/eip:Eip``."""

    token = "aws:ec2/eip:Eip"
    shape = Shape(
        service="ec2",
        operation="AllocateAddress",
        defaults={"domain": "vpc"},
        replaces=("domain", "address", "networkBorderGroup", "publicIpv4Pool"),
        tags="specifications",
        tagged="elastic-ip",
    )
    computed = ("allocationId", "arn", "associationId", "publicIp", "publicDns")
    users = (NAT_GATEWAY,)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        return str(account.call("ec2", "AllocateAddress", **params)["AllocationId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        address = account.call("ec2", "DescribeAddresses", AllocationIds=[id])["Addresses"][0]
        return {
            "allocationId": id,
            "arn": account.arn("ec2", f"elastic-ip/{id}"),
            "associationId": address.get("AssociationId", ""),
            "publicIp": address["PublicIp"],
            "publicDns": f"ec2-{address['PublicIp'].replace('.', '-')}.{account.region}.compute.amazonaws.com",
        }

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "ReleaseAddress", AllocationId=id)


class NatGatewayKind(Kind):
    """``aws:ec2/natGateway:NatGateway``."""

    token = NAT_GATEWAY
    shape = Shape(
        service="ec2",
        operation="CreateNatGateway",
        required=("subnetId",),
        defaults={"connectivityType": "public"},
        replaces=("subnetId", "allocationId", "connectivityType", "privateIp"),
        tags="specifications",
        tagged="natgateway",
    )
    rules = NAT_RULES.rules
    computed = ("associationId", "networkInterfaceId", "publicIp", "privateIp")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        vpc = subnet(account, inputs["subnetId"])["VpcId"]
        attached = [{"Name": "attachment.vpc-id", "Values": [vpc]}]
        public = inputs.get("connectivityType") == "public"
        if public and not account.call("ec2", "DescribeInternetGateways", Filters=attached)["InternetGateways"]:
            raise self.refuse("Gateway.NotAttached", f"Network {vpc} has no Internet gateway attached")
        return str(account.call("ec2", "CreateNatGateway", **params)["NatGateway"]["NatGatewayId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        gateways = account.call("ec2", "DescribeNatGateways", NatGatewayIds=[id])["NatGateways"]
        if not gateways or gateways[0]["State"] in ("deleted", "deleting"):
            return None
        address = (gateways[0].get("NatGatewayAddresses") or [{}])[0]
        return {
            "associationId": address.get("AssociationId", ""),
            "networkInterfaceId": address.get("NetworkInterfaceId", ""),
            "privateIp": address.get("PrivateIp", ""),
            "publicIp": address.get("PublicIp", ""),
        }

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteNatGateway", NatGatewayId=id)


def subnet(account: Account, id: str) -> dict[str, Any]:
    """A subnet as EC2 describes it; AWS's error if there is none."""
    return subnets(account, [id])[0]


def subnets(account: Account, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Subnets as EC2 describes them; AWS's error if one is missing."""
    found: list[dict[str, Any]] = account.call("ec2", "DescribeSubnets", SubnetIds=sorted(set(ids)))["Subnets"]
    return found


def default_security_group(account: Account, vpc: str) -> str:
    """The id of the security group that comes with a VPC."""
    wanted = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": ["default"]}]
    groups = account.call("ec2", "DescribeSecurityGroups", Filters=wanted)["SecurityGroups"]
    return str(groups[0]["GroupId"])
