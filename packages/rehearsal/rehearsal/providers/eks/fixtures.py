"""What exists before the stack: the network or the cluster that its file names, as another program would create it."""

from __future__ import annotations

import json
from collections.abc import Generator
from ipaddress import IPv4Network

from components.settings import Settings
from facts import catalog
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.eks import network
from rehearsal.providers.eks.aws_api.backend import ids_of_the_next, share
from rehearsal.providers.eks.iam import ATTACHMENT, KEY, ROLE
from rehearsal.providers.eks.nodes import NODE_GROUP

_RANGE = IPv4Network("10.20.0.0/16")
_OWNER = "210987654321"
_EVERYWHERE = "0.0.0.0/0"


def resources(settings: Settings) -> Generator[tuple[str, Properties], Created, None]:
    """Type and inputs of each; none where the stack makes its own network and cluster.

    A private subnet in a zone each, the stack's first, with room for 31 nodes; out by one NAT gateway in one of two
    public subnets. All have the tags by which load balancers find them. Another account shares the network, as a
    company's network account does. A cluster admits an office, and encrypts Secrets with a key.
    """
    if settings.existing_cluster is not None:
        yield from _cluster(settings, settings.existing_cluster.name)
    existing = settings.network.existing
    if existing is None:
        return
    private, public = list(_RANGE.subnets(new_prefix=19)), list(_RANGE.subnets(new_prefix=24))[-2:]
    with ids_of_the_next("vpc", existing.network):
        vpc = (
            yield network.VPC, {"cidrBlock": str(_RANGE), "enableDnsHostnames": True, "tags": {"Name": "company"}}
        ).id
    share(vpc, _OWNER)
    door = (yield network.INTERNET_GATEWAY, {"vpcId": vpc}).id
    others = [zone for zone in catalog.of("eks").regions[settings.region] if zone not in settings.zones]
    zones = [*settings.zones, *others]
    outside = yield from _table(vpc, {"gatewayId": door})
    doors = []
    for zone, block in zip(zones, public, strict=False):
        role = {"kubernetes.io/role/elb": "1"}
        created = yield network.SUBNET, {"vpcId": vpc, "availabilityZone": zone, "cidrBlock": str(block), "tags": role}
        yield network.ASSOCIATION, {"routeTableId": outside, "subnetId": created.id}
        doors.append(created.id)
    address = (yield network.ADDRESS, {"domain": "vpc"}).id
    gateway = (yield network.NAT_GATEWAY, {"subnetId": doors[0], "allocationId": address}).id
    nested = yield from _table(vpc, {"natGatewayId": gateway})
    for subnet, zone, block in zip(existing.subnets, zones, private, strict=False):
        role = {"kubernetes.io/role/internal-elb": "1"}
        with ids_of_the_next("subnet", subnet):
            yield network.SUBNET, {"vpcId": vpc, "availabilityZone": zone, "cidrBlock": str(block), "tags": role}
        yield network.ASSOCIATION, {"routeTableId": nested, "subnetId": subnet}


def _cluster(settings: Settings, name: str) -> Generator[tuple[str, Properties], Created, None]:
    vpc = (yield network.VPC, {"cidrBlock": str(_RANGE), "enableDnsHostnames": True, "tags": {"Name": "company"}}).id
    subnets = []
    for zone, block in zip(catalog.of("eks").regions[settings.region], _RANGE.subnets(new_prefix=19), strict=False):
        subnet = yield network.SUBNET, {"vpcId": vpc, "availabilityZone": zone, "cidrBlock": str(block)}
        subnets.append(subnet.id)
    service = {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [service]})
    role = yield ROLE, {"name": "platform-cluster", "assumeRolePolicy": trust}
    key = yield KEY, {"enableKeyRotation": True}
    cluster = (
        network.CLUSTER,
        {
            "name": name,
            "roleArn": role.state["arn"],
            "vpcConfig": {"subnetIds": subnets, "publicAccessCidrs": ["203.0.113.0/24"]},
            "encryptionConfig": {"provider": {"keyArn": key.state["arn"]}, "resources": ["secrets"]},
            "accessConfig": {"authenticationMode": "API"},
        },
    )
    yield cluster
    if settings.autoscaler == "cluster-autoscaler":
        trust = trust.replace("eks.amazonaws.com", "ec2.amazonaws.com")
        nodes = yield ROLE, {"name": "platform-nodes", "assumeRolePolicy": trust}
        policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
        yield ATTACHMENT, {"role": "platform-nodes", "policyArn": policy}
        sizes = {"minSize": 0, "maxSize": 3, "desiredSize": 0}
        group = {"clusterName": name, "nodeGroupName": "system", "nodeRoleArn": nodes.state["arn"]}
        yield NODE_GROUP, {**group, "subnetIds": subnets, "instanceTypes": ["m6i.xlarge"], "scalingConfig": sizes}


def _table(vpc: str, target: Properties) -> Generator[tuple[str, Properties], Created, str]:
    """A route table that leads out by ``target``; its id."""
    table = (yield network.ROUTE_TABLE, {"vpcId": vpc}).id
    yield network.ROUTE, {"routeTableId": table, "destinationCidrBlock": _EVERYWHERE, **target}
    return table
