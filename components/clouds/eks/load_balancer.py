"""IAM permissions of the AWS Load Balancer Controller, for its service account only (docs/networking.md).

After the controller's own policy, release 3.5, without IP pools and local gateways:
https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/docs/install/iam_policy.json. Where that
requires the controller's tag, this policy requires this cluster's, and security groups must be in its VPC.
"""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.context import Context

CONTROLLER: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account, as the controller's chart has them."""

# The controller tags its resources with it, except listeners and rules of earlier releases.
_TAG: Final = "elbv2.k8s.aws/cluster"

_READ: Final = (
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
    "ec2:GetSecurityGroupsForVpc",
    "elasticloadbalancing:DescribeCapacityReservation",
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
_CERTIFICATES_AND_FIREWALLS: Final = (
    "acm:DescribeCertificate",
    "acm:ListCertificates",
    "cognito-idp:DescribeUserPoolClient",
    "iam:GetServerCertificate",
    "iam:ListServerCertificates",
    "shield:CreateProtection",
    "shield:DeleteProtection",
    "shield:DescribeProtection",
    "shield:GetSubscriptionState",
    "wafv2:AssociateWebACL",
    "wafv2:DisassociateWebACL",
    "wafv2:GetWebACL",
    "wafv2:GetWebACLForResource",
)
_LISTENERS_AND_RULES: Final = (
    "elasticloadbalancing:AddListenerCertificates",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateRule",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteRule",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyRule",
    "elasticloadbalancing:RemoveListenerCertificates",
    "elasticloadbalancing:SetRulePriorities",
    "elasticloadbalancing:SetWebAcl",
)
_CHANGE: Final = (
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:ModifyCapacityReservation",
    "elasticloadbalancing:ModifyListenerAttributes",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:SetIpAddressType",
    "elasticloadbalancing:SetSecurityGroups",
    "elasticloadbalancing:SetSubnets",
)
_TARGETS: Final = ("elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:RegisterTargets")
_INGRESS_ACTIONS: Final = ("ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress")


def controller_policy(context: Context) -> pulumi.Output[str]:
    """The controller's policy document."""
    cluster, region = context.settings.cluster_name, context.settings.region

    def document(values: list[Any]) -> str:
        partition, account, vpc = values
        ec2 = f"arn:{partition}:ec2:{region}:{account}"
        elb = f"arn:{partition}:elasticloadbalancing:{region}:{account}"
        # Of a shared VPC the ARN has its owner's account; ids are unique in a region.
        groups, network = f"{ec2}:security-group/*", f"arn:{partition}:ec2:{region}:*:vpc/{vpc}"
        balancers = [f"{elb}:{kind}/*" for kind in ("loadbalancer", "targetgroup")]
        of_listeners = [f"{elb}:{kind}/*" for kind in ("listener", "listener-rule")]
        requested_tag = {f"aws:RequestTag/{_TAG}": cluster}
        owned = {f"aws:ResourceTag/{_TAG}": cluster}
        without_cluster_tag = {"Null": {f"aws:RequestTag/{_TAG}": "true"}}
        change_tags = {"StringEquals": owned, **without_cluster_tag}
        return policy.document(
            policy.allow("AllowRead", _READ, "*"),
            policy.allow("AllowCertificatesAndFirewalls", _CERTIFICATES_AND_FIREWALLS, "*"),
            # ELB creates this role with the first load balancer of an account, for its caller.
            policy.allow(
                "AllowLoadBalancerServiceLinkedRole",
                ["iam:CreateServiceLinkedRole"],
                "*",
                {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
            ),
            # The nodes' security group was created by EKS and does not have the tag.
            policy.allow("AllowNodeIngress", _INGRESS_ACTIONS, groups, {"ArnEquals": {"ec2:Vpc": network}}),
            policy.allow("AllowSecurityGroupRules", _INGRESS_ACTIONS, f"{ec2}:security-group-rule/*"),
            policy.allow("AllowCreatingSecurityGroups", ["ec2:CreateSecurityGroup"], [groups, network]),
            policy.allow(
                "AllowTaggingNewSecurityGroups",
                ["ec2:CreateTags"],
                groups,
                {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup", **requested_tag}},
            ),
            policy.allow("AllowTaggingSecurityGroups", ["ec2:CreateTags", "ec2:DeleteTags"], groups, change_tags),
            policy.allow("AllowDeletingSecurityGroups", ["ec2:DeleteSecurityGroup"], groups, {"StringEquals": owned}),
            policy.allow(
                "AllowCreatingLoadBalancers",
                ["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"],
                "*",
                {"StringEquals": requested_tag},
            ),
            policy.allow(
                "AllowTaggingNewLoadBalancers",
                ["elasticloadbalancing:AddTags"],
                balancers,
                {
                    "StringEquals": {
                        "elasticloadbalancing:CreateAction": ["CreateTargetGroup", "CreateLoadBalancer"],
                        **requested_tag,
                    }
                },
            ),
            policy.allow(
                "AllowTaggingLoadBalancers",
                ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"],
                balancers,
                change_tags,
            ),
            policy.allow(
                "AllowTaggingListeners",
                ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"],
                of_listeners,
            ),
            policy.allow("AllowChangingLoadBalancers", _CHANGE, "*", {"StringEquals": owned}),
            policy.allow("AllowRegisteringTargets", _TARGETS, f"{elb}:targetgroup/*"),
            policy.allow("AllowListenersAndRules", _LISTENERS_AND_RULES, "*"),
        )

    return pulumi.Output.all(context.account.partition, context.account.id, context.network.vpc).apply(document)
