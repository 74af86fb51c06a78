"""A driver of the simulated AWS provider: the engine's calls in the engine's order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Of, Step
from packages.rehearsal.tests.providers.eks.data import DATA_STEPS
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.eks.base.account import Account as Aws
from rehearsal.providers.store import Store
from rehearsal.simulation import Fleet

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
FILES = "aws:efs/fileSystem:FileSystem"
FILES_POLICY = "aws:efs/fileSystemPolicy:FileSystemPolicy"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
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


def _named(value: Any) -> set[str]:
    """The types that inputs take something of."""
    if isinstance(value, Of):
        return {value.type}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {type for part in parts for type in _named(part)}


_VPC: Final = {"cidrBlock": "10.0.0.0/16"}
_GROUP: Final = {"name": "web", "vpcId": Of(VPC), "egress": []}
_HTTPS: Final = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/16"]}
_S3: Final = {"vpcId": Of(VPC), "serviceName": f"com.amazonaws.{REGION}.s3"}
_ROUTE: Final = {
    "routeTableId": Of(ROUTE_TABLE),
    "destinationCidrBlock": "0.0.0.0/0",
    "gatewayId": Of(INTERNET_GATEWAY),
}
_ASSOCIATION: Final = {"routeTableId": Of(ROUTE_TABLE), "subnetId": Of(SUBNET)}
_GRANT = {"granteePrincipal": "arn:aws:iam::123456789012:role/r", "operations": ["Decrypt", "CreateGrant"]}
_TEMPLATE: Final = {
    "name": "t",
    "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": 100}}],
    "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "optional", "httpPutResponseHopLimit": 1},
    "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": "gpu"}}],
    "tags": {"a": "b"},
}
_TRUST: Final = document(
    {
        "Effect": "Allow",
        "Principal": {"Service": ["eks.amazonaws.com", "ec2.amazonaws.com", "pods.eks.amazonaws.com"]},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
)
_ROLE: Final = {"name": "all", "assumeRolePolicy": _TRUST}
_S3_READ: Final = document({"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"})
_EC2_READ: Final = document({"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"})
_SEND: Final = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
_FILES: Final = {"creationToken": "gpu-dev-shared", "encrypted": True}
_ANY_MOUNT: Final = {"Effect": "Allow", "Principal": "*", "Action": "elasticfilesystem:ClientMount", "Resource": "*"}
_FILES_POLICY: Final = {"fileSystemId": Of(FILES), "policy": document(_ANY_MOUNT)}
_TLS_ONLY: Final = document({**_ANY_MOUNT, "Condition": {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}}})
_MOUNT: Final = {"fileSystemId": Of(FILES), "subnetId": Of(SUBNET), "securityGroups": [Of(SECURITY_GROUP)]}
_QUEUE: Final = {"name": "events", "messageRetentionSeconds": 300}
_RULE: Final = {"name": "spot", "eventPattern": '{"source": ["aws.ec2"]}'}
_TARGET: Final = {"rule": Of(EVENT_RULE), "targetId": "queue", "arn": Of(QUEUE, "arn")}
_CLUSTER: Final = {
    "name": "gpu-dev",
    "roleArn": Of(ROLE, "arn"),
    "version": "1.34",
    "vpcConfig": {"subnetIds": [Of(SUBNET), Of(SUBNET, nth=1)]},
    "accessConfig": {"authenticationMode": "API"},
    "encryptionConfig": {"provider": {"keyArn": Of(KEY, "arn")}, "resources": ["secrets"]},
    "enabledClusterLogTypes": ["api", "audit"],
}
_ADDON: Final = {"clusterName": Of(CLUSTER), "addonName": "vpc-cni"}
_ENTRY: Final = {"clusterName": Of(CLUSTER), "principalArn": f"arn:aws:iam::{ACCOUNT}:role/operators"}
_VIEW: Final = {
    "clusterName": Of(CLUSTER),
    "principalArn": Of(ENTRY, "principalArn"),
    "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
    "accessScope": {"type": "cluster"},
}
_IDENTITY: Final = {
    "clusterName": Of(CLUSTER),
    "namespace": "kube-system",
    "serviceAccount": "aws-node",
    "roleArn": Of(ROLE, "arn"),
}
_NODES: Final = {
    **gpu_group([]),
    "clusterName": Of(CLUSTER),
    "nodeRoleArn": Of(ROLE, "arn"),
    "subnetIds": [Of(SUBNET), Of(SUBNET, nth=1)],
}
_TAG: Final = {"key": "k", "value": "v", "propagateAtLaunch": False}
_ASG_TAG: Final = {"autoscalingGroupName": Of(NODE_GROUP, "resources.0.autoscalingGroups.0.name"), "tag": _TAG}

AFTER: Final[Mapping[str, tuple[str, ...]]] = {NAT: (INTERNET_GATEWAY,), NODE_GROUP: (ATTACHMENT,)}
"""What a type needs that its inputs do not name."""

STEPS: Final = (
    Step(VPC, _VPC, {**_VPC, "enableDnsHostnames": True, "tags": {"a": "b"}}, {"cidrBlock": "10.1.0.0/16"}, "another"),
    Step(SUBNET, subnet(Of(VPC)), {**subnet(Of(VPC)), "mapPublicIpOnLaunch": True}, subnet(Of(VPC), f"{REGION}b")),
    Step(
        SUBNET,
        subnet(Of(VPC), f"{REGION}b", "10.0.1.0/24"),
        {**subnet(Of(VPC), f"{REGION}b", "10.0.1.0/24"), "tags": {"a": "b"}},
        subnet(Of(VPC), f"{REGION}b", "10.0.2.0/24"),
    ),
    Step(INTERNET_GATEWAY, {"vpcId": Of(VPC)}, {"vpcId": Of(VPC), "tags": {"a": "b"}}, None, "another"),
    Step(EIP, {"tags": {"Name": "nat"}}, {"tags": {}}, {"address": "203.0.113.1"}, "another"),
    Step(
        NAT,
        {"subnetId": Of(SUBNET), "allocationId": Of(EIP)},
        {"subnetId": Of(SUBNET), "allocationId": Of(EIP), "tags": {"a": "b"}},
        {"subnetId": Of(SUBNET, nth=1), "allocationId": Of(EIP)},
    ),
    Step(
        ROUTE_TABLE,
        {"vpcId": Of(VPC)},
        {"vpcId": Of(VPC), "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": Of(INTERNET_GATEWAY)}]},
        {"vpcId": "other"},
        "another",
    ),
    Step(ROUTE, _ROUTE, None, {**_ROUTE, "destinationCidrBlock": "10.9.0.0/16"}),
    Step(ASSOCIATION, _ASSOCIATION, None, {**_ASSOCIATION, "subnetId": Of(SUBNET, nth=1)}),
    Step(SECURITY_GROUP, _GROUP, {**_GROUP, "ingress": [_HTTPS]}, {**_GROUP, "description": "d"}),
    Step(
        DEFAULT_GROUP,
        {"vpcId": Of(VPC), "ingress": [], "egress": []},
        {"vpcId": Of(VPC), "ingress": [_HTTPS], "egress": []},
        {"vpcId": "other"},
        "same",
    ),
    Step(
        ENDPOINT,
        {**_S3, "vpcEndpointType": "Interface", "subnetIds": [Of(SUBNET)], "securityGroupIds": [Of(SECURITY_GROUP)]},
        {**_S3, "vpcEndpointType": "Interface", "subnetIds": [], "securityGroupIds": [Of(SECURITY_GROUP)]},
        _S3,
        "another",
    ),
    Step(TEMPLATE, _TEMPLATE, {**_TEMPLATE, "metadataOptions": {"httpTokens": "required"}}, {**_TEMPLATE, "name": "u"}),
    Step(KEY, {}, {"enableKeyRotation": True}, {"multiRegion": True}, "another"),
    Step(GRANT, {**_GRANT, "keyId": Of(KEY, "arn")}, None, {**_GRANT, "keyId": Of(KEY, "arn"), "name": "g"}, "another"),
    Step(ALIAS, {"name": "alias/a", "targetKeyId": Of(KEY)}, None, {"name": "alias/b", "targetKeyId": Of(KEY)}),
    Step(ROLE, _ROLE, {**_ROLE, "description": "d", "tags": {"a": "b"}}, {**_ROLE, "path": "/x/"}),
    Step(
        ROLE_POLICY,
        {"role": Of(ROLE), "name": "p", "policy": _S3_READ},
        {"role": Of(ROLE), "name": "p", "policy": _EC2_READ},
        {"role": Of(ROLE), "name": "q", "policy": _S3_READ},
        "same",
    ),
    Step(
        ATTACHMENT,
        {"role": Of(ROLE), "policyArn": f"{AWS_POLICY}/AmazonEKSWorkerNodePolicy"},
        None,
        {"role": Of(ROLE), "policyArn": f"{AWS_POLICY}/AmazonEKSClusterPolicy"},
        "same",
    ),
    Step(PROFILE, {"name": "p"}, {"name": "p", "role": Of(ROLE)}, {"name": "p", "path": "/x/"}),
    Step(FILES, _FILES, {**_FILES, "tags": {"a": "b"}}, {**_FILES, "encrypted": False}),
    Step(FILES_POLICY, _FILES_POLICY, {**_FILES_POLICY, "policy": _TLS_ONLY}, None, "same"),
    Step(MOUNT_TARGET, _MOUNT, {**_MOUNT, "securityGroups": []}, {**_MOUNT, "subnetId": Of(SUBNET, nth=1)}),
    Step(LOG_GROUP, {"name": "g"}, {"name": "g", "retentionInDays": 30}, {"name": "h"}),
    Step(QUEUE, _QUEUE, {**_QUEUE, "messageRetentionSeconds": 600}, {**_QUEUE, "name": "other"}, "same"),
    Step(
        QUEUE_POLICY,
        {"queueUrl": Of(QUEUE), "policy": document(_SEND)},
        {"queueUrl": Of(QUEUE), "policy": document({**_SEND, "Sid": "x"})},
        {"queueUrl": "other", "policy": document(_SEND)},
        "same",
    ),
    *DATA_STEPS,
    Step(EVENT_RULE, _RULE, {**_RULE, "eventPattern": "{}"}, {**_RULE, "name": "other"}, "same"),
    Step(EVENT_TARGET, _TARGET, None, {**_TARGET, "targetId": "other"}, "same"),
    Step(CLUSTER, _CLUSTER, {**_CLUSTER, "tags": {"a": "b"}}, {**_CLUSTER, "name": "other"}),
    Step(ADDON, _ADDON, {**_ADDON, "tags": {"a": "b"}}, {**_ADDON, "addonName": "kube-proxy"}),
    Step(ENTRY, _ENTRY, {**_ENTRY, "kubernetesGroups": ["team"]}, {**_ENTRY, "type": "EC2_LINUX"}),
    Step(POLICY_ASSOCIATION, _VIEW, None, {**_VIEW, "accessScope": {"type": "namespace", "namespaces": ["a"]}}, "same"),
    Step(POD_IDENTITY, _IDENTITY, {**_IDENTITY, "tags": {"a": "b"}}, {**_IDENTITY, "namespace": "other"}),
    Step(NODE_GROUP, _NODES, {**_NODES, "labels": {"team": "speech"}}, {**_NODES, "capacityType": "ON_DEMAND"}),
    Step(
        ASG_TAG,
        _ASG_TAG,
        {**_ASG_TAG, "tag": {**_TAG, "value": "w"}},
        {**_ASG_TAG, "tag": {**_TAG, "key": "l"}},
        "same",
    ),
)
