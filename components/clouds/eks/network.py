"""The VPC of one cluster: a private subnet per zone, and NAT, as nodes have no public address.

https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.data_lookup import refuse
from components.clouds.declare import eks as declare
from components.clouds.deployed import Deployed
from components.resources import CustomResource
from components.settings import Settings
from components.settings.fields.problems import Problem
from facts.catalog.eks import subnets
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import eks

EVERYWHERE: Final = "0.0.0.0/0"
LOAD_BALANCER: Final = "load-balancer"
"""The addon's name in a stack file."""


class Network:
    """``vpc``, and ``private_subnets`` by zone for the control plane and nodes, which wait for ``ready`` (the way out).

    ``ranges`` are its addresses. ``public_subnets`` are those of NAT gateways and, with the addon, of load balancers.
    With ``nat_per_zone`` each zone of the stack has a gateway of its own, else the first one has it for all. A control
    plane that exists stays in its ``zones``, which so have subnets, too. So has every zone of a pool. ``in_use`` are
    the deployed private subnets: zone → range.

    Raises:
        pulumi.RunError: a zone that the stack or a pool adds would change addresses in use. A pool that is ``deployed``
            keeps such a zone without a subnet, with a warning.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        parent: pulumi.Resource,
        zones: Sequence[str] = (),
        in_use: Mapping[str, str] = MappingProxyType({}),
        deployed: Collection[str] = (),
    ) -> None:
        self._name, self._settings, self._parent = name, settings, parent
        self._ranges = _ranges(settings, zones, in_use, deployed)
        vpc = declare(
            "aws:ec2/vpc:Vpc",
            f"{self._name}-vpc",
            {
                "cidrBlock": settings.network.node_cidr,
                "enableDnsSupport": True,
                "enableDnsHostnames": True,
                "tags": self._tags(),
            },
            self._options(),
        )
        self.vpc: pulumi.Output[Any] = vpc.id
        self.ranges: Sequence[str] = (settings.network.node_cidr,)
        # Resources that name no security group get this one, so it allows no traffic.
        declare(
            "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
            f"{self._name}-default-security-group",
            {"vpcId": self.vpc, "ingress": [], "egress": [], "tags": self._tags("default")},
            self._options(),
        )
        self.private_subnets: Mapping[str, pulumi.Output[Any]] = {
            zone: self._subnet(zone, public=False).id for zone in self._ranges
        }
        self.public_subnets: dict[str, pulumi.Output[Any]] = {}
        self.ready: list[pulumi.Resource] = []
        self._layers(self._route(self._gateways()))

    def _gateways(self) -> dict[str, CustomResource]:
        """The NAT gateways by zone; they wait for the internet gateway, which cannot go while they have addresses."""
        internet = declare(
            "aws:ec2/internetGateway:InternetGateway",
            f"{self._name}-internet-gateway",
            {"vpcId": self.vpc, "tags": self._tags()},
            self._options(),
        )
        routes = self._route_table("public")
        self._way_out(
            "public", {"routeTableId": routes.id, "destinationCidrBlock": EVERYWHERE, "gatewayId": internet.id}
        )
        zones = self._settings.zones if self._settings.nat_per_zone else self._settings.zones[:1]
        # A load balancer needs two zones: https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1783
        open_zones = self._ranges if LOAD_BALANCER in self._settings.addons else zones
        for zone in open_zones:
            subnet = self._subnet(zone, public=True)
            self._associate(f"public-{zone}", routes, subnet.id)
            self.public_subnets[zone] = subnet.id
        gateways: dict[str, CustomResource] = {}
        for zone in zones:
            address = declare(
                "aws:ec2/eip:Eip",
                f"{self._name}-nat-{zone}-address",
                {"domain": "vpc", "tags": self._tags(zone)},
                self._options(),
            )
            gateways[zone] = declare(
                "aws:ec2/natGateway:NatGateway",
                f"{self._name}-nat-{zone}",
                {
                    "subnetId": self.public_subnets[zone],
                    "allocationId": address.id,
                    "connectivityType": "public",
                    "tags": self._tags(zone),
                },
                self._options(internet),
            )
        return gateways

    def _route(self, gateways: Mapping[str, CustomResource]) -> dict[str, CustomResource]:
        """The private route tables by zone: out through the zone's own gateway, or the first."""
        first = gateways[self._settings.zones[0]]
        tables: dict[str, CustomResource] = {}
        for zone, subnet in self.private_subnets.items():
            tables[zone] = self._route_table(f"private-{zone}")
            route: eks.Route = {
                "routeTableId": tables[zone].id,
                "destinationCidrBlock": EVERYWHERE,
                "natGatewayId": gateways.get(zone, first).id,
            }
            self._way_out(f"private-{zone}", route)
            self._associate(f"private-{zone}", tables[zone], subnet)
        return tables

    def _layers(self, tables: Mapping[str, CustomResource]) -> None:
        """A way to S3, free of charge, which is where the layers of ECR's images come from: through NAT every gigabyte
        would cost. Their manifests alone go through NAT: endpoints of ECR would cost by the hour, used or not.

        https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html, https://aws.amazon.com/privatelink/pricing
        """
        endpoint: eks.VpcEndpoint = {
            "vpcId": self.vpc,
            "serviceName": f"com.amazonaws.{self._settings.region}.s3",
            "vpcEndpointType": "Gateway",
            "routeTableIds": [table.id for table in tables.values()],
            "tags": self._tags("s3"),
        }
        name = f"{self._name}-endpoint-s3"
        self.ready.append(declare("aws:ec2/vpcEndpoint:VpcEndpoint", name, endpoint, self._options()))

    def _subnet(self, zone: str, *, public: bool) -> CustomResource:
        kind, role = ("public", "elb") if public else ("private", "internal-elb")
        ranges = self._ranges[zone]
        return declare(
            "aws:ec2/subnet:Subnet",
            f"{self._name}-{kind}-{zone}",
            {
                "vpcId": self.vpc,
                "availabilityZone": zone,
                "cidrBlock": str(ranges.public if public else ranges.private),
                "mapPublicIpOnLaunch": False,
                # Load balancers of Services find their subnets by this tag:
                # https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html
                "tags": {**self._tags(f"{kind}-{zone}"), f"kubernetes.io/role/{role}": "1"},
            },
            self._options(),
        )

    def _route_table(self, suffix: str) -> CustomResource:
        return declare(
            "aws:ec2/routeTable:RouteTable",
            f"{self._name}-{suffix}-routes",
            {"vpcId": self.vpc, "tags": self._tags(suffix)},
            self._options(),
        )

    def _way_out(self, suffix: str, route: eks.Route) -> None:
        self.ready.append(declare("aws:ec2/route:Route", f"{self._name}-{suffix}-way-out", route, self._options()))

    def _associate(self, suffix: str, table: CustomResource, subnet: pulumi.Output[Any]) -> None:
        association = declare(
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            f"{self._name}-{suffix}-association",
            {"routeTableId": table.id, "subnetId": subnet},
            self._options(),
        )
        self.ready.append(association)

    def _tags(self, suffix: str = "") -> dict[str, str]:
        name = f"{self._settings.cluster_name}-{suffix}" if suffix else self._settings.cluster_name
        return {**self._settings.labels, "Name": name}

    def _options(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self._parent, depends_on=list(after))


