"""The VPC of one cluster: a private subnet per zone, and NAT, as nodes have no public address.

https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.eks import subnets
from components.resources import CustomResource

_EVERYWHERE: Final = "0.0.0.0/0"

# Where images come from; what they consist of is in S3. Through NAT every gigabyte would cost.
# https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
_REGISTRY_SERVICES: Final = ("ecr.api", "ecr.dkr")


class Network:
    """``vpc``, and ``private_subnets`` by zone for the control plane and nodes, which wait for ``ready`` (the way out).

    With ``nat_per_zone`` each zone of the stack has a gateway of its own, else the first one has it for all.
    """

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        self._name, self._spec, self._parent = name, spec, parent
        self._ranges = subnets.ranges(spec.node_cidr, spec.region, spec.zones)
        vpc = self._resource(
            "vpc:Vpc",
            "vpc",
            {"cidrBlock": spec.node_cidr, "enableDnsSupport": True, "enableDnsHostnames": True, "tags": self._tags()},
        )
        self.vpc: pulumi.Output[Any] = vpc.id
        # Whatever names no security group gets this one, so it lets nothing through.
        self._resource(
            "defaultSecurityGroup:DefaultSecurityGroup",
            "default-security-group",
            {"vpcId": self.vpc, "ingress": [], "egress": [], "tags": self._tags("default")},
        )
        self.private_subnets: Mapping[str, pulumi.Output[Any]] = {
            zone: self._subnet(zone, public=False).id for zone in self._ranges
        }
        self.ready: list[pulumi.Resource] = []
        self._endpoints(self._route(self._gateways()))

    def _gateways(self) -> dict[str, CustomResource]:
        """The NAT gateways by zone.

        Their addresses wait for the internet gateway, which cannot go while the VPC has public addresses.
        """
        internet = self._resource(
            "internetGateway:InternetGateway", "internet-gateway", {"vpcId": self.vpc, "tags": self._tags()}
        )
        routes = self._route_table("public", {"gatewayId": internet.id})
        zones = self._spec.zones if self._spec.nat_per_zone else self._spec.zones[:1]
        gateways: dict[str, CustomResource] = {}
        for zone in zones:
            subnet = self._subnet(zone, public=True)
            self._associate(f"public-{zone}", routes, subnet.id)
            address = self._resource(
                "eip:Eip", f"nat-{zone}-address", {"domain": "vpc", "tags": self._tags(zone)}, internet
            )
            gateways[zone] = self._resource(
                "natGateway:NatGateway",
                f"nat-{zone}",
                {
                    "subnetId": subnet.id,
                    "allocationId": address.id,
                    "connectivityType": "public",
                    "tags": self._tags(zone),
                },
                internet,
            )
        return gateways

    def _route(self, gateways: Mapping[str, CustomResource]) -> dict[str, CustomResource]:
        """The private route tables by zone: out through the zone's own gateway, or the first."""
        first = gateways[self._spec.zones[0]]
        tables: dict[str, CustomResource] = {}
        for zone, subnet in self.private_subnets.items():
            tables[zone] = self._route_table(f"private-{zone}", {"natGatewayId": gateways.get(zone, first).id})
            self._associate(f"private-{zone}", tables[zone], subnet)
        return tables

    def _endpoints(self, tables: Mapping[str, CustomResource]) -> None:
        spec = self._spec
        self._endpoint("s3", {"vpcEndpointType": "Gateway", "routeTableIds": [table.id for table in tables.values()]})
        group = self._resource(
            "securityGroup:SecurityGroup",
            "endpoints-security-group",
            {
                "vpcId": self.vpc,
                "description": f"Registry endpoints of cluster {spec.name}",
                "ingress": [
                    {
                        "description": "HTTPS from the cluster's network",
                        "protocol": "tcp",
                        "fromPort": 443,
                        "toPort": 443,
                        "cidrBlocks": [spec.node_cidr],
                    }
                ],
                "egress": [],
                "tags": self._tags("endpoints"),
            },
        )
        for service in _REGISTRY_SERVICES:
            interface = {
                "vpcEndpointType": "Interface",
                "privateDnsEnabled": True,
                # An endpoint costs by zone, so only zones with nodes have one.
                "subnetIds": [self.private_subnets[zone] for zone in spec.zones],
                "securityGroupIds": [group.id],
            }
            self._endpoint(service, interface)

    def _endpoint(self, service: str, inputs: Mapping[str, Any]) -> None:
        suffix = service.replace(".", "-")
        common = {
            "vpcId": self.vpc,
            "serviceName": f"com.amazonaws.{self._spec.region}.{service}",
            "tags": self._tags(suffix),
        }
        self.ready.append(self._resource("vpcEndpoint:VpcEndpoint", f"endpoint-{suffix}", {**common, **inputs}))

    def _subnet(self, zone: str, *, public: bool) -> CustomResource:
        kind, role = ("public", "elb") if public else ("private", "internal-elb")
        ranges = self._ranges[zone]
        return self._resource(
            "subnet:Subnet",
            f"{kind}-{zone}",
            {
                "vpcId": self.vpc,
                "availabilityZone": zone,
                "cidrBlock": str(ranges.public if public else ranges.private),
                "mapPublicIpOnLaunch": False,
                # Load balancers of Services find their subnets by this tag:
                # https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html
                "tags": {**self._tags(f"{kind}-{zone}"), f"kubernetes.io/role/{role}": "1"},
            },
        )

    def _route_table(self, suffix: str, way_out: Mapping[str, Any]) -> CustomResource:
        table = self._resource(
            "routeTable:RouteTable", f"{suffix}-routes", {"vpcId": self.vpc, "tags": self._tags(suffix)}
        )
        route = {"routeTableId": table.id, "destinationCidrBlock": _EVERYWHERE, **way_out}
        self.ready.append(self._resource("route:Route", f"{suffix}-way-out", route))
        return table

    def _associate(self, suffix: str, table: CustomResource, subnet: pulumi.Output[Any]) -> None:
        association = {"routeTableId": table.id, "subnetId": subnet}
        self.ready.append(
            self._resource("routeTableAssociation:RouteTableAssociation", f"{suffix}-association", association)
        )

    def _tags(self, suffix: str = "") -> dict[str, str]:
        name = f"{self._spec.name}-{suffix}" if suffix else self._spec.name
        return {**self._spec.labels, "Name": name}

    def _resource(self, token: str, suffix: str, inputs: Mapping[str, Any], *after: pulumi.Resource) -> CustomResource:
        options = pulumi.ResourceOptions(parent=self._parent, depends_on=list(after))
        return CustomResource(f"aws:ec2/{token}", f"{self._name}-{suffix}", inputs, options)
