"""The requests that Karpenter makes for one NodePool, as IAM judges them.

https://karpenter.sh/v1.8/reference/cloudformation/#karpentercontrollerpolicy. An EC2 request is judged for every
resource that it touches: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rehearsal.providers.aws.autoscaling.policies import Call, request_tags, resource_tags

READS: Final = (
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
)
_QUEUE: Final = ("sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage")
_PROFILE: Final = ("iam:GetInstanceProfile", "iam:AddRoleToInstanceProfile")
_PARAMETERS: Final = {
    "al2023": "eks/optimized-ami/{version}/amazon-linux-2023/x86_64/standard/recommended/image_id",
    "bottlerocket": "bottlerocket/aws-k8s-{version}/x86_64/latest/image_id",
}


@dataclass(frozen=True)
class NodeClass:
    """An EC2NodeClass with what its selectors find in the account.

    ``image`` is ``al2023``, ``bottlerocket`` or another family; ``by_alias``: found through AWS's published parameters.
    ``identity`` says in words what gives nodes their role (``instance profile x``), ``node_role`` is that role's ARN,
    ``""`` where there is none; ``own_profile``: Karpenter has to make the instance profile. ``entry_type`` is the type
    of the role's access entry, ``""`` where it has none.
    """

    name: str
    image: str
    by_alias: bool
    zones: tuple[str, ...]
    subnets: tuple[str, ...]
    security_groups: tuple[str, ...]
    identity: str
    node_role: str
    own_profile: bool
    entry_type: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """For whom machines are made. ``queue_arn`` is ``""`` where Karpenter reads no queue."""

    region: str
    account: str
    cluster: str
    version: str
    pool: str
    spot: bool
    queue_arn: str
    context: Mapping[str, str]

    def ec2(self, kind: str, id: str, *, published: bool = False) -> str:
        """An EC2 resource's ARN; one that is ``published`` belongs to no account."""
        return f"arn:aws:ec2:{self.region}:{'' if published else self.account}:{kind}/{id}"


def calls(request: Request, node_class: NodeClass) -> list[Call]:
    """Everything that must be allowed before a node of the NodePool can come and go."""
    return [
        *(Call(action, "*", request.context) for action in READS),
        *_launches(request, node_class),
        *_identities(request, node_class),
        *_others(request, node_class),
    ]


def _launches(request: Request, node_class: NodeClass) -> Iterator[Call]:
    tags = {
        **node_class.tags,
        f"kubernetes.io/cluster/{request.cluster}": "owned",
        "karpenter.sh/nodepool": request.pool,
        "eks:eks-cluster-name": request.cluster,
        "karpenter.k8s.aws/ec2nodeclass": node_class.name,
    }
    template = request.ec2("launch-template", "lt-0")
    new = {**request.context, **request_tags(tags)}
    own = {**request.context, **resource_tags(tags, "ec2")}
    yield Call("ec2:CreateLaunchTemplate", template, new)
    for action in ("ec2:RunInstances", "ec2:CreateFleet"):
        yield Call(action, template, own)
    yield Call("ec2:CreateFleet", request.ec2("fleet", "fleet-0"), new)
    yield Call("ec2:RunInstances", request.ec2("image", "ami-0", published=True), request.context)
    for kind, ids in (("subnet", node_class.subnets), ("security-group", node_class.security_groups)):
        for id in ids:
            yield Call("ec2:RunInstances", request.ec2(kind, id), request.context)
    for kind, id in (("instance", "i-0"), ("volume", "vol-0"), ("network-interface", "eni-0")):
        yield Call("ec2:RunInstances", request.ec2(kind, id), new)
    made = {"CreateLaunchTemplate": ("launch-template", "lt-0"), "CreateFleet": ("fleet", "fleet-0")}
    for maker, (kind, id) in {**made, "RunInstances": ("instance", "i-0")}.items():
        yield Call("ec2:CreateTags", request.ec2(kind, id), {**new, "ec2:CreateAction": maker})
    yield Call("ec2:TerminateInstances", request.ec2("instance", "i-0"), own)


def _identities(request: Request, node_class: NodeClass) -> Iterator[Call]:
    passed = {**request.context, "iam:PassedToService": "ec2.amazonaws.com"}
    yield Call("iam:PassRole", node_class.node_role, passed)
    if not node_class.own_profile:
        return
    tags = {
        f"kubernetes.io/cluster/{request.cluster}": "owned",
        "eks:eks-cluster-name": request.cluster,
        "karpenter.k8s.aws/ec2nodeclass": node_class.name,
        "topology.kubernetes.io/region": request.region,
    }
    profile = f"arn:aws:iam::{request.account}:instance-profile/karpenter/{request.cluster}"
    yield Call("iam:CreateInstanceProfile", profile, {**request.context, **request_tags(tags)})
    for action in _PROFILE:
        yield Call(action, profile, {**request.context, **resource_tags(tags)})


def _others(request: Request, node_class: NodeClass) -> Iterator[Call]:
    cluster = f"arn:aws:eks:{request.region}:{request.account}:cluster/{request.cluster}"
    if node_class.image == "al2023":
        # Its nodes need the cluster's service range before they start.
        yield Call("eks:DescribeCluster", cluster, request.context)
    if node_class.by_alias and node_class.image in _PARAMETERS:
        path = _PARAMETERS[node_class.image].format(version=request.version)
        yield Call("ssm:GetParameter", f"arn:aws:ssm:{request.region}::parameter/aws/service/{path}", request.context)
    if request.queue_arn:
        for action in _QUEUE:
            yield Call(action, request.queue_arn, request.context)