def _ranges(
    settings: Settings, zones: Sequence[str], in_use: Mapping[str, str], deployed: Collection[str]
) -> Mapping[str, subnets.ZoneRanges]:
    """The addresses of each zone of the stack, its pools and its control plane; those ``in_use`` stay."""

    def parts(*more: str) -> dict[str, subnets.ZoneRanges]:
        every = tuple(dict.fromkeys((*settings.zones, *zones, *more)))
        return subnets.ranges(settings.network.node_cidr, settings.region, every)

    running = subnets.ranges(settings.network.node_cidr, settings.region, zones) if zones else {}
    # A network without a cluster may still change.
    in_use = in_use if zones else {}
    there = {zone: each.private for zone, each in running.items()}
    there |= {zone: IPv4Network(private) for zone, private in in_use.items()}

    def kept(ranges: Mapping[str, subnets.ZoneRanges]) -> bool:
        return all(each.private == there.get(zone, each.private) for zone, each in ranges.items())

    every = parts()
    if not kept(every):
        # A zone of a former pool keeps its subnet where the others would grow without it.
        every = parts(*there)
    if not kept(every):
        raise _refusal("zones", [zone for zone in settings.zones if zone not in there], [*there])
    for pool in settings.pools:
        added = [zone for zone in pool.nodes.zones if zone not in every]
        wider = parts(*every, *added)
        if kept(wider):
            every = wider
        elif pool.name in deployed:
            warn_of_no_subnet(pool, added)
        else:
            raise _refusal(f"{pool.declared_at}.zones", added, [*every])
    return every


def _refusal(key: str, added: Sequence[str], among: Sequence[str]) -> pulumi.RunError:
    return pulumi.RunError(
        f"{key}: with {', '.join(added)} the subnets of {', '.join(among)} would be smaller, but they are in use. "
        f"Write zones among {', '.join(among)}, or make another cluster."
    )


def refuse_other_network(name: str, settings: Settings, deployed: Deployed) -> None:
    """End the program if the stack file has another network than the running cluster.

    A control plane stays in its VPC ("the subnets must be in the same VPC":
    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html), and the provider plans such a change as an
    update, which AWS would refuse after another VPC is made.

    Raises:
        pulumi.RunError: it has.
    """
    refuse(_other_network(name, settings, deployed), settings)


def _other_network(name: str, settings: Settings, deployed: Deployed) -> Iterator[Problem]:
    cluster = deployed.outputs("aws:eks/cluster:Cluster", f"{name}-control-plane")
    vpc = (cluster.get("vpcConfig") or {}).get("vpcId")
    own = deployed.outputs("aws:ec2/vpc:Vpc", f"{name}-vpc").get("cidrBlock")
    existing, remedy = settings.network.existing, "for another network create a new cluster, in a stack of its own"
    if existing is not None and vpc not in (None, existing.network):
        again = "Take existing out" if own else f"Write existing: {{network: {vpc}}}"
        why = f"the running cluster is in {vpc}, and EKS cannot move it"
        yield Problem("network.existing", why, f"{again}; {remedy}")
    elif existing is None and own not in (None, settings.network.node_cidr):
        why = f"the running cluster is in {own}, and EKS cannot move it"
        yield Problem("network.nodeCidr", why, f"Write nodeCidr: {own}; {remedy}")
    elif existing is None and vpc is not None and own is None:
        why = f"the running cluster is in {vpc}, and EKS cannot move it"
        yield Problem("network.existing", why, f"Write existing: {{network: {vpc}}}; {remedy}")


def warn_of_no_subnet(pool: Pool, zones: Sequence[str]) -> None:
    """A pool that is deployed, whose zones have no subnet, is left as it is: it never had a node there."""
    pulumi.warn(
        f"{pool.declared_at}.zones: pool {pool.name} gets no node in {', '.join(zones)}, where the cluster has no "
        "subnet. Write zones that have one."
    )
