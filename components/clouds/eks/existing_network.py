"""An existing VPC with a private subnet in each zone: read, never changed.

Requirements of control plane and nodes: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html.
Subnets shared by another account are looked up in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Final

import pulumi

from components.clouds.data_lookup import look_up, refuse
from components.clouds.eks.network import EVERYWHERE, LOAD_BALANCER, warn_of_no_subnet
from components.settings import Settings
from components.settings.fields.problems import Problem
from components.settings.limits import common
from components.settings.limits.eks.network import most_nodes
from facts import catalog
from facts.catalog.eks.subnets import LEAST_CONTROL_PLANE_ZONES
from facts.concepts.counts import counted

_VPC: Final = "aws:ec2/getVpc:getVpc"
_SUBNET: Final = "aws:ec2/getSubnet:getSubnet"
_SUBNETS: Final = "aws:ec2/getSubnets:getSubnets"
_ROUTE_TABLES: Final = "aws:ec2/getRouteTables:getRouteTables"
_ROUTE_TABLE: Final = "aws:ec2/getRouteTable:getRouteTable"

_HERE: Final = "network.existing.subnets"
# https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery
_INTERNAL: Final = "kubernetes.io/role/internal-elb"
_PUBLIC: Final = "kubernetes.io/role/elb"
# Targets of routes other than the VPC's internet gateway, which requires public addresses.
_WAYS_OUT: Final = (
    "natGatewayId",
    "transitGatewayId",
    "networkInterfaceId",
    "vpcEndpointId",
    "vpcPeeringConnectionId",
    "coreNetworkArn",
)


@dataclass(frozen=True)
class _Subnet:
    """A subnet as EC2 describes it, and the ``routes`` of its table."""

    id: str
    facts: Mapping[str, Any]
    routes: Sequence[Mapping[str, Any]]

    @property
    def zone(self) -> str:
        return str(self.facts["availabilityZone"])

    @property
    def cidr(self) -> IPv4Network:
        return IPv4Network(self.facts["cidrBlock"])

    def __str__(self) -> str:
        return f"{self.id} ({self.zone}, {self.cidr})"


class ExistingNetwork:
    """``network.Network`` without resources.

    A control plane that exists stays in its ``zones``. A new cluster (without them) also needs free addresses for its
    pools at their maximum; later its nodes occupy some of them.

    Raises:
        pulumi.RunError: not found or unsuitable; lists all problems, before any resource is created.
    """

    def __init__(
        self,
        settings: Settings,
        parent: pulumi.Resource,
        zones: Sequence[str] = (),
        deployed: Collection[str] = (),
    ) -> None:
        existing = settings.network.existing
        assert existing is not None
        vpc = look_up(_VPC, {"id": existing.network}, parent, f"network.existing.network: '{existing.network}'")
        subnets = _subnets(parent, existing.network, existing.subnets)
        refuse(_problems(settings, vpc, subnets, zones, deployed), settings)
        self.vpc: pulumi.Output[str] = pulumi.Output.from_input(existing.network)
        self.ranges: Sequence[str] = _ranges(vpc)
        self.private_subnets: Mapping[str, pulumi.Input[str]] = {each.zone: each.id for each in subnets}
        self.public_subnets: Mapping[str, pulumi.Input[str]] = {}
        self.ready: list[pulumi.Resource] = []
        if LOAD_BALANCER in settings.addons:
            self.public_subnets = _public(parent, existing.network)
            _warn_about_tags(subnets, self.public_subnets, parent)


def _subnets(parent: pulumi.Resource, vpc: str, ids: Sequence[str]) -> list[_Subnet]:
    facts = {id: look_up(_SUBNET, {"id": id}, parent, f"{_HERE}: '{id}'") for id in ids}
    tables = [
        look_up(_ROUTE_TABLE, {"routeTableId": id}, parent, f"{_HERE}: '{id}'")
        for id in look_up(_ROUTE_TABLES, {"vpcId": vpc}, parent, f"network.existing.network: '{vpc}'")["ids"]
    ]
    own = {each["subnetId"]: table for table in tables for each in table["associations"] if each.get("subnetId")}
    # A subnet without a route table of its own uses the VPC's:
    # https://docs.aws.amazon.com/vpc/latest/userguide/RouteTables.html
    main = next((table for table in tables if any(each["main"] for each in table["associations"])), {"routes": ()})
    return [_Subnet(id, facts[id], own.get(id, main)["routes"]) for id in ids]


def _problems(
    settings: Settings,
    vpc: Mapping[str, Any],
    subnets: Sequence[_Subnet],
    control_plane: Sequence[str],
    deployed: Collection[str],
) -> Iterator[Problem]:
    yield from _names(vpc)
    ranges = _ranges(vpc)
    for vpc_range in ranges:
        if IPv4Network(settings.network.service_cidr).overlaps(IPv4Network(vpc_range)):
            yield Problem(
                "network.serviceCidr",
                f"{settings.network.service_cidr} overlaps with {vpc_range} of {vpc['id']}",
                "Write another range inside 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
            )
    for subnet in subnets:
        if subnet.facts["vpcId"] != vpc["id"]:
            yield Problem(
                _HERE, f"{subnet} is in {subnet.facts['vpcId']}, not in {vpc['id']}", "Write subnets of one VPC"
            )
        else:
            yield from _way_out(subnet)
    yield from _zones(settings, subnets, control_plane, deployed)
    yield from _room(settings, subnets, new=not control_plane)


def _names(vpc: Mapping[str, Any]) -> Iterator[Problem]:
    """Nodes resolve the control plane's name to an address in the VPC.

    https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
    """
    for key, option in (("enableDnsSupport", "--enable-dns-support"), ("enableDnsHostnames", "--enable-dns-hostnames")):
        if not vpc[key]:
            yield Problem(
                "network.existing.network",
                f"{vpc['id']} has {key} off, so nodes cannot resolve the control plane's name",
                f"Run `aws ec2 modify-vpc-attribute --vpc-id {vpc['id']} {option}`, or use another VPC",
            )


def _way_out(subnet: _Subnet) -> Iterator[Problem]:
    """Endpoints of AWS in the VPC would not do: images also come from registry.k8s.io, nvcr.io and public.ecr.aws."""
    default = [route for route in subnet.routes if route.get("cidrBlock") == EVERYWHERE]
    if any(route.get(key) for route in default for key in _WAYS_OUT):
        return
    gateways = [str(route["gatewayId"]) for route in default if route.get("gatewayId")]
    if any(not gateway.startswith("igw-") for gateway in gateways):
        return
    yield Problem(
        _HERE,
        f"{subnet} is public: its default route is {gateways[0]}, and nodes have no public address"
        if gateways
        else f"{subnet} has no route to {EVERYWHERE}, so nodes cannot pull images",
        "Write a private subnet, with a default route to a NAT gateway, a transit gateway or a firewall",
    )


def _zones(
    settings: Settings, subnets: Sequence[_Subnet], control_plane: Sequence[str], deployed: Collection[str]
) -> Iterator[Problem]:
    by_zone: dict[str, list[_Subnet]] = {}
    for subnet in subnets:
        by_zone.setdefault(subnet.zone, []).append(subnet)
    for zone, in_zone in by_zone.items():
        if len(in_zone) > 1:
            yield Problem(
                _HERE, f"{' and '.join(map(str, in_zone))} are both in {zone}", "Write one subnet for each zone"
            )
    for zone in settings.zones:
        if zone not in by_zone:
            has = ", ".join(sorted(by_zone))
            yield Problem(
                _HERE, f"no subnet is in {zone}, where the stack has nodes; they are in {has}", f"Add one in {zone}"
            )
    for pool in settings.pools:
        missing = [zone for zone in pool.nodes.zones if zone not in {*by_zone, *settings.zones}]
        if missing and pool.name in deployed:
            warn_of_no_subnet(pool, missing)
        elif missing:
            yield Problem(
                f"{pool.declared_at}.zones",
                f"no subnet of network.existing is in {', '.join(missing)}; they are in {', '.join(sorted(by_zone))}",
                "Write zones that have one, or add one to network.existing.subnets",
            )
    if missing := [zone for zone in control_plane if zone not in by_zone]:
        yield Problem(
            _HERE,
            f"no subnet is in {', '.join(missing)}, where the control plane is; EKS cannot move it to other zones",
            "Write a subnet in each of its zones: " + ", ".join(control_plane),
        )
    if len(by_zone) < LEAST_CONTROL_PLANE_ZONES:
        yield Problem(
            _HERE,
            f"all subnets are in {', '.join(sorted(by_zone))}, but a control plane needs two zones",
            "Add a subnet in another zone of the region; `zones` limits the nodes to their zones",
        )


def _room(settings: Settings, subnets: Sequence[_Subnet], *, new: bool) -> Iterator[Problem]:
    known = catalog.of(settings.cloud)
    for subnet in subnets:
        every = subnet.cidr.num_addresses - known.choices.reserved_addresses
        room = (int(subnet.facts["availableIpAddressCount"]) if new else every) // known.nodes.pod_addresses
        nodes = most_nodes(settings, subnet.zone)
        if room < nodes:
            yield common.existing_too_small("subnets", subnet.id, subnet.cidr, room, nodes)


def _ranges(vpc: Mapping[str, Any]) -> list[str]:
    more = (each["cidrBlock"] for each in vpc.get("cidrBlockAssociations") or () if each.get("state") == "associated")
    return list(dict.fromkeys((vpc["cidrBlock"], *more)))


def _public(parent: pulumi.Resource, vpc: str) -> dict[str, pulumi.Input[str]]:
    """The VPC's subnets for load balancers that the internet reaches, by zone."""
    filters = [{"name": "vpc-id", "values": [vpc]}, {"name": "tag-key", "values": [_PUBLIC]}]
    ids = look_up(_SUBNETS, {"filters": filters}, parent, f"network.existing.network: '{vpc}'")["ids"]
    return {look_up(_SUBNET, {"id": id}, parent, f"{_HERE}: '{id}'")["availabilityZone"]: id for id in ids}


def _warn_about_tags(subnets: Sequence[_Subnet], public: Mapping[str, Any], parent: pulumi.Resource) -> None:
    """Warn about missing tags for load balancers; without tags the controller uses routes, from release 2.12 on."""
    untagged = [subnet.id for subnet in subnets if _INTERNAL not in (subnet.facts.get("tags") or {})]
    if untagged:
        pulumi.warn(
            f"addons: load-balancer: {', '.join(untagged)} have no tag {_INTERNAL}=1, by which internal load balancers "
            "find their subnets",
            parent,
        )
    if len(public) < LEAST_CONTROL_PLANE_ZONES:
        pulumi.warn(
            f"addons: load-balancer: subnets with the tag {_PUBLIC}=1 are in {counted(len(public), 'zone')} of the "
            "network; a public load balancer needs two",
            parent,
        )
