"""Which machines Karpenter would make for a NodePool, and what keeps it from making any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from rehearsal.providers.aws.autoscaling.discovery import Installation
from rehearsal.providers.aws.autoscaling.identity import Role
from rehearsal.providers.aws.autoscaling.karpenter import (
    CAPACITY,
    GPU,
    IMAGE,
    TYPE,
    ZONE,
    NodePool,
    Offer,
    Seen,
    group_name,
    judge,
    most_nodes,
)
from rehearsal.providers.aws.autoscaling.karpenter_calls import NodeClass, Request, calls
from rehearsal.providers.aws.autoscaling.requirements import RequirementError, admits
from rehearsal.simulation import Machine, NodeGroup
from tests.rehearsal.amazon_autoscaling import CLUSTER, CONTEXT, REGION, TAINT, trust

ACCOUNT: Final = "123456789012"
QUEUE: Final = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{CLUSTER}"
NODES: Final = f"arn:aws:iam::{ACCOUNT}:role/nodes"
ZONES: Final = ("us-west-2a", "us-west-2b")
CLASS: Final = NodeClass(
    "al2023",
    "al2023",
    True,
    ZONES,
    ("subnet-a", "subnet-b"),
    ("sg-a",),
    "the instance profile n",
    NODES,
    False,
    "EC2_LINUX",
)


def machine(name: str, usd: float, gpus: int = 0, cpu: int = 4, *zones: str) -> Offer:
    def nodes(price: float, *, spot: bool) -> NodeGroup:
        shape = Machine(name, cpu, 16, gpus)
        return NodeGroup(name, CLUSTER, shape, ZONES, spot=spot, hourly_usd=price)

    labels = {TYPE: name, "kubernetes.io/arch": "amd64", "karpenter.k8s.aws/instance-cpu": str(cpu)}
    both = {"on-demand": nodes(usd, spot=False), "spot": nodes(usd / 3, spot=True)}
    return Offer(labels, frozenset(zones or ZONES), both)


OFFERS: Final = (machine("g5.xlarge", 1.0, 1), machine("g4dn.xlarge", 0.5, 1), machine("g4dn.12xlarge", 4.0, 4, 48))


def one_of(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def pool(*requirements: dict[str, Any], **changes: Any) -> NodePool:
    usual = NodePool("gpu", requirements, {"gpucluster.dev/pool": "gpu"}, (TAINT,), {}, 0, "al2023")
    return replace(usual, **changes)


def everything() -> list[dict[str, Any]]:
    return [{"Effect": "Allow", "Action": "*", "Resource": "*"}]


def seen(statements: list[dict[str, Any]] | None = None, **changes: Any) -> Seen:
    environment = [{"name": "CLUSTER_NAME", "value": CLUSTER}, {"name": "INTERRUPTION_QUEUE", "value": CLUSTER}]
    installation = Installation("kube-system/karpenter", "kube-system", "karpenter", 1, {"env": environment}, {})
    role = Role("arn:aws:iam::123456789012:role/karpenter", trust(), {"all": {"Statement": statements or everything()}})
    usual = Seen(installation, role, CLUSTER, REGION, ACCOUNT, "1.35", QUEUE, CONTEXT)
    return replace(usual, **changes)


def decide(
    asked: NodePool, offers: tuple[Offer, ...] = OFFERS, made_of: NodeClass | None = CLASS, **changes: Any
) -> NodeGroup:
    return judge(seen(**changes), asked, made_of, offers, ranked=False)


@pytest.mark.parametrize(
    ("requirements", "type", "spot", "zones"),
    [
        ((), "g4dn.xlarge", True, ZONES),
        ((one_of(CAPACITY, "on-demand"),), "g4dn.xlarge", False, ZONES),
        ((one_of(TYPE, "g5.xlarge"), one_of(CAPACITY, "on-demand")), "g5.xlarge", False, ZONES),
        ((one_of(TYPE, "g5.xlarge", "g4dn.12xlarge"),), "g5.xlarge", True, ZONES),
        ((one_of(ZONE, "us-west-2b", "us-west-2c"),), "g4dn.xlarge", True, ("us-west-2b",)),
        (
            ({"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["4"]},),
            "g4dn.12xlarge",
            True,
            ZONES,
        ),
    ],
)
def test_the_cheapest_machine_that_is_admitted(
    requirements: tuple[dict[str, Any], ...], type: str, spot: bool, zones: tuple[str, ...]
) -> None:
    group = decide(pool(*requirements))
    assert (group.machine.type, group.spot, group.zones) == (type, spot, zones)
    assert (group.autoscaled, group.taints, group.labels["gpucluster.dev/pool"]) == (True, (TAINT,), "gpu")
    assert group.labels[TYPE] == type


def test_a_zone_that_lacks_the_type_is_left_out() -> None:
    scarce = (machine("p5.48xlarge", 50, 8, 192, "us-west-2b"),)
    assert decide(pool(), scarce).zones == ("us-west-2b",)
    nowhere = decide(pool(one_of(ZONE, "us-west-2a")), scarce)
    assert not nowhere.autoscaled
    assert "no instance type meets its requirements" in nowhere.not_scaled_because


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({}, 1000),
        ({"nodes": "7"}, 7),
        ({GPU: "8"}, 2),
        ({GPU: "7"}, 1),
        ({GPU: 3}, 0),
        ({"cpu": "96"}, 2),
        ({"cpu": "95500m"}, 1),
        ({"cpu": "1k"}, 20),
        ({"nodes": "3", GPU: "8", "cpu": "1000"}, 2),
        ({"memory": "1Gi"}, 1000),
    ],
)
def test_limits_become_a_number_of_nodes(limits: dict[str, Any], most: int) -> None:
    assert most_nodes(pool(limits=limits), Machine("g4dn.12xlarge", 48, 192, 4)) == most


@pytest.mark.parametrize(("ranked", "rank"), [(True, -10.0), (False, None)])
def test_weights_become_ranks_where_any_pool_has_one(ranked: bool, rank: float | None) -> None:
    assert judge(seen(), pool(weight=10), CLASS, OFFERS, ranked=ranked).rank == rank


def environment(**values: str) -> Installation:
    found = seen().installation
    assert found is not None
    return replace(found, container={"env": [{"name": key, "value": value} for key, value in values.items()]})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"installation": None}, "no Karpenter runs"),
        ({"installation": replace(environment(CLUSTER_NAME=CLUSTER), ready=0)}, "has no ready pod"),
        ({"installation": environment(CLUSTER_NAME="other")}, "set settings.clusterName to demo"),
        ({"installation": environment()}, "set settings.clusterName to demo"),
        ({"queue_arn": None}, "which does not exist"),
        ({"role": "service account x has no AWS identity"}, "has no AWS identity"),
    ],
)
def test_what_karpenter_lacks(changes: dict[str, Any], said: str) -> None:
    group = decide(pool(), **changes)
    assert (group.autoscaled, said in group.not_scaled_because) == (False, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subnets": ()}, "find no subnet"),
        ({"security_groups": ()}, "find no security group"),
        ({"node_role": ""}, "the instance profile n does not exist"),
        ({"entry_type": ""}, "has no access entry"),
        ({"entry_type": "STANDARD"}, "has an access entry of type STANDARD"),
        ({"entry_type": "EC2"}, ""),
        ({"zones": ()}, "in the zones of its subnets (no zone)"),
    ],
)
def test_what_a_node_class_lacks(changes: dict[str, Any], said: str) -> None:
    group = decide(pool(), made_of=replace(CLASS, **changes))
    assert group.autoscaled is not bool(said)
    assert said in group.not_scaled_because


def test_a_node_class_that_is_not_there() -> None:
    group = decide(pool(limits={GPU: "4"}), made_of=None)
    assert "the EC2NodeClass al2023 does not exist" in group.not_scaled_because
    assert group.machine.gpus == 4, "pods for its limit learn why they wait"


def manifest(**spec: Any) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "al2023"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeClassRef": reference, "taints": [TAINT]}}
    return {"metadata": {"name": "gpu"}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize(
    ("spec", "scales"),
    [
        ({}, True),
        ({"disruption": {"consolidateAfter": "5m"}}, True),
        ({"disruption": {"consolidateAfter": "Never"}}, False),
        ({"disruption": {"budgets": [{"nodes": "0"}]}}, False),
        ({"disruption": {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}}, True),
        ({"disruption": {"budgets": [{"nodes": "0%", "reasons": ["Empty"]}]}}, False),
        ({"disruption": {"budgets": [{"nodes": "0", "schedule": "@daily", "duration": "1h"}]}}, True),
        ({"replicas": 3}, False),
    ],
)
def test_a_pool_whose_idle_nodes_stay_is_not_passed_off_as_scaling(spec: dict[str, Any], scales: bool) -> None:
    parsed = NodePool.parse(manifest(**spec))
    assert parsed is not None
    assert decide(parsed).autoscaled is scales


def test_a_pool_of_another_class_is_none_of_ours() -> None:
    other = manifest()
    other["spec"]["template"]["spec"]["nodeClassRef"]["group"] = "karpenter.kwok.sh"
    assert NodePool.parse(manifest()) is not None
    assert NodePool.parse(other) is None


@pytest.mark.parametrize(
    ("requirement", "admitted"),
    [
        (one_of("size", "a", "b"), True),
        (one_of("size", "b"), False),
        (one_of("absent", "a"), False),
        ({"key": "size", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "absent", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "size", "operator": "Exists"}, True),
        ({"key": "absent", "operator": "Exists"}, False),
        ({"key": "size", "operator": "DoesNotExist"}, False),
        ({"key": "absent", "operator": "DoesNotExist"}, True),
        ({"key": "cpu", "operator": "Gt", "values": ["7"]}, True),
        ({"key": "cpu", "operator": "Gt", "values": ["8"]}, False),
        ({"key": "cpu", "operator": "Lt", "values": ["8"]}, False),
        ({"key": "cpu", "operator": "Lt", "values": ["9"]}, True),
    ],
)
def test_requirements(requirement: dict[str, Any], admitted: bool) -> None:
    assert admits([requirement], {"size": "a", "cpu": "8"}) is admitted


@pytest.mark.parametrize(
    "requirement",
    [{"key": "size", "operator": "Like", "values": ["a"]}, {"key": "size", "operator": "Gt", "values": ["1"]}],
)
def test_requirements_that_cannot_be_judged(requirement: dict[str, Any]) -> None:
    with pytest.raises(RequirementError, match="size"):
        admits([requirement], {"size": "a"})
    assert "requirement size" in decide(pool(requirement, labels={"size": "a"})).not_scaled_because


@pytest.mark.parametrize(
    ("image", "is_karpenter"),
    [
        ("public.ecr.aws/karpenter/controller:1.8.8", True),
        ("example.com/mirror/karpenter/controller@sha256:00", True),
        ("example.com/karpenter/controller-tools:1", False),
        ("example.com/my-controller:1", False),
    ],
)
def test_karpenter_is_known_by_its_image(image: str, is_karpenter: bool) -> None:
    assert bool(IMAGE.search(image)) is is_karpenter


def test_names_of_groups_are_labels_and_nobody_elses() -> None:
    assert group_name("gpu") != "gpu"
    long = [group_name("g" * 60 + letter) for letter in "ab"]
    assert len(set(long)) == 2
    assert all(len(name) <= 63 for name in long)


def rights(*actions: str) -> list[dict[str, Any]]:
    return [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]


REQUEST: Final = Request(REGION, ACCOUNT, CLUSTER, "1.35", "gpu", False, QUEUE, CONTEXT)
NEEDED: Final = tuple(dict.fromkeys(call.action for call in calls(REQUEST, CLASS)))


@pytest.mark.parametrize("action", NEEDED)
def test_each_action_is_needed(action: str) -> None:
    assert decide(pool(), statements=rights(*NEEDED)).autoscaled
    without = decide(pool(), statements=rights(*(each for each in NEEDED if each != action)))
    assert not without.autoscaled
    assert f"does not allow {action}" in without.not_scaled_because


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({"own_profile": True}, "iam:CreateInstanceProfile"),
        ({"own_profile": True}, "iam:AddRoleToInstanceProfile"),
    ],
)
def test_profiles_that_karpenter_makes_need_more(changes: dict[str, Any], action: str) -> None:
    own = replace(CLASS, **changes)
    assert action not in NEEDED
    assert action in decide(pool(), made_of=own, statements=rights(*NEEDED)).not_scaled_because


@pytest.mark.parametrize(
    ("condition", "scales"),
    [
        ({"StringEquals": {f"aws:RequestTag/kubernetes.io/cluster/{CLUSTER}": "owned"}}, True),
        ({"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/other": "owned"}}, False),
        ({"StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}}, True),
        ({"StringEquals": {"aws:RequestTag/eks:eks-cluster-name": CLUSTER}}, True),
        ({"StringEquals": {"aws:RequestTag/eks:eks-cluster-name": "other"}}, False),
    ],
)
def test_launches_conditioned_on_tags(condition: dict[str, Any], scales: bool) -> None:
    others = [action for action in NEEDED if action != "ec2:CreateLaunchTemplate"]
    launch = {"Effect": "Allow", "Action": "ec2:CreateLaunchTemplate", "Resource": "*", "Condition": condition}
    assert decide(pool(), statements=[*rights(*others), launch]).autoscaled is scales


@pytest.mark.parametrize(("role", "scales"), [(NODES, True), (NODES + "-2", False)])
def test_only_the_nodes_role_may_be_passed(role: str, scales: bool) -> None:
    passing = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": role}
    others = rights(*(action for action in NEEDED if action != "iam:PassRole"))
    assert decide(pool(), statements=[*others, passing]).autoscaled is scales


def test_no_queue_no_rights_on_queues() -> None:
    statements = rights(*(action for action in NEEDED if not action.startswith("sqs:")))
    assert not decide(pool(), statements=statements).autoscaled
    assert decide(pool(), statements=statements, queue_arn="").autoscaled
