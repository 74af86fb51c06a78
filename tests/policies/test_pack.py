"""The rules as policies: what the SDK hands over is read, reported, and never crashes on an unknown value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_NUMBER_VALUE, UNKNOWN_OBJECT_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from facts.concepts.unknown import UNKNOWN
from policies.config import ConfigError
from policies.engine_values import plain
from policies.pack import EXEMPTED, REMEDIATED, Gate, UnknownUntilUpdate
from policies.result import COST
from policies.rules.table import RULES

OPTIONS = PolicyResourceOptions(False, [], None, [], PolicyCustomTimeouts(0, 0, 0), [], None)
POOL: dict[str, Any] = {
    "cluster": "c",
    "location": "us-central1-a",
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4},
    "nodeConfig": {
        "serviceAccount": "nodes@p.iam.gserviceaccount.com",
        "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "labels": {"nvidia.com/gpu.present": "true"},
    },
}
NODE_POOL = "gcp:container/nodePool:NodePool"
JOB = "kubernetes:batch/v1:Job"
POD = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}
GPU_JOB = {"spec": {"template": {"spec": POD}}}


def output(kind: str, properties: dict[str, Any], urn: str = "urn:x") -> PolicyResource:
    """A resource as stack policies get it."""
    name = urn.rpartition(":")[2]
    return PolicyResource(kind, unknown_checking_proxy(properties), urn, name, OPTIONS, None, None, [], {})


class Session:
    """One engine run: every resource goes to all resource policies, then the stack to all stack policies."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.every = (gate or Gate()).policies()
        self.policies: dict[str, Policy] = {policy.name: policy for policy in reversed(self.every)}
        self.notes: list[tuple[str, str, str | None]] = []
        """Rule, message and URN of each report."""
        self.costs: list[str] = []
        """What the gate says of the cost of nodes, which is no finding."""
        self.undecided: list[str] = []

    @property
    def reported(self) -> list[str]:
        return [f"{rule}: {message}" for rule, message, _ in self.notes]

    def resource(
        self, kind: str, properties: dict[str, Any], urn: str = "urn:x", config: Mapping[str, Any] | None = None
    ) -> None:
        """``config`` is by rule."""
        name, props = urn.rpartition(":")[2], unknown_checking_proxy(properties)
        for policy in self.every:
            if isinstance(policy, ResourceValidationPolicy):
                its = (config or {}).get(policy.name)
                self._validate(policy, ResourceValidationArgs(kind, props, urn, name, OPTIONS, None, its))

    def stack(self, *resources: PolicyResource) -> None:
        for policy in self.every:
            if isinstance(policy, StackValidationPolicy):
                self._validate(policy, StackValidationArgs([*resources]))

    def _validate(self, policy: Any, args: Any) -> None:
        def report(message: str, urn: str | None = None) -> None:
            if policy.name == COST:
                self.costs.append(message)
            else:
                self.notes.append((policy.name, message, urn))

        try:
            policy.validate(args, report)
        except UnknownUntilUpdate as note:
            self.undecided.append(f"{policy.name}: {note.message}")


@pytest.fixture
def session() -> Session:
    return Session()


def test_every_rule_is_a_policy_with_its_level(session: Session) -> None:
    assert [policy.name for policy in session.every] == [
        *(rule.id for rule in RULES),
        "pools",
        "prices",
        COST,
        EXEMPTED,
        REMEDIATED,
    ]
    for rule in RULES:
        policy = session.policies[rule.id]
        assert policy.enforcement_level == EnforcementLevel(rule.level)
        assert isinstance(policy, StackValidationPolicy) == (rule.scope == "stack")


def test_a_good_pool_is_reported_by_none(session: Session) -> None:
    session.resource(NODE_POOL, POOL)
    assert session.reported == session.undecided == []


