"""Rights of the AWS Load Balancer Controller, which users install (docs/networking.md), for its service account alone.

Those of the controller's own policy, release 3.5, without its support of IP pools and of local gateways:
https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/docs/install/iam_policy.json. Where that asks
for the controller's tag it has to be this cluster's here, and security groups are those of this cluster's network.
"""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.context import Context

CONTROLLER: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account, as the controller's chart has them."""

# The controller puts this tag on whatever it makes, but not on listeners and rules of earlier releases.
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
_DOORS: Final = ("ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress")


def controller_policy(context: Context) -> pulumi.Output[str]:
    """What the controller may do, as a policy document."""
    cluster, region = context.settings.cluster_name, context.settings.region

    def document(found: list[Any]) -> str:
        partition, account, vpc = found
        ec2 = f"arn:{partition}:ec2:{region}:{account}"
        elb = f"arn:{partition}:elasticloadbalancing:{region}:{account}"
        groups, network = f"{ec2}:security-group/*", f"{ec2}:vpc/{vpc}"
        balancers = [f"{elb}:{kind}/*" for kind in ("loadbalancer", "targetgroup")]
        of_listeners = [f"{elb}:{kind}/*" for kind in ("listener", "listener-rule")]
        made_here = {f"aws:RequestTag/{_TAG}": cluster}
        ours = {f"aws:ResourceTag/{_TAG}": cluster}
        not_the_tag_itself = {"Null": {f"aws:RequestTag/{_TAG}": "true"}}
        change_tags = {"StringEquals": ours, **not_the_tag_itself}
        return policy.document(
            policy.allow("See", _READ, "*"),
            policy.allow("CertificatesAndFirewalls", _CERTIFICATES_AND_FIREWALLS, "*"),
            # ELB makes the role of an account's first load balancer with its caller's rights.
            policy.allow(
                "MakeTheRoleOfLoadBalancers",
                ["iam:CreateServiceLinkedRole"],
                "*",
                {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
            ),
            # Nodes are behind the group that EKS made, which does not carry the tag.
            policy.allow("OpenNodes", _DOORS, groups, {"ArnEquals": {"ec2:Vpc": network}}),
            policy.allow("RulesOfGroups", _DOORS, f"{ec2}:security-group-rule/*"),
            policy.allow("MakeGroups", ["ec2:CreateSecurityGroup"], [groups, network]),
            policy.allow(
                "TagGroupsInMaking",
                ["ec2:CreateTags"],
                groups,
                {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup", **made_here}},
            ),
            policy.allow("TagGroups", ["ec2:CreateTags", "ec2:DeleteTags"], groups, change_tags),
            policy.allow("RemoveGroups", ["ec2:DeleteSecurityGroup"], groups, {"StringEquals": ours}),
            policy.allow(
                "Make",
                ["elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"],
                "*",
                {"StringEquals": made_here},
            ),
            policy.allow(
                "TagInMaking",
                ["elasticloadbalancing:AddTags"],
                balancers,
                {
                    "StringEquals": {
                        "elasticloadbalancing:CreateAction": ["CreateTargetGroup", "CreateLoadBalancer"],
                        **made_here,
                    }
                },
            ),
            policy.allow(
                "Tag", ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"], balancers, change_tags
            ),
            policy.allow(
                "TagListeners", ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"], of_listeners
            ),
            policy.allow("Change", _CHANGE, "*", {"StringEquals": ours}),
            policy.allow("Targets", _TARGETS, f"{elb}:targetgroup/*"),
            policy.allow("ListenersAndRules", _LISTENERS_AND_RULES, "*"),
        )

    return pulumi.Output.all(context.account.partition, context.account.id, context.network.vpc).apply(document)
