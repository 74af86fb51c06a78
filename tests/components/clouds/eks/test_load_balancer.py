"""The load-balancer addon on EKS: the controller may do its work, in its own cluster, and has two zones for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.settings.cluster import ExistingNetwork
from facts.concepts.iam import AuthorizationRequest, allows, parsed
from tests import eks_answers
from tests.components import eks_specs
from tests.tables import cases

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"


def test_load_balancers_are_rights_of_one_service_account_over_what_is_tagged() -> None:
    recording = eks_specs.recorded(cluster={"addons": ("load-balancer",)})
    statements = eks_specs.rights(recording, "aws-load-balancer-controller")
    # What would let it take over nodes or another cluster's load balancers is tied to the cluster or its network.
    wide = {
        action
        for statement in statements
        if statement["Resource"] == "*" and "elbv2.k8s.aws/cluster" not in json.dumps(statement.get("Condition", {}))
        for action in statement["Action"]
    }
    assert not {action for action in wide if action.startswith("ec2:")} - {
        action for action in wide if action.startswith(("ec2:Describe", "ec2:Get"))
    }
    assert not wide & {"elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:CreateLoadBalancer"}
    assert len(json.dumps(statements, separators=(",", ":"))) < 10240  # all of a role's own policies together


# Called by the controller, release 3.5, for what people make first: an Ingress and a Service of type LoadBalancer with
# targets by address. https://github.com/kubernetes-sigs/aws-load-balancer-controller/tree/main/pkg
TAG = "elbv2.k8s.aws/cluster"
EC2, ELB = "arn:aws:ec2:us-west-2:123456789012", "arn:aws:elasticloadbalancing:us-west-2:123456789012"
MADE_HERE = {f"aws:RequestTag/{TAG}": "gpu-test"}
OURS = {f"aws:ResourceTag/{TAG}": "gpu-test"}
IN_OUR_NETWORK = {"ec2:Vpc": f"{EC2}:vpc/cluster-vpc-id"}
CALLS = {
    "a load balancer": ("elasticloadbalancing:CreateLoadBalancer", f"{ELB}:loadbalancer/app/x/1", MADE_HERE),
    "the first one of the account": (
        "iam:CreateServiceLinkedRole",
        "arn:aws:iam::123456789012:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForELB",
        {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"},
    ),
    "a listener": ("elasticloadbalancing:CreateListener", f"{ELB}:loadbalancer/app/x/1", OURS),
    "an order of rules": ("elasticloadbalancing:SetRulePriorities", f"{ELB}:listener-rule/app/x/1/2/3", {}),
    "tags of a listener": ("elasticloadbalancing:AddTags", f"{ELB}:listener/app/x/1/2", MADE_HERE),
    "targets": ("elasticloadbalancing:RegisterTargets", f"{ELB}:targetgroup/x/1", {}),
    "groups of the network": ("ec2:GetSecurityGroupsForVpc", f"{EC2}:vpc/cluster-vpc-id", {}),
    "a door to the nodes, whose group EKS made": (
        "ec2:AuthorizeSecurityGroupIngress",
        f"{EC2}:security-group/sg-of-the-cluster",
        IN_OUR_NETWORK,
    ),
    "a group of its own": ("ec2:CreateSecurityGroup", f"{EC2}:security-group/sg-1", MADE_HERE),
    "that group's network": ("ec2:CreateSecurityGroup", f"{EC2}:vpc/cluster-vpc-id", {}),
    "that group's tag": (
        "ec2:CreateTags",
        f"{EC2}:security-group/sg-1",
        {"ec2:CreateAction": "CreateSecurityGroup", **MADE_HERE},
    ),
    "no firewall": ("wafv2:GetWebACLForResource", f"{ELB}:loadbalancer/app/x/1", {}),
}


def controller_may(action: str, resource: str, context: dict[str, str], **network: Any) -> bool:
    recording = eks_specs.recorded(cluster={"addons": ("load-balancer",), **network})
    (policy,) = [
        one.inputs["policy"] for one in recording.of_type(ROLE_POLICY) if one.inputs["name"] == "load-balancer"
    ]
    return allows([parsed(policy)], AuthorizationRequest(action, resource, context, whole=True)) is True


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_load_balancer_controller_may_do_what_it_does(call: list[Any]) -> None:
    assert controller_may(*call)


# https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html: the ARN has the owner's account.


@cases
def test_its_network_may_be_another_accounts(call: tuple[str, str, dict[str, str]]) -> None:
    existing = ExistingNetwork.model_construct(network="vpc-0000000a", subnets=tuple(eks_answers.SUBNETS))
    assert controller_may(*call, existing=existing, node_cidr="")
    assert not controller_may(*call)


@cases
def test_it_may_not_touch_what_is_not_the_clusters(action: str, resource: str, context: dict[str, str]) -> None:
    assert not controller_may(action, resource, context)


@pytest.mark.parametrize("zones", [("us-west-2a",), eks_specs.THREE_ZONES])
def test_a_load_balancer_finds_a_public_subnet_in_two_zones_at_least(zones: tuple[str, ...]) -> None:
    def open_zones(*addons: str) -> set[str]:
        recording = eks_specs.recorded(cluster={"addons": addons, "zones": zones})
        subnets = [one.inputs for one in recording.of_type("aws:ec2/subnet:Subnet")]
        return {one["availabilityZone"] for one in subnets if "kubernetes.io/role/elb" in one["tags"]}

    assert open_zones() == {zones[0]}
    assert len(open_zones("load-balancer")) == 3
