"""A driver of the simulated AWS provider: the engine's calls in the engine's order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Of, Step
from packages.rehearsal.tests.providers.eks.tables import table
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.cloud import Store
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.eks.cloud import Account as Aws
from rehearsal.simulation import Fleet

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
NAT = "aws:ec2/natGateway:NatGateway"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
KEY = "aws:kms/key:Key"
GRANT = "aws:kms/grant:Grant"
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


class Amazon(Account):
    """One program's view of a new account; ``restart`` is the next engine on the same account."""

    provider_type = AwsProvider
    settings: ClassVar[dict[str, str]] = {"region": REGION}
    missing = r"NotFound|NoSuchEntity|NonExistent|No cluster found|cannot be found"
    absent: ClassVar[Mapping[str, str]] = {
        "vpcId": "vpc-0",
        "subnetId": "subnet-0",
        "subnetIds": "subnet-0",
        "routeTableId": "rtb-0",
        "allocationId": "eipalloc-0",
    }
    in_use = "DependencyViolation"
    on_disk = False
    provider: AwsProvider

    def __init__(self, directory: Path, patience: float = 0, machines: Fleet | None = None, **config: str) -> None:
        """``machines`` are in the place of the noting fleet, which then receives nothing."""
        # Nothing else is under way in most tests, so nothing is worth waiting for.
        self._patience, self._machines = patience, machines
        super().__init__(directory, **config)

    @classmethod
    @override
    def steps(cls) -> Sequence[Step]:
        return STEPS

    @classmethod
    @override
    def needed(cls, step: Step) -> Sequence[Step]:
        """Those that it names, with those that they name; a whole account takes too long for each."""
        types, every = {step.type}, list(STEPS[: STEPS.index(step)])
        for each in reversed((*every, step)):
            if each.type in types:
                types |= _named([each.inputs, each.update, each.replace]) | {*AFTER.get(each.type, ())}
        return [each for each in every if each.type in types - {step.type}]

    @override
    def new_provider(self) -> AwsProvider:
        provider = AwsProvider(self.directory, self._machines or self.fleet, patience=self._patience)
        provider.configure(dict(self.config))
        return provider

    @override
    def restart(self) -> None:
        self.provider = self.provider.instance()
        self.provider.configure(dict(self.config))

    @override
    def store(self) -> Store:
        return self.account.store

    @property
    def account(self) -> Aws:
        """The account that the provider works with."""
        return self.provider.account

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


def subnet(vpc: str | Of, zone: str = f"{REGION}a", block: str = "10.0.0.0/24") -> Properties:
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
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
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
    kind = {"nodeGroupName": "admin", "amiType": "AL2023_x86_64_STANDARD", "capacityType": "ON_DEMAND", "taints": []}
    inputs = {**kind, "instanceTypes": ["m6i.large"], "scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2}}
    return gpu_group(subnets, **{**inputs, **changes})


def _named(value: Any) -> set[str]:
    """The types that inputs take something of."""
    if isinstance(value, Of):
        return {value.type}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type for part in parts for type in _named(part)}


AFTER: Final[Mapping[str, tuple[str, ...]]] = {NAT: (INTERNET_GATEWAY,), NODE_GROUP: (ATTACHMENT,)}
"""What a type needs that its inputs do not name."""

STEPS: Final = tuple(Step(**{"update": None, "replace": None, **each}) for each in table("account"))


REPOSITORY = "aws:ecr/repository:Repository"
IMAGES_EXPIRE = "aws:ecr/lifecyclePolicy:LifecyclePolicy"
BUCKET = "aws:s3/bucket:Bucket"
BUCKET_LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"


def expiring(days: int) -> str:
    """A lifecycle policy of a repository: untagged images go after ``days``."""
    selection = {"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": days}
    return json.dumps({"rules": [{"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}]})
