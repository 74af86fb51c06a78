"""Route tables, routes and endpoints: where a subnet's traffic goes."""

from __future__ import annotations

import zlib
from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.network import ENDPOINT, ROUTE_TABLE
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To, translate
from rehearsal.standins.rules import RuleBook

ASSOCIATION: Final = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT_RULES: Final = RuleBook[Account]()
_DESTINATIONS: Final = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
_ENDPOINTS: Final = "https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html"
_ROUTE_TABLE: Final = {
    "CreateRouteRequest": {
        "cidrBlock": To("DestinationCidrBlock"),
        "ipv6CidrBlock": To("DestinationIpv6CidrBlock"),
        "egressOnlyGatewayId": To("EgressOnlyInternetGatewayId"),
    }
}


@ENDPOINT_RULES.add("endpoint-region", _ENDPOINTS, "serviceName", "serviceRegion")
def _service(inputs: Properties, account: Account) -> str | None:
    region = inputs.get("serviceRegion") or account.region
    if inputs["serviceName"].startswith(f"com.amazonaws.{region}."):
        return None
    return f"InvalidServiceName: The Vpc Endpoint Service '{inputs['serviceName']}' does not exist"


@ENDPOINT_RULES.add("endpoint-gateway", _ENDPOINTS, "serviceName", "vpcEndpointType", "subnetIds", "securityGroupIds")
def _gateway(inputs: Properties, account: Account) -> str | None:
    if inputs.get("vpcEndpointType") != "Gateway":
        return None
    if not inputs["serviceName"].endswith((".s3", ".dynamodb")):
        return f"InvalidParameter: Endpoint type (Gateway) does not match the types of service {inputs['serviceName']}"
    if inputs.get("subnetIds") or inputs.get("securityGroupIds"):
        return "InvalidParameter: Gateway endpoints have route tables, not subnets or security groups"
    return None


@ENDPOINT_RULES.add("endpoint-interface", _ENDPOINTS, "vpcEndpointType", "routeTableIds")
def _interface(inputs: Properties, account: Account) -> str | None:
    if inputs.get("vpcEndpointType") == "Interface" and inputs.get("routeTableIds"):
        return "InvalidParameter: Interface endpoints have subnets and security groups, not route tables"
    return None


