"""The project's program leaves nothing unjudged on any cloud, and no part of its autoscaler is dispensable."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.declared import Stack, Violation
from policies.offline import view_of
from policies.readers import linked, read_stack
from policies.readers.kubernetes.autoscalers import autoscaler_of
from policies.readers.resource import Declared
from policies.rules.autoscaler import knows_each_template, permitted, sees_each_group
from policies.rules.sharing import visible
from policies.rules.table import RULES
from policies.rules.unjudged import unjudged
from tests import declared, one_stack
from tests.stacks import run_with

GROUPS = {"autoscaler": "cluster-autoscaler"}
TAG = "aws:autoscaling/tag:Tag"
POLICY = "aws:iam/rolePolicy:RolePolicy"
Check = Callable[[Stack], list[Violation]]


@pytest.fixture(scope="module")
def resources() -> list[Declared]:
    return declared.declarations(run_with(one_stack.config("eks", autoscaling=GROUPS), "one"))


@pytest.fixture(scope="module")
def with_karpenter() -> list[Declared]:
    return declared.declarations(run_with(one_stack.config("eks"), "one"))


def without(resources: Sequence[Declared], *urns: str) -> Stack:
    return read_stack(linked(replace(one, references=()) for one in resources if one.urn not in urns))


def changed(resources: Sequence[Declared], urn: str, **properties: Any) -> Stack:
    return read_stack(
        linked(
            replace(
                one, references=(), properties={**one.properties, **properties} if one.urn == urn else one.properties
            )
            for one in resources
        )
    )


@pytest.mark.parametrize("check", [sees_each_group, knows_each_template, permitted])
def test_it_passes(resources: list[Declared], with_karpenter: list[Declared], check: Check) -> None:
    assert check(read_stack(resources)) == []
    assert check(read_stack(with_karpenter)) == []


def test_every_label_and_taint_tag_of_a_gpu_group_is_needed(resources: list[Declared]) -> None:
    groups = {group.resource: group for group in read_stack(resources).groups}
    # Key → the tag's URN → its group: all groups lose a tag at once, as each reading of the program takes its time.
    tags: dict[str, dict[str, str]] = defaultdict(dict)
    for tag in (one for one in resources if one.type == TAG):
        (of,) = (urn for urn in tag.dependencies["autoscalingGroupName"] if urn in groups)
        key = tag.properties["tag"]["key"]
        if groups[of].gpus.per_node and ("/node-template/label/" in key or "/node-template/taint/" in key):
            tags[key][tag.urn] = of
    assert sum(map(len, tags.values())) > len(groups), "several for each group"
    policy, statements = _of_autoscaler(resources, "cluster-autoscaler")
    asks = [one for one in statements if "eks:DescribeNodegroup" not in one["Action"]]
    assert len(asks) == len(statements) - 1, "with it no tag is needed"
    document = json.dumps({"Version": "2012-10-17", "Statement": asks})
    silent = [
        replace(one, properties={**one.properties, "policy": document}) if one is policy else one for one in resources
    ]
    for key, of_groups in tags.items():
        assert all(violation.not_evaluated for violation in knows_each_template(without(resources, *of_groups)))
        violations = knows_each_template(without(silent, *of_groups))
        assert sorted(violation.resource for violation in violations) == sorted(of_groups.values())
        for violation in violations:
            assert not violation.not_evaluated
            assert key.rpartition("/node-template/")[2].partition("/")[2] in violation.message


def _of_autoscaler(resources: Sequence[Declared], name: str) -> tuple[Declared, list[dict[str, Any]]]:
    (policy,) = (one for one in resources if one.type == POLICY and one.properties["name"] == name)
    return policy, json.loads(policy.properties["policy"])["Statement"]


@pytest.mark.parametrize("name", ["cluster-autoscaler", "karpenter"])
def test_every_action_it_calls_is_needed(resources: list[Declared], with_karpenter: list[Declared], name: str) -> None:
    program = resources if name == "cluster-autoscaler" else with_karpenter
    policy, statements = _of_autoscaler(program, name)
    scalers = [workload.autoscaler for workload in read_stack(program).workloads]
    (scaler,) = (one for one in scalers if one is not None)
    for right in scaler.rights:
        fewer = [{**each, "Action": [one for one in each["Action"] if one != right.action]} for each in statements]
        document = json.dumps({"Statement": fewer})
        (violation,) = permitted(changed(program, policy.urn, policy=document))
        assert not violation.not_evaluated
        assert right.action in violation.message


@pytest.mark.parametrize("name", ["cluster-autoscaler", "karpenter"])
def test_without_its_association_it_would_have_the_nodes_rights(
    resources: list[Declared], with_karpenter: list[Declared], name: str
) -> None:
    program = resources if name == "cluster-autoscaler" else with_karpenter
    (association,) = (one for one in program if one.properties.get("serviceAccount") == name)
    (violation,) = permitted(without(program, association.urn))
    assert "has no role of its own" in violation.message
    assert not violation.not_evaluated


def test_the_rights_hold_for_this_clusters_groups_only(resources: list[Declared]) -> None:
    policy, statements = _of_autoscaler(resources, "cluster-autoscaler")
    document = json.dumps({"Statement": statements}).replace("one-stack", "another")
    (violation,) = permitted(changed(resources, policy.urn, policy=document))
    assert "autoscaling:SetDesiredCapacity" in violation.message
    assert "tags" in violation.remedy


def test_flags_for_another_cluster_find_no_group(resources: list[Declared]) -> None:
    (deployment,) = (one for one in resources if one.type == "kubernetes:apps/v1:Deployment" and autoscaler(one))
    spec = json.loads(json.dumps(deployment.properties["spec"]).replace("/one-stack", "/another"))
    violations = sees_each_group(changed(resources, deployment.urn, spec=spec))
    groups = [group for group in read_stack(resources).groups if group.gpus.per_node]
    assert {violation.resource for violation in violations} == {group.resource for group in groups}
    assert not any(violation.not_evaluated for violation in violations)


def autoscaler(deployment: Declared) -> bool:
    return autoscaler_of(deployment.properties["spec"]["template"]["spec"]) is not None


def test_shared_gpus_are_in_the_tags() -> None:
    pools = one_stack.config("eks")["gpucluster:gpuPools"]
    pools[0] |= {"gpusPerNode": 1, "timeSharing": {"clientsPerGpu": 4}}
    stack = declared.stack(run_with(one_stack.config("eks", autoscaling=GROUPS, gpuPools=pools), "one"))
    assert [sharing.replicas for sharing in stack.sharing] == [4]
    assert visible(stack) == []


@pytest.mark.parametrize(
    ("cloud", "changes"),
    [
        ("gke", {}),
        ("aks", {}),
        ("eks", {}),
        ("eks", {"autoscaling": {"autoscaler": "cluster-autoscaler"}}),
        ("gke", {"gpuPools": one_stack.VARIANTS["one-gke-options"]["gpuPools"]}),
    ],
    ids=["gke", "aks", "eks", "eks-node-groups", "gke-chips"],
)
def test_every_rule_is_evaluated(cloud: str, changes: dict[str, Any]) -> None:
    view = view_of(declared.declarations(run_with(one_stack.config(cloud, **changes), "one")))
    violations = [violation for rule in RULES for violation in view.violations(rule, {}, ())]
    assert [one.message for one in violations if one.unknown_reason is not None or one.rule == unjudged.id] == []
    assert view.stack.groups
