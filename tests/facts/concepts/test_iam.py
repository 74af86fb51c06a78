"""What IAM documents allow: of a request under way, and before an update, while some of it is open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facts.concepts.iam import (
    ANY_RESOURCE,
    AuthorizationRequest,
    Value,
    allows,
    denies,
    literal,
    parsed,
    request_tags,
    resource_tags,
    trusts,
    unevaluated_operators,
)
from facts.concepts.unknown import UNKNOWN

GROUPS = "arn:aws:autoscaling:us-west-2:123456789012:autoScalingGroup:0a1b:autoScalingGroupName"
ASG = f"{GROUPS}/eks-gpu-1"
SET = "autoscaling:SetDesiredCapacity"
SERVICE = "pods.eks.amazonaws.com"


def statement(action: Any = SET, resource: Any = "*", effect: str = "Allow", **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def request(**context: Value) -> AuthorizationRequest:
    return AuthorizationRequest(SET, ASG, context, whole=True)


def document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


# Each statement has these changes to one that allows autoscaling:SetDesiredCapacity on all resources.
@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ([], False),
        ([{}], True),
        ([{"Action": "autoscaling:*"}], True),
        ([{"Action": "AUTOSCALING:setdesired*"}], True),
        ([{"Action": "autoscaling:SetDesiredCapacit?"}], True),
        ([{"Action": "autoscaling:SetDesiredCapacity?"}], False),
        ([{"Action": "autoscaling:Describe*"}], False),
        ([{"Action": ["ec2:RunInstances", "autoscaling:SetDesiredCapacity"]}], True),
        ([{"Action": "*"}], True),
        ([{"Resource": ASG}], True),
        ([{"Resource": f"{GROUPS}/eks-*"}], True),
        ([{"Resource": f"{GROUPS}/eks-GPU-1"}], False),
        ([{"Resource": ASG.replace("us-west-2", "us-east-1")}], False),
        ([{}, {"Effect": "Deny"}], False),
        ([{}, {"Action": "ec2:*", "Effect": "Deny"}], True),
        ([{"Action": None, "NotAction": "iam:*"}], True),
        ([{"Action": None, "NotAction": "autoscaling:*"}], False),
        ([{"Action": "*", "Resource": None, "NotResource": ASG}], False),
    ],
)
def test_actions_and_resources(statements: list[dict[str, Any]], allowed: bool) -> None:
    assert allows([document(*(without_none({**statement(), **each}) for each in statements))], request()) is allowed


def test_a_deny_in_another_document_wins() -> None:
    allow, deny = document(statement()), document(statement(effect="Deny"))
    assert allows([allow], request()) is True
    assert denies([allow], request()) is False
    for both in ([allow, deny], [deny, allow]):
        assert allows(both, request()) is False
        assert denies(both, request()) is True


def test_a_single_statement_need_not_be_in_a_list() -> None:
    assert allows([{"Statement": statement()}], request()) is True


@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ({"StringEquals": {"aws:ResourceTag/owner": "me"}}, True),
        ({"StringEquals": {"AWS:resourcetag/owner": "me"}}, True),
        ({"StringEquals": {"aws:ResourceTag/Owner": "me"}}, False),
        ({"StringEquals": {"aws:ResourceTag/owner": ["you", "me"]}}, True),
        ({"StringEquals": {"aws:ResourceTag/owner": "Me"}}, False),
        ({"StringEqualsIgnoreCase": {"aws:ResourceTag/owner": "Me"}}, True),
        ({"StringEquals": {"autoscaling:ResourceTag/owner": "me"}}, True),
        ({"StringEquals": {"ec2:ResourceTag/owner": "me"}}, False),
        ({"StringEqualsIfExists": {"ec2:ResourceTag/owner": "you"}}, True),
        ({"StringEqualsIfExists": {"aws:ResourceTag/owner": "you"}}, False),
        ({"StringLike": {"aws:ResourceTag/owner": "m*"}}, True),
        ({"StringEquals": {"aws:ResourceTag/owner": "m*"}}, False),
        ({"StringNotEquals": {"aws:ResourceTag/owner": ["me", "you"]}}, False),
        ({"StringNotEquals": {"aws:ResourceTag/owner": "you"}}, True),
        ({"StringNotEquals": {"aws:ResourceTag/absent": "you"}}, True),
        ({"Null": {"aws:ResourceTag/absent": "true"}}, True),
        ({"Null": {"aws:ResourceTag/owner": "true"}}, False),
        ({"Null": {"aws:ResourceTag/owner": False}}, True),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b", "c"]}}, True),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["a"]}}, False),
        ({"ForAnyValue:StringEquals": {"aws:TagKeys": ["a"]}}, True),
        ({"ForAnyValue:StringEquals": {"aws:TagKeys": ["z"]}}, False),
        ({"StringEquals": {"aws:RequestTag/a": "1", "aws:ResourceTag/owner": "me"}}, True),
        ({"StringEquals": {"aws:RequestTag/a": "1", "aws:ResourceTag/owner": "you"}}, False),
        ({"StringEquals": {"aws:ResourceTag/owner": "${aws:PrincipalTag/name}"}}, True),
        ({"StringEquals": {"aws:ResourceTag/owner": "${aws:PrincipalTag/other}"}}, False),
    ],
)
def test_conditions(condition: dict[str, Any], allowed: bool) -> None:
    context = {
        **resource_tags({"owner": "me"}, "autoscaling"),
        **request_tags({"a": "1", "b": "2"}),
        "aws:PrincipalTag/name": "me",
    }
    assert allows([document(statement(Condition=condition))], request(**context)) is allowed


def test_an_operator_that_cannot_be_judged_is_named_where_it_matters() -> None:
    odd = {"DateLessThan": {"aws:CurrentTime": "2030-01-01T00:00:00Z"}}
    documents = [document(statement(Condition=odd))]
    present = request(**{"aws:CurrentTime": "2026-01-01T00:00:00Z"})
    assert allows(documents, present) is UNKNOWN
    assert unevaluated_operators(documents, present) == ("DateLessThan",)
    elsewhere = [document(statement("ec2:*", Condition=odd))]
    assert allows(elsewhere, present) is False
    assert unevaluated_operators(elsewhere, present) == ()


@pytest.mark.parametrize("condition", [{"StringEquals": {}}, {"ForAnyValue:StringLikeIfExists": {}}, {"Null": {}}])
def test_operators_that_can_be_judged(condition: dict[str, Any]) -> None:
    assert unevaluated_operators([document(statement(Condition=condition))], request()) == ()


@pytest.mark.parametrize("text", ["*", "$", "a*b${c}", "${*}", "/*/team"])
def test_a_literal_text_is_itself_alone(text: str) -> None:
    wanted = document(statement(action="*", resource=f"arn:aws:iam::1:role/{literal(text)}/*"))
    for named, allowed in [(text, True), ("x" * len(text), False), ("/x/team", False), (f"x{text}", False)]:
        call = AuthorizationRequest("iam:PassRole", f"arn:aws:iam::1:role/{named}/nodes", {}, whole=True)
        assert allows([wanted], call) is allowed, named


def test_a_literal_question_mark_is_no_other_character() -> None:
    roles = "arn:aws:iam::1:role/"
    call = AuthorizationRequest("iam:PassRole", f"{roles}team1", {}, whole=True)
    for pattern, allowed in [("team?", True), (literal("team?"), False), ("team${?}", False)]:
        assert allows([document(statement(action="*", resource=roles + pattern))], call) is allowed, pattern


def test_a_variable_also_stands_in_a_resource() -> None:
    own = document(statement(resource="arn:aws:autoscaling:${aws:RequestedRegion}:*:autoScalingGroup:*"))
    assert allows([own], request(**{"aws:RequestedRegion": "us-west-2"})) is True
    assert allows([own], request(**{"aws:RequestedRegion": "eu-west-1"})) is False
    assert allows([own], request()) is False
    assert allows([own], AuthorizationRequest(SET, ASG)) is UNKNOWN


@pytest.mark.parametrize(
    ("principal", "actions", "condition", "trusted"),
    [
        ({"Service": SERVICE}, ["sts:AssumeRole", "sts:TagSession"], {}, True),
        ({"Service": SERVICE}, ["sts:*"], {}, True),
        ({"Service": ["ec2.amazonaws.com", SERVICE]}, ["sts:AssumeRole", "sts:TagSession"], {}, True),
        ({"Service": SERVICE}, ["sts:AssumeRole"], {}, False),
        ({"Service": SERVICE}, ["sts:TagSession"], {}, False),
        ({"Service": "ec2.amazonaws.com"}, ["sts:AssumeRole", "sts:TagSession"], {}, False),
        ({"AWS": "*"}, ["sts:AssumeRole", "sts:TagSession"], {}, False),
        ({"Service": SERVICE}, ["sts:*"], {"StringEquals": {"aws:SourceAccount": "1"}}, True),
        ({"Service": SERVICE}, ["sts:*"], {"StringEquals": {"aws:SourceAccount": "2"}}, False),
    ],
)
def test_trust(principal: dict[str, Any], actions: list[str], condition: dict[str, Any], trusted: bool) -> None:
    trust = document({"Effect": "Allow", "Principal": principal, "Action": actions, "Condition": condition})
    needed = ("sts:AssumeRole", "sts:TagSession")
    assert trusts(trust, SERVICE, needed, {"aws:SourceAccount": "1"}) is trusted


ACTION = "autoscaling:SetDesiredCapacity"
ARN = "arn:?:autoscaling:?:?:autoScalingGroup:?:autoScalingGroupName/?"
TAGS = {"owner": "ml", "late": UNKNOWN}


def one_statement(**changes: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": [ACTION], "Resource": "*", **changes}


def when(operator: str, key: str, *values: Any) -> dict[str, Any]:
    return one_statement(Condition={operator: {key: list(values)}})


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([{}], True),
        ([], False),
        ([{"Action": ["ec2:RunInstances", UNKNOWN]}], UNKNOWN),
        ([{}, {"Effect": "Deny", "Action": UNKNOWN}], UNKNOWN),
        ([{"Action": "ec2:*"}, {"Effect": "Deny", "Action": UNKNOWN}], False),
        ([{"Effect": UNKNOWN}], UNKNOWN),
        ([{"Resource": "arn:aws:autoscaling:*:*:autoScalingGroup:*"}], True),
        ([{"Resource": "arn:aws:autoscaling:us-west-2:123456789012:autoScalingGroup:*"}], True),
        ([{"Resource": "arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/eks-ml-*"}], UNKNOWN),
        ([{"Resource": ["arn:aws:ec2:*:*:instance/*"]}], False),
        ([{"Resource": UNKNOWN}], UNKNOWN),
        ([UNKNOWN], UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_actions_and_resources_before_all_is_known(statements: Any, expected: Any) -> None:
    if isinstance(statements, list):
        statements = [each if each is UNKNOWN else one_statement(**each) for each in statements]
    assert allows([{"Statement": statements}], AuthorizationRequest(ACTION, ARN)) is expected


@pytest.mark.parametrize(
    ("condition", "closed", "expected"),
    [
        ({"StringEquals": {"aws:ResourceTag/owner": ["ml"]}}, True, True),
        ({"StringEquals": {"AUTOSCALING:resourcetag/owner": ["x", "ml"]}}, True, True),
        ({"StringEquals": {"aws:ResourceTag/other": ["ml"]}}, True, False),
        ({"StringEquals": {"aws:ResourceTag/other": ["ml"]}}, False, UNKNOWN),
        ({"StringEquals": {"aws:ResourceTag/late": ["ml"]}}, True, UNKNOWN),
        ({"StringEquals": {"aws:RequestedRegion": ["us-west-2"]}}, True, True),
        ({"StringEquals": {"aws:requestedregion": ["eu-west-1"]}}, True, False),
        ({"StringEquals": {"aws:PrincipalTag/team": ["ml"]}}, True, UNKNOWN),
        ({"NumericLessThan": {"aws:MultiFactorAuthAge": ["300"]}}, True, UNKNOWN),
        (UNKNOWN, True, UNKNOWN),
    ],
)
def test_conditions_before_all_is_known(condition: Any, closed: bool, expected: Any) -> None:
    call = AuthorizationRequest(ACTION, ARN, {"aws:RequestedRegion": "us-west-2"}, tags=TAGS, more_tags=not closed)
    assert allows([{"Statement": one_statement(Condition=condition)}], call) is expected


def test_an_unreadable_document_may_allow_everything_and_deny_it() -> None:
    assert allows([UNKNOWN], AuthorizationRequest(ACTION)) is UNKNOWN
    assert allows([parsed("{"), {"Statement": [one_statement(Effect="Deny")]}], AuthorizationRequest(ACTION)) is False


def test_calls_without_a_resource_cannot_be_limited_to_one() -> None:
    scoped = {"Statement": one_statement(Resource="arn:aws:autoscaling:*:*:autoScalingGroup:*")}
    assert allows([scoped], AuthorizationRequest(ACTION)) is False
    assert allows([scoped], AuthorizationRequest(ACTION, ANY_RESOURCE)) is True


def test_conditions_of_ones_own_requests_count_as_met_but_a_deny_stays_open() -> None:
    conditional = when("StringLike", "aws:RequestTag/pool", "*")
    assert allows([{"Statement": [conditional]}], AuthorizationRequest(ACTION, ARN, None)) is True
    denying = {**conditional, "Effect": "Deny"}
    assert allows([{"Statement": [one_statement(), denying]}], AuthorizationRequest(ACTION, ARN, None)) is UNKNOWN


@pytest.mark.parametrize("open", [{"Principal": {"Service": UNKNOWN}}, {"Action": UNKNOWN}])
def test_trust_before_all_is_known(open: dict[str, Any]) -> None:
    allowed = {"Effect": "Allow", "Principal": {"Service": "pods"}, "Action": "sts:*", **open}
    assert trusts({"Statement": [allowed]}, "pods", ("sts:AssumeRole", "sts:TagSession")) is UNKNOWN


def test_documents_are_json_or_objects() -> None:
    assert parsed(json.dumps({"Statement": []})) == parsed({"Statement": []}) == {"Statement": []}
    assert parsed(UNKNOWN) is UNKNOWN
    assert parsed("[]") is UNKNOWN


@pytest.mark.parametrize("wildcard", ["*", "**", "?*", "*?"])
def test_many_wildcards_are_matched_in_linear_time(wildcard: str) -> None:
    # With backtracking, thirty stars would take longer than anybody waits.
    never = (wildcard + "a") * 30 + "!"
    assert allows([{"Statement": [one_statement(Action=never)]}], AuthorizationRequest("a" * 200)) is False


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("*", True),
        ("a*:*SetDesired*", True),
        ("autoscaling:*Set*Desired*Capacity", True),
        ("autoscaling:**Capacity", True),
        ("autoscaling:*Set*Set*", False),
        ("autoscaling:*Capacity?", False),
        ("autoscaling:*Desired?apacit?", True),
        ("*scaling", False),
    ],
)
def test_wildcards(pattern: str, matches: bool) -> None:
    assert allows([{"Statement": [one_statement(Action=pattern)]}], AuthorizationRequest(ACTION)) is matches
