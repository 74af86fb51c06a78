"""The real engine tells where an unknown value comes from, so a launch template hides no GPU and no missing taint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from tests.policies.gated_project import gated, gated_project

pytestmark = REAL_ENGINE

PROGRAM = """
import base64

data = "#!/bin/bash\\n/etc/eks/bootstrap.sh ml --kubelet-extra-args '" + values["arguments"] + "'"
cpu = Resource("aws:ec2/launchTemplate:LaunchTemplate", "cpu", {"instanceType": "m5.large"})
gpu = Resource("aws:ec2/launchTemplate:LaunchTemplate", "gpu", {
    "instanceType": "g5.xlarge", "userData": base64.b64encode(data.encode()).decode()})
tags = [{"key": key, "value": "owned", "propagateAtLaunch": True}
        for key in ("kubernetes.io/cluster/ml", "k8s.io/cluster-autoscaler/enabled")]
for name, template, size in (("cpu-nodes", cpu, 1), ("gpu-nodes", gpu, values["minimum"])):
    Resource("aws:autoscaling/group:Group", name, {
        "minSize": size, "maxSize": 4, "launchTemplate": {"id": template.id, "version": "$Latest"}, "tags": tags})
"""
TAINT = "--register-with-taints=nvidia.com/gpu=present:NoSchedule"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with gated_project(tmp_path, PROGRAM, "aws") as made:
        yield made


def test_groups_are_judged_with_their_templates(project: Project) -> None:
    project.write(arguments=TAINT, minimum=0)
    passed = gated(project, "preview")
    assert passed.code == 0, passed.text
    assert "unknown at preview" not in passed.text

    project.write(arguments="--node-labels=team=ml", minimum=1)
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        failed = gated(project, *command)
        assert failed.code != 0
        for rule in ("gpu-zero-minimum", "gpu-taint"):
            assert f"[mandatory]  {rule}  (aws:autoscaling/group:Group: gpu-nodes)" in failed.text, failed.text
        assert "Group: cpu-nodes)" not in failed.text
