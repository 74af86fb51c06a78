"""A group scales if every part of the autoscaler is there, and says which part is missing if not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.autoscaling import (
    CLUSTER,
    EKS_TAGS,
    FLAGS,
    LABELS,
    OWN,
    ROLE,
    asg,
    declared,
    installed,
    policy,
    role,
    snapshot,
    trust,
)
from rehearsal.providers.eks.authorization.identity import Facts, Role, ServiceAccountRef, annotated_role, role_of
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import READS, WRITES, evaluate

PLACE = ServiceAccountRef(CLUSTER, "kube-system", "cluster-autoscaler")
CLUSTER_ARN = f"arn:aws:eks:us-west-2:123456789012:cluster/{CLUSTER}"
FACTS = Facts(PLACE, CLUSTER_ARN, "123456789012", associated=ROLE, agent=True)
OWN_TAG = {"StringEquals": {f"aws:ResourceTag/{OWN}": "owned"}}


def never() -> bool:
    return False


def always() -> bool:
    return True


def test_with_everything_in_place_the_group_scales() -> None:
    group = evaluate(snapshot(), declared(), asg(), never)
    assert group.autoscaled
    assert (group.min_nodes, group.max_nodes, group.not_scaled_because) == (0, 4, "")
    assert (group.rank, group.late_taints) == (None, ())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"installation": None}, "no autoscaler runs"),
        ({"installation": installed(ready=0)}, "has no ready pod"),
        ({"installation": installed(*FLAGS, "--typo")}, "--typo is not a flag"),
        ({"role": "service account x has no AWS identity"}, "has no AWS identity"),
        ({"installation": installed(*FLAGS, "--expander=priority"), "priorities": "no ConfigMap"}, "no ConfigMap"),
        *[({"role": role(policy(reads=tuple(each for each in READS if each != action)))}, action) for action in READS],
        *[
            ({"role": role(policy(writes=tuple(each for each in WRITES if each != action)))}, action)
            for action in WRITES
        ],
    ],
)
def test_what_is_missing_is_named(change: dict[str, Any], reason: str) -> None:
    group = evaluate(snapshot(**change), declared(), asg(), never)
    assert not group.autoscaled
    assert reason in group.not_scaled_because
    assert group == replace(declared().base, not_scaled_because=group.not_scaled_because)


@pytest.mark.parametrize(
    "change", [{}, {"installation": None}, {"role": "none"}, {"role": role(policy(writes=("x",)))}]
)
def test_a_group_of_fixed_size_misses_nothing(change: dict[str, Any]) -> None:
    immutable = asg(min_size=2, max_size=2)
    assert evaluate(snapshot(**change), declared(), immutable, never) == declared().base
    almost = asg(min_size=2, max_size=3)
    assert bool(evaluate(snapshot(**change), declared(), almost, never).not_scaled_because) is bool(change)


@pytest.mark.parametrize(
    ("condition", "scales"),
    [
        (OWN_TAG, True),
        ({"StringEquals": {f"aws:ResourceTag/{OWN}": "shared"}}, False),
        ({"StringEquals": {"aws:RequestedRegion": "us-west-2"}}, True),
        ({"StringEquals": {"aws:RequestedRegion": "us-east-1"}}, False),
    ],
)
def test_writes_conditioned_on_a_tag(condition: dict[str, Any], scales: bool) -> None:
    group = evaluate(snapshot(role=role(policy(**condition))), declared(), asg(), never)
    assert group.autoscaled is scales
    assert scales or "autoscaling:SetDesiredCapacity" in group.not_scaled_because


def test_reads_cannot_be_conditioned_on_a_tag() -> None:
    document = policy()
    document["Statement"][0]["Condition"] = OWN_TAG
    assert "does not allow autoscaling:Describe" in (
        evaluate(snapshot(role=role(document)), declared(), asg(), never).not_scaled_because
    )


def test_an_unjudged_condition_is_named() -> None:
    document = policy(NumericLessThan={"aws:MultiFactorAuthAge": "60"})
    group = evaluate(snapshot(role=role(document)), declared(), asg(), never)
    assert "NumericLessThan" in group.not_scaled_because


def test_labels_known_only_to_describe_nodegroup_vanish_once_the_group_has_had_a_node() -> None:
    untagged = asg(tags=EKS_TAGS)
    fresh = evaluate(snapshot(), declared(), untagged, never)
    used = evaluate(snapshot(), declared(), untagged, always)
    assert LABELS.items() & fresh.late_labels.items() == set()
    assert LABELS.items() <= used.late_labels.items()
    assert (fresh.late_taints, used.late_taints) == ((), declared().base.taints)
    assert {**used.labels, **used.late_labels} == declared().base.labels, "a node has them all the same"
    assert used.autoscaled, "it scales for pods that ask for none of these labels"
    assert evaluate(snapshot(), declared(), asg(), always) == evaluate(snapshot(), declared(), asg(), never)


def test_without_describe_nodegroup_the_group_scales_by_its_tags_alone() -> None:
    document = policy()
    document["Statement"][0]["Action"].remove("eks:DescribeNodegroup")
    group = evaluate(snapshot(role=role(document)), declared(), asg(tags=EKS_TAGS), never)
    assert group.autoscaled
    assert LABELS.items() <= group.late_labels.items()


def test_describe_nodegroup_may_be_limited_to_the_clusters_groups() -> None:
    for cluster, hidden in ((CLUSTER, False), ("other", True)):
        document = policy()
        document["Statement"][0]["Action"].remove("eks:DescribeNodegroup")
        resource = f"arn:aws:eks:us-west-2:123456789012:nodegroup/{cluster}/*"
        document["Statement"].append({"Effect": "Allow", "Action": "eks:DescribeNodegroup", "Resource": resource})
        group = evaluate(snapshot(role=role(document)), declared(), asg(tags=EKS_TAGS), never)
        assert (LABELS.items() <= group.late_labels.items()) is hidden


def test_priorities_become_ranks() -> None:
    both: dict[str, Any] = {"installation": installed(*FLAGS, "--expander=priority")}
    priorities = {30: [re.compile("gpu-1")], 10: [re.compile("gpu")]}
    assert evaluate(snapshot(**both, priorities=priorities), declared(), asg(), never).rank == -30
    assert evaluate(snapshot(priorities=priorities), declared(), asg(), never).rank is None


ROLES = {ROLE: role()}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"agent": False}, "no pod of eks-pod-identity-agent is ready"),
        ({"associated": None}, "no EKS Pod Identity association"),
        ({"associated": ROLE + "2"}, "does not exist"),
        ({"associated": None, "node_role": ROLE}, ""),
        ({"associated": None, "node_role": ROLE + "2"}, "no EKS Pod Identity association"),
        ({"associated": None, "annotated": ROLE, "oidc_provider": True}, ""),
        ({"associated": None, "annotated": ROLE}, "no IAM OIDC provider"),
        ({"annotated": ROLE}, "no IAM OIDC provider"),
    ],
)
def test_where_credentials_come_from(change: dict[str, Any], reason: str) -> None:
    actual = role_of(replace(FACTS, **change), ROLES)
    assert reason in str(actual) if reason else isinstance(actual, Role)


@pytest.mark.parametrize(
    ("document", "trusted"), [(trust(), True), (trust("ec2.amazonaws.com"), False), ({"Statement": []}, False)]
)
def test_pod_identity_needs_the_roles_trust(document: dict[str, Any], trusted: bool) -> None:
    actual = role_of(FACTS, {ROLE: replace(role(), trust=document)})
    assert isinstance(actual, Role) is trusted
    assert trusted or "does not trust pods.eks.amazonaws.com" in str(actual)


@pytest.mark.parametrize(("namespace", "expected"), [("kube-system", ROLE), ("default", None)])
def test_the_annotation_of_the_pods_own_account(namespace: str, expected: str | None) -> None:
    metadata = {
        "namespace": namespace,
        "name": "cluster-autoscaler",
        "annotations": {"eks.amazonaws.com/role-arn": ROLE},
    }
    assert annotated_role([{"metadata": metadata}], PLACE) == expected
