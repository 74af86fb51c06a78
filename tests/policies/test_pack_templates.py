"""Groups made from templates are judged with the whole stack, by policies that only such programs pay for."""

from __future__ import annotations

from typing import Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, ResourceValidationPolicy, StackValidationArgs
from pulumi_policy.policy import StackValidationPolicy
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.pack import EXEMPTED, REMEDIATED, Gate, UnknownUntilUpdate
from policies.rules.table import RULES
from tests.policies.test_pack import OPTIONS

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
GROUP: dict[str, Any] = {
    "clusterName": "ml",
    "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 0},
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    "labels": {"nvidia.com/gpu.present": "true"},
    "launchTemplate": {"id": UNKNOWN_STRING_VALUE, "version": "1"},
}
METADATA = {"httpTokens": "required", "httpPutResponseHopLimit": 1}


class Session:
    """One engine run over a template and a group that refers to it."""

    def __init__(self, instance_type: str, group: dict[str, Any] = GROUP) -> None:
        self.gate = Gate()
        self.policies = self.gate.policies()
        self.before = len(self.policies)
        self.reported: list[str] = []
        declared: tuple[tuple[str, str, dict[str, Any]], ...] = (
            (TEMPLATE, "urn:t", {"instanceType": instance_type, "metadataOptions": METADATA}),
            (NODE_GROUP, "urn:g", group),
        )
        for kind, urn, properties in declared:
            props = unknown_checking_proxy(properties)
            self._ask(ResourceValidationPolicy, ResourceValidationArgs(kind, props, urn, urn, OPTIONS, None, {}))
        self.early = list(self.reported)
        resources = [
            PolicyResource(kind, unknown_checking_proxy(properties), urn, urn, OPTIONS, None, None, [], {})
            for kind, urn, properties in declared
        ]
        resources[1].property_dependencies["launchTemplate"] = [resources[0]]
        self._ask(StackValidationPolicy, StackValidationArgs(resources, {}))

    def _ask(self, kind: type[Any], args: Any) -> None:
        matching: list[Any] = [policy for policy in self.policies if isinstance(policy, kind)]
        for policy in matching:
            name = policy.name
            try:
                policy.validate(args, lambda _, urn=None, name=name: self.reported.append(f"{name} {urn}"))
            except UnknownUntilUpdate:
                self.reported.append(f"{name} undecided")


def test_a_group_with_a_gpu_template_is_refused_once_its_template_is_known() -> None:
    session = Session("g5.xlarge")
    assert session.early == []
    assert [report for report in session.reported if "undecided" not in report] == ["gpu-zero-minimum urn:g"]


def test_a_group_with_a_cpu_template_passes() -> None:
    assert [report for report in Session("m5.large").reported if report.startswith("gpu-")] == []


def test_only_programs_with_such_groups_get_the_second_round() -> None:
    without = {**GROUP, "launchTemplate": None, "instanceTypes": ["m5.large"]}
    assert len(Session("m5.large", without).policies) == Session("m5.large", without).before
    session = Session("m5.large")
    added = session.policies[len(RULES) :][: len(session.policies) - session.before]
    assert [policy.name for policy in added] == [rule.id for rule in RULES if rule.scope == "resource"]
    assert session.policies[-1].name in (EXEMPTED, REMEDIATED), "what tells of exceptions comes last"
