"""Route tables, routes and endpoints: where a subnet's traffic goes."""

from __future__ import annotations

import zlib
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.request import parameters, part
from rehearsal.providers.eks.base.row import Row, asks, from_answer, refused, resends, sends
from rehearsal.providers.eks.resources.network import (
    ASSOCIATION,
    EC2_ARN,
    ENDPOINT,
    ROUTE_TABLE,
    SECURITY_GROUP,
    SUBNET,
    VPC,
)
from rehearsal.providers.resource import Pending, Reference
from rehearsal.providers.rules import RuleBook

ROUTE: Final = "aws:ec2/route:Route"
ENDPOINT_RULES: Final = RuleBook[Account]()
_DESTINATIONS: Final = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
_ENDPOINTS: Final = "https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html"


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


def _endpoint(account: Account, id: str, inputs: Properties) -> dict[str, Any] | None:
    endpoints = account.call("ec2", "DescribeVpcEndpoints", VpcEndpointIds=[id])["VpcEndpoints"]
    deleted = not endpoints or endpoints[0].get("State", "").lower() in ("deleted", "deleting")
    return None if deleted else endpoints[0]


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


ROWS: Final = (
    Row(
        token=ROUTE_TABLE,
        answer="RouteTable.RouteTableId",
        describe=asks("ec2:DescribeRouteTables", "RouteTables", RouteTableIds=["{id}"]),
        change=_set_routes,
        completes_with_change=True,
        remove=sends("ec2:DeleteRouteTable", RouteTableId="{id}"),
        outputs={"arn": EC2_ARN + "route-table/{id}", "ownerId": "{account}"},
        references={"vpcId": Reference(VPC)},
        replaces=("vpcId",),
        unordered=("routes",),
        tagged="route-table",
    ),
    Row(
        token=ROUTE,
        make=_make_route,
        describe=_route,
        change=resends(ROUTE, "ec2:ReplaceRoute"),
        remove=_remove_route,
        outputs={"origin": "CreateRoute", "state": from_answer("State", "active")},
        one_of=_DESTINATIONS,
        replaces=("routeTableId", *_DESTINATIONS),
    ),
    Row(
        token=ASSOCIATION,
        answer="AssociationId",
        describe=_association,
        change=_associate_anew,
        remove=_disassociate,
        outputs={"routeTableId": from_answer("table")},
        one_of=("subnetId", "gatewayId"),
        references={"routeTableId": Reference(ROUTE_TABLE)},
        requires=_not_associated,
        replaces=("subnetId", "gatewayId"),
    ),
    Row(
        token=ENDPOINT,
        answer="VpcEndpoint.VpcEndpointId",
        describe=_endpoint,
        change=_change_endpoint,
        remove=sends("ec2:DeleteVpcEndpoints", VpcEndpointIds=["{id}"]),
        outputs={
            "arn": EC2_ARN + "vpc-endpoint/{id}",
            "cidrBlocks": lambda _: [],
            "dnsEntries": _dns_entries,
            "networkInterfaceIds": lambda pending: pending.answer.get("NetworkInterfaceIds") or [],
            "ownerId": "{account}",
            "prefixListId": "",
            "state": "available",
        },
        required=("serviceName",),
        defaults={"vpcEndpointType": "Gateway"},
        rules=ENDPOINT_RULES.rules,
        references={
            "vpcId": Reference(VPC),
            "subnetIds": Reference(SUBNET),
            "securityGroupIds": Reference(SECURITY_GROUP),
        },
        requires=_endpoint_refers,
        replaces=("vpcId", "serviceName", "vpcEndpointType", "serviceRegion"),
        unordered=("routeTableIds", "subnetIds", "securityGroupIds"),
        tagged="vpc-endpoint",
    ),
)
