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


def controller_may(action: str, resource: str, context: dict[str, str], **network: Any) -> bool:
    recording = eks_specs.recorded(cluster={"addons": ("load-balancer",), **network})
    (policy,) = [
        one.inputs["policy"] for one in recording.of_type(ROLE_POLICY) if one.inputs["name"] == "load-balancer"
    ]
    return allows([parsed(policy)], AuthorizationRequest(action, resource, context, whole=True)) is True


@cases
def test_the_load_balancer_controller_may_do_what_it_does(action: str, resource: str, context: dict[str, str]) -> None:
    assert controller_may(action, resource, context)


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