class RouteTableKind(Kind):
    """``aws:ec2/routeTable:RouteTable``; inline routes are routes of their own."""

    token = ROUTE_TABLE
    shape = Shape(
        service="ec2",
        operation="CreateRouteTable",
        local=("routes",),
        required=("vpcId",),
        replaces=("vpcId",),
        unordered=("routes",),
        tags="specifications",
        tagged="route-table",
    )
    computed = ("arn", "ownerId")
    users = (ASSOCIATION,)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        id: str = account.call("ec2", "CreateRouteTable", **params)["RouteTable"]["RouteTableId"]
        self.change(account, id, {}, inputs)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        account.call("ec2", "DescribeRouteTables", RouteTableIds=[id])
        return {"arn": account.arn("ec2", f"route-table/{id}"), "ownerId": account.id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        before, after = old.get("routes") or [], new.get("routes") or []
        for route in (route for route in before if route not in after):
            account.call("ec2", "DeleteRoute", RouteTableId=id, DestinationCidrBlock=route["cidrBlock"])
        for route in (route for route in after if route not in before):
            translation = translate("ec2", "CreateRoute", _ROUTE_TABLE, {**route, "routeTableId": id})
            if translation.failures:
                failure = translation.failures[0]
                raise self.refuse("InvalidParameterValue", f"routes: {failure.property} {failure.reason}")
            account.call("ec2", "CreateRoute", **translation.params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteRouteTable", RouteTableId=id)


class RouteKind(Kind):
    """``aws:ec2/route:Route``."""

    token = "aws:ec2/route:Route"
    shape = Shape(
        service="ec2",
        operation="CreateRoute",
        table=_ROUTE_TABLE,
        required=("routeTableId",),
        one_of=_DESTINATIONS,
        replaces=("routeTableId", *_DESTINATIONS),
    )
    computed = ("origin", "state")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        if self._find(account, inputs):
            raise self.refuse("RouteAlreadyExists", f"The route identified by {_destination(inputs)} already exists.")
        account.call("ec2", "CreateRoute", **params)
        return f"r-{inputs['routeTableId']}{zlib.crc32(_destination(inputs).encode())}"

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        route = self._find(account, inputs)
        return None if route is None else {"origin": "CreateRoute", "state": route.get("State", "active")}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        account.call("ec2", "ReplaceRoute", **self.shape.translate(new).params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        keys = ("routeTableId", *_DESTINATIONS)
        sent = {key[0].upper() + key[1:]: inputs[key] for key in keys if inputs.get(key)}
        account.call("ec2", "DeleteRoute", **sent)

    def _find(self, account: Account, inputs: Properties) -> dict[str, Any] | None:
        tables = account.call("ec2", "DescribeRouteTables", RouteTableIds=[inputs["routeTableId"]])["RouteTables"]
        wanted = _destination(inputs)
        return next((route for route in tables[0]["Routes"] if wanted in route.values()), None)


class RouteTableAssociationKind(Kind):
    """``aws:ec2/routeTableAssociation:RouteTableAssociation``."""

    token = ASSOCIATION
    shape = Shape(
        service="ec2",
        operation="AssociateRouteTable",
        required=("routeTableId",),
        one_of=("subnetId", "gatewayId"),
        replaces=("subnetId", "gatewayId"),
    )

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        if self._find(account, inputs):
            what = inputs.get("subnetId") or inputs.get("gatewayId")
            raise self.refuse("Resource.AlreadyAssociated", f"{what} already has an associated route table")
        return str(account.call("ec2", "AssociateRouteTable", **params)["AssociationId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = self._find(account, inputs)
        return {"routeTableId": found[1]} if found else None

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        found = self._find(account, old)
        if found:
            association, table = found[0], new["routeTableId"]
            account.call("ec2", "ReplaceRouteTableAssociation", AssociationId=association, RouteTableId=table)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        found = self._find(account, inputs)
        if found:
            account.call("ec2", "DisassociateRouteTable", AssociationId=found[0])

    def _find(self, account: Account, inputs: Properties) -> tuple[str, str] | None:
        """The association's present id, which changes with the table, and its table."""
        key = "SubnetId" if inputs.get("subnetId") else "GatewayId"
        wanted = inputs.get("subnetId") or inputs.get("gatewayId")
        for table in account.call("ec2", "DescribeRouteTables")["RouteTables"]:
            for association in table["Associations"]:
                if association.get(key) == wanted:
                    return association["RouteTableAssociationId"], table["RouteTableId"]
        return None


class VpcEndpointKind(Kind):
    """``aws:ec2/vpcEndpoint:VpcEndpoint``."""

    token = ENDPOINT
    shape = Shape(
        service="ec2",
        operation="CreateVpcEndpoint",
        table={"CreateVpcEndpointRequest": {"policy": To("PolicyDocument")}},
        required=("vpcId", "serviceName"),
        defaults={"vpcEndpointType": "Gateway"},
        replaces=("vpcId", "serviceName", "vpcEndpointType", "serviceRegion"),
        unordered=("routeTableIds", "subnetIds", "securityGroupIds"),
        tags="specifications",
        tagged="vpc-endpoint",
    )
    rules = ENDPOINT_RULES.rules
    computed = ("arn", "cidrBlocks", "dnsEntries", "networkInterfaceIds", "ownerId", "prefixListId", "state")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("ec2", "DescribeVpcs", VpcIds=[inputs["vpcId"]])
        if inputs.get("securityGroupIds"):
            account.call("ec2", "DescribeSecurityGroups", GroupIds=inputs["securityGroupIds"])
        return str(account.call("ec2", "CreateVpcEndpoint", **params)["VpcEndpoint"]["VpcEndpointId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("ec2", "DescribeVpcEndpoints", VpcEndpointIds=[id])["VpcEndpoints"]
        if not found or found[0].get("State", "").lower() in ("deleted", "deleting"):
            return None
        return {
            "arn": account.arn("ec2", f"vpc-endpoint/{id}"),
            "dnsEntries": [
                {"dnsName": entry.get("DnsName", ""), "hostedZoneId": entry.get("HostedZoneId", "")}
                for entry in found[0].get("DnsEntries") or []
            ],
            "cidrBlocks": [],
            "networkInterfaceIds": found[0].get("NetworkInterfaceIds") or [],
            "ownerId": account.id,
            "prefixListId": "",
            "state": "available",
        }

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        params: dict[str, Any] = {"PolicyDocument": new.get("policy")}
        for key, noun in (
            ("routeTableIds", "RouteTableIds"),
            ("subnetIds", "SubnetIds"),
            ("securityGroupIds", "SecurityGroupIds"),
        ):
            before, after = set(old.get(key) or []), set(new.get(key) or [])
            params[f"Add{noun}"] = sorted(after - before) or None
            params[f"Remove{noun}"] = sorted(before - after) or None
        account.call("ec2", "ModifyVpcEndpoint", VpcEndpointId=id, **params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteVpcEndpoints", VpcEndpointIds=[id])


def _destination(inputs: Properties) -> str:
    return next(str(inputs[key]) for key in _DESTINATIONS if inputs.get(key))
