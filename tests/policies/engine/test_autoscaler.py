"""The real engine tells which role, policy and tag belong together, whose names no preview knows yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from tests.policies.gated_project import gated, gated_project

pytestmark = REAL_ENGINE

PROGRAM = """
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

def document(**statement):
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})

group = aws.eks.NodeGroup(
    "gpu",
    cluster_name="ml",
    node_group_name="gpu",
    node_role_arn="arn:aws:iam::123456789012:role/nodes",
    subnet_ids=["subnet-1"],
    instance_types=["g5.xlarge"],
    scaling_config={"min_size": 0, "max_size": 4, "desired_size": 0},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
)
if values["tagged"]:
    aws.autoscaling.Tag(
        "taint",
        autoscaling_group_name=group.resources[0].autoscaling_groups[0].name,
        tag={
            "key": "k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu",
            "value": "present:NoSchedule",
            "propagate_at_launch": False,
        },
    )
trusted = {"Principal": {"Service": "pods.eks.amazonaws.com"}, "Action": ["sts:AssumeRole", "sts:TagSession"]}
role = aws.iam.Role("scaler", assume_role_policy=document(**trusted))
actions = ["autoscaling:Describe*", "ec2:Describe*", "autoscaling:SetDesiredCapacity", *values["actions"]]
aws.iam.RolePolicy("scaler", role=role.name, policy=document(Action=actions, Resource="*"))
aws.eks.PodIdentityAssociation(
    "scaler", cluster_name="ml", namespace="kube-system", service_account="scaler", role_arn=role.arn
)
kubernetes.helm.v3.Release(
    "scaler",
    chart="cluster-autoscaler",
    namespace="kube-system",
    values={"autoDiscovery": {"clusterName": values["cluster"]}, "rbac": {"serviceAccount": {"name": "scaler"}}},
)
"""
GOOD = {"cluster": "ml", "tagged": True, "actions": ["autoscaling:TerminateInstanceInAutoScalingGroup"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with gated_project(tmp_path_factory.mktemp("scaler"), PROGRAM, "aws", "kubernetes") as made:
        yield made


def test_a_good_program_passes_and_leaves_nothing_open(project: Project) -> None:
    project.write(**GOOD)
    passed = gated(project, "preview", config={})
    assert "autoscaler-" not in passed


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        pytest.param(
            {"cluster": "production"}, "autoscaler-sees-group  (aws:eks/nodeGroup:NodeGroup: gpu)", id="discovery"
        ),
        pytest.param(
            {"tagged": False}, "autoscaler-knows-template  (aws:eks/nodeGroup:NodeGroup: gpu)", id="template tag"
        ),
        pytest.param({"actions": []}, "autoscaler-permitted  (kubernetes:helm.sh/v3:Release: scaler)", id="rights"),
    ],
)
def test_one_part_is_missing(project: Project, change: dict[str, object], broken: str) -> None:
    project.write(**{**GOOD, **change})
    failed = gated(project, "preview", config={}, refused=True)
    assert f"[mandatory]  {broken}" in failed, failed
    assert failed.count("[mandatory]") == 1, failed
