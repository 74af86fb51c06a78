"""Karpenter's IAM permissions: launch, tag and terminate instances of this cluster, and describe resources.

After https://karpenter.sh/v1.14/reference/cloudformation/, without permissions for features that the
program does not use: managing instance profiles (the nodes' own is declared), placement groups, zonal shift. Statement
ids are those of that template.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from components.clouds.eks import disk_key, policy

READ_ACTIONS: Final = (
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
)
QUEUE_ACTIONS: Final = ("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")

_CREATED: Final = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_NODE_POOL: Final = "karpenter.sh/nodepool"


@dataclass(frozen=True, kw_only=True)
class RightsScope:
    """The scope of the permissions, by names, which are known before the resources exist.

    ``node_role`` is a name with its path, ``/name``. ``spot``: whether any pool uses spot. ``disk_key`` is the
    customer's key, if any.
    """

    partition: str
    account: str
    region: str
    cluster: str
    queue: str
    node_role: str
    spot: bool
    disk_key: str | None = None

    def ec2(self, *kinds: str) -> list[str]:
        """ARNs of all EC2 resources of these kinds in the account and region."""
        return [f"arn:{self.partition}:ec2:{self.region}:{self.account}:{kind}/*" for kind in kinds]

    def public(self, *kinds: str) -> list[str]:
        """ARNs of what AWS publishes in the region and no account owns."""
        return [f"arn:{self.partition}:ec2:{self.region}::{kind}/*" for kind in kinds]

    def shared(self, *kinds: str) -> list[str]:
        """ARNs of what another account may share with this one; they have the owner's account.

        https://github.com/terraform-aws-modules/terraform-aws-iam/issues/227
        """
        return [f"arn:{self.partition}:ec2:{self.region}:*:{kind}/*" for kind in kinds]


def rights(scope: RightsScope) -> str:
    """The controller's policy document."""
    iam = f"arn:{scope.partition}:iam::{scope.account}"
    requested = _tagged("Request", scope.cluster, {"aws:RequestTag/eks:eks-cluster-name": scope.cluster})
    owned = _tagged("Resource", scope.cluster, {})
    on_creation = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    return policy.document(
        policy.allow(
            "AllowScopedEC2InstanceAccessActions",
            ["ec2:RunInstances", "ec2:CreateFleet"],
            [
                *scope.public("image", "snapshot"),
                *scope.ec2("security-group"),
                *scope.shared("subnet", "capacity-reservation"),
            ],
        ),
        policy.allow(
            "AllowScopedEC2LaunchTemplateAccessActions",
            ["ec2:RunInstances", "ec2:CreateFleet"],
            scope.ec2("launch-template"),
            owned,
        ),
        policy.allow(
            "AllowScopedEC2InstanceActionsWithTags",
            ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"],
            scope.ec2(*_CREATED),
            requested,
        ),
        policy.allow(
            "AllowScopedResourceCreationTagging",
            ["ec2:CreateTags"],
            scope.ec2(*_CREATED),
            {**requested, "StringEquals": {**requested["StringEquals"], **on_creation}},
        ),
        policy.allow(
            "AllowScopedResourceTagging",
            ["ec2:CreateTags"],
            scope.ec2("instance"),
            {
                **owned,
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": scope.cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        policy.allow(
            "AllowScopedDeletion",
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            scope.ec2("instance", "launch-template"),
            owned,
        ),
        policy.allow(
            "AllowRegionalReadActions", READ_ACTIONS, "*", {"StringEquals": {"aws:RequestedRegion": scope.region}}
        ),
        policy.allow(
            "AllowSSMReadActions",
            ["ssm:GetParameter"],
            f"arn:{scope.partition}:ssm:{scope.region}::parameter/aws/service/*",
        ),
        policy.allow("AllowPricingReadActions", ["pricing:GetProducts"], "*"),
        policy.allow(
            "AllowInterruptionQueueActions",
            QUEUE_ACTIONS,
            f"arn:{scope.partition}:sqs:{scope.region}:{scope.account}:{scope.queue}",
        ),
        policy.allow(
            "AllowPassingInstanceRole",
            ["iam:PassRole"],
            f"{iam}:role{scope.node_role}",
            {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        policy.allow("AllowInstanceProfileReadActions", ["iam:GetInstanceProfile"], f"{iam}:instance-profile/*"),
        policy.allow("AllowUnscopedInstanceProfileListAction", ["iam:ListInstanceProfiles"], "*"),
        policy.allow(
            "AllowAPIServerEndpointDiscovery",
            ["eks:DescribeCluster"],
            f"arn:{scope.partition}:eks:{scope.region}:{scope.account}:cluster/{scope.cluster}",
        ),
        *(_spot_service_linked_role(iam) if scope.spot else ()),
        *disk_key.uses(scope.disk_key),
    )


def _spot_service_linked_role(iam: str) -> Iterator[policy.Statement]:
    """The permission to create the account's service-linked role for spot instances, which EC2 creates for its caller.

    Without it an account that never used spot gets no instance:
    https://karpenter.sh/v1.14/troubleshooting/#missing-service-linked-role. The role is not declared, because
    an account has only one and a second stack could not create it. Auto Scaling has the same permission:
    https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AutoScalingServiceRolePolicy.html
    """
    yield policy.allow(
        "AllowSpotServiceLinkedRole",
        ["iam:CreateServiceLinkedRole"],
        f"{iam}:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot",
        {"StringEquals": {"iam:AWSServiceName": "spot.amazonaws.com"}},
    )


def _tagged(kind: str, cluster: str, further: dict[str, str]) -> dict[str, Any]:
    """A condition on Karpenter's tags, in the request or on the resource."""
    return {
        "StringEquals": {f"aws:{kind}Tag/kubernetes.io/cluster/{cluster}": "owned", **further},
        "StringLike": {f"aws:{kind}Tag/{_NODE_POOL}": "*"},
    }
