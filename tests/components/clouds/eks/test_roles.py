"""What a company asks of all roles: a permissions boundary, and a path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import eks_answers, recorder
from tests.components import eks_specs

ROLE = "aws:iam/role:Role"
BOUNDARY = f"arn:aws:iam::{eks_answers.ACCOUNT}:policy/company"
PATH = "/platform/gpu/"
AUTOSCALERS = pytest.mark.parametrize("autoscaler", ["karpenter", "cluster-autoscaler"])


def run(autoscaler: str, **security: Any) -> recorder.Recording:
    return eks_specs.run(
        eks_specs.gpu_pool(), cluster={"autoscaler": autoscaler, "addons": eks_specs.EVERY_ADDON, **security}
    )


@AUTOSCALERS
def test_every_role_has_them_and_none_unless_asked(autoscaler: str) -> None:
    written = run(autoscaler, permissions_boundary=BOUNDARY, role_path=PATH).of_type(ROLE)
    assert len(written) > 5
    assert {(one.inputs["permissionsBoundary"], one.inputs["path"]) for one in written} == {(BOUNDARY, PATH)}
    plain = run(autoscaler).of_type(ROLE)
    assert {one.name for one in plain} == {one.name for one in written}
    assert not [one.name for one in plain if {"permissionsBoundary", "path"} & one.inputs.keys()]


@pytest.mark.parametrize("path", ["/", PATH])
def test_karpenter_gives_nodes_the_role_at_its_path(path: str) -> None:
    recording = run("karpenter", role_path=path)
    policies = [json.loads(one.inputs["policy"]) for one in recording.of_type("aws:iam/rolePolicy:RolePolicy")]
    passed = [each for one in policies for each in one["Statement"] if each["Action"] == ["iam:PassRole"]]
    (profile,) = recording.of_type("aws:iam/instanceProfile:InstanceProfile")
    roles = {one.inputs["name"]: one.inputs["path"] for one in recording.of_type(ROLE)}
    role = profile.inputs["role"]
    assert [each["Resource"] for each in passed] == [f"arn:aws:iam::{eks_answers.ACCOUNT}:role{roles[role]}{role}"]
