"""``components/gpu-placement.yaml``: manifests that ``kubectl`` reads, to which Python adds facts about pools alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from components.gpu_admission import PolicyManifests, manifests, templates
from components.gpu_admission_facts import facts

PLACEMENT, PLACEMENT_BINDING, ISOLATION, ISOLATION_BINDING = templates()
POLICIES = pytest.mark.parametrize("policy", [PLACEMENT, ISOLATION], ids=lambda policy: policy["metadata"]["name"])


def made(*, ends_running_pods: bool = True) -> tuple[PolicyManifests, PolicyManifests]:
    return manifests([], adds_gpu_toleration=False, ends_running_pods=ends_running_pods)


@pytest.mark.parametrize(
    ("policy", "binding", "action", "failure"),
    [(PLACEMENT, PLACEMENT_BINDING, "Warn", "Ignore"), (ISOLATION, ISOLATION_BINDING, "Deny", "Fail")],
)
def test_each_policy_has_its_binding(
    policy: Mapping[str, Any], binding: Mapping[str, Any], action: str, failure: str
) -> None:
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": [action]}
    assert policy["spec"]["failurePolicy"] == failure


@POLICIES
def test_a_variable_is_defined_before_it_is_used(policy: Mapping[str, Any]) -> None:
    defined = {fact["name"] for fact in facts([], adds_gpu_toleration=False)}
    for variable in policy["spec"]["variables"]:
        assert set(re.findall(r"variables\.(\w+)", variable["expression"])) <= defined, variable["name"]
        assert variable["name"] not in defined
        defined.add(variable["name"])
    for validation in policy["spec"]["validations"]:
        for key in ("expression", "messageExpression"):
            assert set(re.findall(r"variables\.(\w+)", validation[key])) <= defined, validation["message"]


@POLICIES
def test_every_text_is_one_line(policy: Mapping[str, Any]) -> None:
    """A message with a line break is refused by the API server; folded text must not keep one."""
    assert "\\n" not in json.dumps(policy)
    assert "  " not in json.dumps(policy["spec"])


def test_python_adds_facts_and_leaves_out_one_validation_only() -> None:
    known = facts([], adds_gpu_toleration=False)
    for manifest, template in zip(made(), (PLACEMENT, ISOLATION), strict=True):
        assert manifest.policy["spec"]["variables"] == [*known, *template["spec"]["variables"]]
        assert {
            **manifest.policy,
            "spec": {**manifest.policy["spec"], "variables": template["spec"]["variables"]},
        } == template
    without, _ = made(ends_running_pods=False)
    assert len(PLACEMENT["spec"]["validations"]) - len(without.policy["spec"]["validations"]) == 1
