"""The real engine: what cannot be judged is said, what is lowered is printed, no secret is in a message, and the result
of a run is a file; and a GPU cluster that is always on, as tutorials write it, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from policies.exemptions import today_utc
from policies.result import VARIABLE
from tests.policies.gated_project import BY_TOKEN, gated, gated_project, rewrite

pytestmark = REAL_ENGINE

SECRET = """
Resource("aws:eks/nodeGroup:NodeGroup", "gpu", {
    "instanceTypes": ["g5.xlarge"],
    "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
    "taints": [{"key": "spot", "value": pulumi.Output.secret("hunter2"), "effect": "NO_SCHEDULE"}],
    "nodeGroupName": pulumi.Output.secret("hunter3"),
})
"""
# A cluster for inference as a tutorial has it: one group of GPU machines that never sleeps, and the operator on it.
ALWAYS_ON = """
import pulumi_aws as aws

cluster = aws.eks.Cluster("inference", role_arn="arn:aws:iam::1:role/c", vpc_config={"subnet_ids": ["a", "b"]})
aws.eks.NodeGroup(
    "gpus",
    cluster_name=cluster.name,
    node_role_arn="arn:aws:iam::1:role/n",
    subnet_ids=["a", "b"],
    ami_type="AL2023_x86_64_NVIDIA",
    instance_types=["g6e.2xlarge"],
    scaling_config={"min_size": 2, "max_size": 2, "desired_size": 2},
)
"""
TEMPLATES = """
import base64

data = "#!/bin/bash\\n/etc/eks/bootstrap.sh ml --kubelet-extra-args '" + values["arguments"] + "'"
metadata = {"httpTokens": "required", "httpPutResponseHopLimit": 1}
cpu = Resource("aws:ec2/launchTemplate:LaunchTemplate", "cpu", {
    "instanceType": "m5.large", "metadataOptions": metadata})
gpu = Resource("aws:ec2/launchTemplate:LaunchTemplate", "gpu", {
    "instanceType": "g5.xlarge", "metadataOptions": metadata,
    "userData": base64.b64encode(data.encode()).decode()})
tags = [{"key": key, "value": "owned", "propagateAtLaunch": True}
        for key in ("kubernetes.io/cluster/ml", "k8s.io/cluster-autoscaler/enabled")]
for name, template, size in (("cpu-nodes", cpu, 1), ("gpu-nodes", gpu, values["minimum"])):
    Resource("aws:autoscaling/group:Group", name, {
        "minSize": size, "maxSize": 4, "launchTemplate": {"id": template.id, "version": "$Latest"}, "tags": tags})
"""
TAINT = "--register-with-taints=nvidia.com/gpu=present:NoSchedule"
GROUP = "aws:eks/nodeGroup:NodeGroup"
FOREIGN = {"scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 2}, "launchTemplate": {"id": "lt-0a1b"}}
STACK = "aws:cloudformation/stack:Stack"
TEMPLATE = {
    "Resources": {
        "Workers": {
            "Type": "AWS::EKS::Nodegroup",
            "Properties": {
                "InstanceTypes": ["g5.xlarge"],
                "ScalingConfig": {"MinSize": 1, "MaxSize": 2, "DesiredSize": 1},
            },
        }
    }
}
MINIMUM_ONE = {
    "instanceTypes": ["g5.xlarge"],
    "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 0},
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with gated_project(tmp_path_factory.mktemp("unjudged"), BY_TOKEN, "aws") as made:
        yield made


def preview(
    project: Project,
    *resources: tuple[str, str, Any],
    program: str = BY_TOKEN,
    config: Any = None,
    refused: bool = False,
) -> str:
    rewrite(project, program, resources=[list(resource) for resource in resources])
    return gated(project, "preview", config=config or {}, refused=refused)


def test_what_is_not_evaluated_is_reported_and_refused_when_mandatory(project: Project) -> None:
    noted = preview(project, (GROUP, "workers", FOREIGN))
    assert f"[advisory]  unjudged  ({GROUP}: workers)" in noted
    assert "because its launch template is not declared in this program" in noted
    assert "Fix: Declare the launch template in this program" in noted
    assert "checked at update" not in noted
    refused = preview(project, (GROUP, "workers", FOREIGN), config={"unjudged": "mandatory"}, refused=True)
    assert f"[mandatory]  unjudged  ({GROUP}: workers)" in refused


def test_machines_of_a_template_are_judged_as_the_template_s(project: Project) -> None:
    stack = (STACK, "workers", {"name": "workers", "templateBody": json.dumps(TEMPLATE)})
    refused = preview(project, stack, refused=True)
    assert f"[mandatory]  gpu-zero-minimum  ({STACK}: workers)" in refused
    assert "GPU node group 'Workers' keeps at least 1 node" in refused


def test_a_lower_level_needs_a_reason_and_is_printed(project: Project) -> None:
    pool = (GROUP, "gpu", MINIMUM_ONE)
    silent = preview(project, pool, config={"gpu-zero-minimum": "disabled"}, refused=True)
    assert "gpu-zero-minimum: disabled lowers a rule that is mandatory" in silent
    until = (today_utc() + timedelta(days=30)).isoformat()
    lower = {"enforcementLevel": "disabled", "reason": "pilot of the data team", "expires": until}
    printed = preview(project, pool, config={"gpu-zero-minimum": lower})
    assert f"gpu-zero-minimum is disabled here until {until} instead of mandatory: pilot of the data team" in printed


def test_no_secret_is_in_a_message(project: Project) -> None:
    refused = preview(project, program=SECRET, refused=True)
    assert "lacks the GPU taint" in refused
    assert "GPU node group '[secret]'" in refused
    assert "hunter" not in refused


def test_the_result_of_a_run_is_a_file(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gate.json"
    monkeypatch.setenv(VARIABLE, str(path))
    preview(project, (GROUP, "gpu", MINIMUM_ONE), config={"gpu-present-label": "mandatory"}, refused=True)
    findings = {(one["rule"], one["level"]) for one in json.loads(path.read_text())["findings"]}
    assert {("gpu-zero-minimum", "mandatory"), ("gpu-present-label", "mandatory")} <= findings
    preview(project)
    assert json.loads(path.read_text())["findings"] == []


def test_a_gpu_cluster_that_is_always_on_is_refused(project: Project) -> None:
    refused = preview(project, program=ALWAYS_ON, refused=True)
    for rule, remedy in (
        ("gpu-zero-minimum", "Fix: Set the minimum to 0"),
        ("gpu-autoscaled", "Fix: Enable autoscaling with a minimum of 0 and a maximum."),
        ("gpu-taint", "Fix: Add the taint nvidia.com/gpu=present:NoSchedule to the group."),
    ):
        assert f"[mandatory]  {rule}  ({GROUP}: gpus)" in refused, refused
        assert remedy in refused
    assert "[mandatory]  gpu-not-only-pool  (aws:eks/cluster:Cluster: inference)" in refused


def test_groups_are_judged_with_their_templates(project: Project) -> None:
    """The engine tells where an unknown value comes from: a launch template hides no GPU and no missing taint."""
    rewrite(project, TEMPLATES, arguments=TAINT, minimum=0)
    passed = gated(project, "preview")
    assert "unknown at preview" not in passed

    project.write(arguments="--node-labels=team=ml", minimum=1)
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        failed = gated(project, *command, refused=True)
        for rule in ("gpu-zero-minimum", "gpu-taint"):
            assert f"[mandatory]  {rule}  (aws:autoscaling/group:Group: gpu-nodes)" in failed, failed
        assert "Group: cpu-nodes)" not in failed
