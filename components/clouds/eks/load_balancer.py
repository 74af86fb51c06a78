"""Rights of the AWS Load Balancer Controller, which people install themselves, for its service account alone.

The controller's own policy allows more than its work in one cluster; here every change is limited to what carries the
cluster's tag: https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/installation/
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.context import Context

CONTROLLER: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account, as the controller's chart has them."""

# The controller puts this tag on whatever it makes.
_TAG: Final = "elbv2.k8s.aws/cluster"

_READ: Final = (
    "acm:DescribeCertificate",
    "acm:ListCertificates",
    "ec2:DescribeAccountAttributes",
    "ec2:DescribeAddresses",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVpcPeeringConnections",
    "ec2:DescribeVpcs",
    "ec2:GetCoipPoolUsage",
    "elasticloadbalancing:DescribeListenerAttributes",
    "elasticloadbalancing:DescribeListenerCertificates",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeSSLPolicies",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DescribeTrustStores",
)
_CREATE: Final = (
    "ec2:CreateSecurityGroup",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateRule",
)
_CHANGE: Final = (
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteSecurityGroup",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddListenerCertificates",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteRule",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyListenerAttributes",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyRule",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:RemoveListenerCertificates",
    "elasticloadbalancing:RemoveTags",
    "elasticloadbalancing:SetIpAddressType",
    "elasticloadbalancing:SetSecurityGroups",
    "elasticloadbalancing:SetSubnets",
)


def controller_policy(context: Context) -> pulumi.Output[str]:
    """What the controller may do: see everything of its kind, change what is tagged as this cluster's."""
    name, region = context.settings.cluster_name, context.settings.region

    def document(found: list[str]) -> str:
        partition, account = found
        ec2 = f"arn:{partition}:ec2:{region}:{account}"
        made_here = {"StringEquals": {f"aws:RequestTag/{_TAG}": name}}
        ours = {"StringEquals": {f"aws:ResourceTag/{_TAG}": name}}
        return policy.document(
            policy.allow("See", _READ, "*"),
            policy.allow("Create", _CREATE, "*", made_here),
            # A security group is made in a VPC, which does not carry the tag.
            policy.allow("CreateInVpc", ["ec2:CreateSecurityGroup"], f"{ec2}:vpc/*"),
            policy.allow(
                "TagOnCreation",
                ["ec2:CreateTags", "elasticloadbalancing:AddTags"],
                [f"{ec2}:security-group/*", f"arn:{partition}:elasticloadbalancing:{region}:{account}:*"],
                made_here,
            ),
            policy.allow("Change", _CHANGE, "*", ours),
        )

    return pulumi.Output.all(context.account.partition, context.account.id).apply(document)