def test_a_report_names_the_problem_and_the_remedy(session: Session) -> None:
    session.resource(NODE_POOL, {**POOL, "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 4}})
    (report,) = session.reported
    assert report.startswith("gpu-zero-minimum: GPU node group 'x' keeps at least 1 node running")
    assert "\nFix: Set the minimum to 0" in report


# What the engine sends for a value that only the update knows:
# https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/plugin/rpc.go
UNKNOWN_NUMBER = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"
UNKNOWN_LIST = "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2"
UNKNOWN_OBJECT = "dd056dcd-154b-4c76-9bd3-c8f88648b5ff"


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"autoscaling": {"totalMinNodeCount": UNKNOWN_NUMBER, "totalMaxNodeCount": 4}}, ["gpu-zero-minimum"]),
        ({"nodeConfig": {**POOL["nodeConfig"], "taints": UNKNOWN_LIST}}, ["gpu-taint"]),
        ({"autoscaling": UNKNOWN_OBJECT}, ["gpu-zero-minimum", "gpu-autoscaled", "gpu-ceiling"]),
    ],
)
def test_an_unknown_value_is_a_note_of_rules(session: Session, changes: dict[str, Any], notes: list[str]) -> None:
    session.resource(NODE_POOL, {**POOL, **changes})
    assert session.reported == []
    assert [note.partition(":")[0] for note in session.undecided] == notes
    assert all("unknown at preview, checked at update" in note for note in session.undecided)


TEMPLATE_OF_OTHERS = {
    "clusterName": "ml",
    "scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 2},
    "launchTemplate": {"id": "lt-0123", "version": "3"},
}


def test_what_no_update_will_tell_is_a_finding_of_its_own(session: Session) -> None:
    session.resource("aws:eks/nodeGroup:NodeGroup", TEMPLATE_OF_OTHERS)
    session.stack(output("aws:eks/nodeGroup:NodeGroup", TEMPLATE_OF_OTHERS))
    assert [report.partition(":")[0] for report in session.reported] == ["unjudged"]
    assert "launch template" in session.reported[0]
    assert "gpu-zero-minimum" in session.reported[0]
    assert session.undecided == []


def test_what_the_update_will_tell_is_a_note_beside_it(session: Session) -> None:
    late = {**TEMPLATE_OF_OTHERS, "scalingConfig": {"minSize": UNKNOWN_NUMBER_VALUE, "maxSize": 4, "desiredSize": 0}}
    session.resource("aws:eks/nodeGroup:NodeGroup", late)
    session.stack(output("aws:eks/nodeGroup:NodeGroup", late))
    assert [report.partition(":")[0] for report in session.reported] == ["unjudged"]
    assert "gpu-taint" in session.reported[0]
    assert "gpu-zero-minimum" not in session.reported[0]
    assert [note for note in session.undecided if "its minimum" in note]


def test_what_no_rule_has_named_is_named_at_the_end(session: Session) -> None:
    """Whether Karpenter may remove the pool's nodes: no rule looks at budgets that it does not know."""
    disruption = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m", "budgets": UNKNOWN_LIST}
    kind, pool = "kubernetes:karpenter.sh/v1:NodePool", {"spec": {"disruption": disruption}}
    session.resource(kind, pool)
    assert [note for note in session.undecided if "budgets" in note] == []
    session.stack(output(kind, pool))
    (note,) = [note for note in session.undecided if "budgets" in note]
    assert note.startswith(f"unjudged: {kind} 'x' cannot be evaluated at preview because `spec.disruption.budgets` is")


def test_a_known_problem_is_reported_beside_an_unknown_one(session: Session) -> None:
    inline = [
        {"name": "a", "autoscaling": {"minNodeCount": 1, "maxNodeCount": 1}, "nodeConfig": POOL["nodeConfig"]},
        UNKNOWN_OBJECT_VALUE,
    ]
    session.resource("gcp:container/cluster:Cluster", {"location": "us-central1-a", "nodePools": inline})
    assert any(report.startswith("gpu-zero-minimum: GPU node group 'a'") for report in session.reported)
    assert any(note.startswith("gpu-zero-minimum:") for note in session.undecided)


