"""A driver of the AWS stand-in: the engine's calls in the engine's order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rehearsal.simulation import Fleet
from rehearsal.standins.base import Created, Diff, Properties, Provider, ProviderError, Request
from rehearsal.standins.eks import AwsProvider
from rehearsal.standins.eks.account import Account
from tests.rehearsal.noting_fleet import NotingFleet

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
NAT = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
KEY = "aws:kms/key:Key"
ALIAS = "aws:kms/alias:Alias"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
CLUSTER = "aws:eks/cluster:Cluster"
ADDON = "aws:eks/addon:Addon"
ENTRY = "aws:eks/accessEntry:AccessEntry"
POLICY_ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
POD_IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ASG_TAG = "aws:autoscaling/tag:Tag"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
EVENT_TARGET = "aws:cloudwatch/eventTarget:EventTarget"
QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"

REGION = "us-west-2"
ACCOUNT = "123456789012"
AWS_POLICY = "arn:aws:iam::aws:policy"


class Amazon:
    """One program's view of a new account; ``reconnect`` is the next engine on the same account."""

    def __init__(self, directory: Path, patience: float = 0, machines: Fleet | None = None, **config: str) -> None:
        """``machines`` are in the place of the noting fleet, which then is told nothing."""
        self.fleet = NotingFleet()
        self.config = {"region": REGION, **config}
        self.made: list[tuple[str, Created]] = []
        # Nothing else is under way in most tests, so nothing is worth waiting for.
        self.provider: Provider = AwsProvider(directory, machines or self.fleet, patience=patience)
        self.provider.configure(dict(self.config))

    def stop(self) -> None:
        self.provider.close()

    def reconnect(self) -> None:
        self.provider = self.provider.instance()
        self.provider.configure(dict(self.config))

    @property
    def account(self) -> Account:
        """The account that the provider works with."""
        assert isinstance(self.provider, AwsProvider)
        return self.provider.account

    def request(self, type: str, name: str = "it", **more: Any) -> Request:
        return Request(f"urn:pulumi:dev::test::{type}::{name}", type, name, random_seed=name.encode(), **more)

    def check(self, type: str, inputs: Properties, olds: Properties | None = None, name: str = "it") -> Properties:
        accepted, failures = self.provider.check(self.request(type, name), olds or {}, inputs)
        if failures:
            raise ProviderError("; ".join(f"{failure.property}: {failure.reason}" for failure in failures))
        return accepted

    def create(self, type: str, inputs: Properties, name: str = "it") -> Created:
        accepted = self.check(type, inputs, name=name)
        created = self.provider.create(self.request(type, name), accepted, 0)
        self.made.append((type, Created(created.id, created.state, accepted)))
        return self.made[-1][1]

    def preview(self, type: str, inputs: Properties) -> Properties:
        accepted = self.check(type, inputs)
        return self.provider.create(self.request(type, preview=True), accepted, 0).state

    def diff(self, type: str, old: Properties, new: Properties, *ignored: str) -> Diff:
        before = self.check(type, old)
        return self.provider.diff(self.request(type), "id", before, {}, self.check(type, new, before), ignored)

    def update(self, type: str, existing: Created, inputs: Properties, *, preview: bool = False) -> Properties:
        old = existing.inputs or {}
        accepted = self.check(type, inputs, old)
        request = self.request(type, preview=preview)
        return self.provider.update(request, existing.id, old, existing.state, accepted, 0)

    def delete(self, type: str, existing: Created) -> None:
        self.provider.delete(self.request(type), existing.id, existing.inputs or {}, existing.state, 0)

    def read(self, type: str, id: str, inputs: Properties | None = None) -> Created:
        return self.provider.read(self.request(type), id, inputs or {}, {})

    def role(self, name: str, service: str, *policies: str) -> Created:
        """A role that ``service`` may assume, with policies of AWS."""
        role = self.create(ROLE, {"name": name, "assumeRolePolicy": trust(service), "tags": {"a": "b"}}, name)
        for policy in policies:
            inputs = {"role": name, "policyArn": f"{AWS_POLICY}/{policy}"}
            self.create(ATTACHMENT, inputs, f"{name}-{policy}")
        return role

    def network(self) -> list[Created]:
        """A VPC with a private subnet in each of three zones; the subnets."""
        vpc = self.create(VPC, {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": True, "tags": {"Name": "net"}})
        return [
            self.create(SUBNET, subnet(vpc.id, f"{REGION}{letter}", f"10.0.{index}.0/24"), letter)
            for index, letter in enumerate("abc")
        ]

    def cluster(self, **changes: Any) -> Created:
        """A cluster in a network of its own, with the roles of control plane and nodes."""
        subnets = self.network()
        role = self.role("control-plane", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
        self.role("nodes", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")
        return self.create(CLUSTER, cluster(role, subnets, **changes), "cluster")

    def node_group(self, **changes: Any) -> Created:
        """A GPU node group in the subnets of :meth:`cluster`."""
        return self.create(NODE_GROUP, self.group_inputs(**changes), "group")

    def group_inputs(self, **changes: Any) -> Properties:
        return gpu_group(self.subnets(), **changes)

    def admin_group(self, **changes: Any) -> Created:
        """A node group with two nodes in the subnets of :meth:`cluster`."""
        return self.create(NODE_GROUP, cpu_group(self.subnets(), **changes), "admin")

    def subnets(self) -> list[str]:
        return [created.id for type_, created in self.made if type_ == SUBNET]


def trust(service: str) -> str:
    actions = ["sts:AssumeRole", "sts:TagSession"] if service.startswith("pods.") else ["sts:AssumeRole"]
    return document({"Effect": "Allow", "Principal": {"Service": service}, "Action": actions})


def document(*statements: Properties) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def subnet(vpc: str, zone: str = f"{REGION}a", block: str = "10.0.0.0/24") -> Properties:
    return {"vpcId": vpc, "availabilityZone": zone, "cidrBlock": block, "mapPublicIpOnLaunch": False}


def cluster(role: Created, subnets: list[Created], **changes: Any) -> Properties:
    return {
        "name": "gpu-dev",
        "roleArn": role.state["arn"],
        "version": "1.34",
        "vpcConfig": {
            "subnetIds": [each.id for each in subnets],
            "endpointPrivateAccess": True,
            "endpointPublicAccess": True,
            "publicAccessCidrs": ["203.0.113.0/24"],
        },
        "accessConfig": {"authenticationMode": "API"},
        "tags": {"team": "vision"},
        **changes,
    }


def gpu_group(subnets: list[str], **changes: Any) -> Properties:
    """A group of T4 nodes that starts at zero."""
    return {
        "clusterName": "gpu-dev",
        "nodeGroupName": "t4-1",
        "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/nodes",
        "subnetIds": subnets,
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "SPOT",
        "instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge"],
        "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
        "labels": {"team": "vision"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "tags": {"cost": "research"},
        **changes,
    }


def cpu_group(subnets: list[str], **changes: Any) -> Properties:
    """Two nodes without GPUs."""
    inputs = {
        "nodeGroupName": "admin",
        "amiType": "AL2023_x86_64_STANDARD",
        "capacityType": "ON_DEMAND",
        "instanceTypes": ["m6i.large"],
        "scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2},
        "taints": [],
    }
    return gpu_group(subnets, **{**inputs, **changes})