def test_the_stack_is_judged_by_inputs_where_the_engine_has_no_outputs_yet(session: Session) -> None:
    for kind, urn, properties in ((NODE_POOL, "urn:pool", POOL), (JOB, "urn:job", GPU_JOB)):
        session.resource(kind, properties, urn)
    session.stack(output(NODE_POOL, {}, "urn:pool"), output(JOB, {}, "urn:job"))
    ((message, where),) = [(text, urn) for rule, text, urn in session.notes if rule == "gpu-workload-placeable"]
    assert "requests 8 GPUs" in message
    assert where == "urn:job"


def test_outputs_are_judged_where_nothing_was_registered(session: Session) -> None:
    session.stack(output(NODE_POOL, POOL), output(JOB, GPU_JOB))
    assert any(report.startswith("gpu-workload-placeable") for report in session.reported)


def test_a_resource_that_is_handed_over_anew_is_read_anew(session: Session) -> None:
    session.resource(NODE_POOL, POOL)
    session.resource(NODE_POOL, {**POOL, "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 4}})
    session.resource(NODE_POOL, POOL)
    assert [report.partition(":")[0] for report in session.reported] == ["gpu-zero-minimum"]


def test_limits_that_a_rule_does_not_have_are_refused(session: Session) -> None:
    policy = session.policies["gpu-taint"]
    assert isinstance(policy, ResourceValidationPolicy)
    args = ResourceValidationArgs(NODE_POOL, unknown_checking_proxy(POOL), "u", "x", OPTIONS, None, {"maxGpus": 1})
    with pytest.raises(ConfigError, match=r"gpu-taint.maxGpus: the rule has no such limit"):
        policy.validate(args, lambda *_: None)


def test_plain_values() -> None:
    proxied = unknown_checking_proxy({"a": [{"b": UNKNOWN_NUMBER_VALUE}], "c": 1.0, "d": None, "e": "text"})
    assert plain(proxied) == {"a": [{"b": UNKNOWN}], "c": 1.0, "d": None, "e": "text"}


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


class TemplateSession(Session):
    """One engine run over a template and a group that refers to it; groups made from templates are judged last."""

    def __init__(self, instance_type: str, group: dict[str, Any] = GROUP) -> None:
        super().__init__()
        self.before = len(self.every)
        template = {"instanceType": instance_type, "metadataOptions": METADATA}
        self.resource(TEMPLATE, template, "urn:t")
        self.resource(NODE_GROUP, group, "urn:g")
        self.early = list(self.notes)
        refers, referred = output(NODE_GROUP, group, "urn:g"), output(TEMPLATE, template, "urn:t")
        refers.property_dependencies["launchTemplate"] = [referred]
        self.stack(referred, refers)


def test_a_group_with_a_gpu_template_is_refused_once_its_template_is_known() -> None:
    session = TemplateSession("g5.xlarge")
    assert session.early == []
    assert [(rule, urn) for rule, _, urn in session.notes] == [("gpu-zero-minimum", "urn:g")]


def test_a_group_with_a_cpu_template_passes() -> None:
    assert [rule for rule, _, _ in TemplateSession("m5.large").notes if rule.startswith("gpu-")] == []


def test_only_programs_with_such_groups_get_the_second_round() -> None:
    without = TemplateSession("m5.large", {**GROUP, "launchTemplate": None, "instanceTypes": ["m5.large"]})
    assert len(without.every) == without.before
    session = TemplateSession("m5.large")
    second = [rule.id for rule in RULES if rule.scope == "resource"]
    assert [policy.name for policy in session.every[len(RULES) :][: len(second)]] == second
    assert len(session.every) == session.before + len(second) + 1, "and unjudged: there are unknown values"
    assert session.every[-1].name in (EXEMPTED, REMEDIATED), "what tells of exceptions comes last"
