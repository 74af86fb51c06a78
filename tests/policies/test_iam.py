"""What IAM documents allow: one statement, one change for each way in which it does not, and what stays open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from facts.concepts.iam import ANY_RESOURCE, AuthorizationRequest, allows, parsed, trusts
from facts.concepts.unknown import UNKNOWN

ACTION = "autoscaling:SetDesiredCapacity"
ARN = "arn:?:autoscaling:?:?:autoScalingGroup:?:autoScalingGroupName/?"
TAGS = {"owner": "ml", "late": UNKNOWN}


def statement(**changes: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": [ACTION], "Resource": "*", **changes}


def when(operator: str, key: str, *values: Any) -> dict[str, Any]:
    return statement(Condition={operator: {key: list(values)}})


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([statement()], True),
        ([], False),
        ([statement(Action="autoscaling:*")], True),
        ([statement(Action=["AutoScaling:setdesiredcapacity"])], True),
        ([statement(Action="autoscaling:Set?esiredCapacity")], True),
        ([statement(Action="autoscaling:Describe*")], False),
        ([statement(Action=["ec2:RunInstances", UNKNOWN])], UNKNOWN),
        ([{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}], True),
        ([{"Effect": "Allow", "NotAction": "autoscaling:*", "Resource": "*"}], False),
        ([statement(), statement(Effect="Deny")], False),
        ([statement(), statement(Effect="Deny", Action=UNKNOWN)], UNKNOWN),
        ([statement(Action="ec2:*"), statement(Effect="Deny", Action=UNKNOWN)], False),
        ([statement(Effect=UNKNOWN)], UNKNOWN),
        ([statement(Resource="arn:aws:autoscaling:*:*:autoScalingGroup:*")], True),
        ([statement(Resource="arn:aws:autoscaling:us-west-2:123456789012:autoScalingGroup:*")], True),
        ([statement(Resource="arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/eks-ml-*")], UNKNOWN),
        ([statement(Resource=["arn:aws:ec2:*:*:instance/*"])], False),
        ([statement(Resource=UNKNOWN)], UNKNOWN),
        ([UNKNOWN], UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_actions_and_resources(statements: Any, expected: Any) -> None:
    assert allows([{"Statement": statements}], AuthorizationRequest(ACTION, ARN)) is expected


@pytest.mark.parametrize(
    ("condition", "closed", "expected"),
    [
        (when("StringEquals", "aws:ResourceTag/owner", "ml"), True, True),
        (when("StringEquals", "AUTOSCALING:resourcetag/owner", "x", "ml"), True, True),
        (when("StringEquals", "aws:ResourceTag/Owner", "ml"), True, False),
        (when("StringEquals", "aws:ResourceTag/owner", "m*"), True, False),
        (when("StringLike", "aws:ResourceTag/owner", "m*"), True, True),
        (when("StringEquals", "aws:ResourceTag/other", "ml"), True, False),
        (when("StringEquals", "aws:ResourceTag/other", "ml"), False, UNKNOWN),
        (when("StringEqualsIfExists", "aws:ResourceTag/other", "ml"), True, True),
        (when("StringNotEquals", "aws:ResourceTag/owner", "ml"), True, False),
        (when("StringNotEquals", "aws:ResourceTag/other", "ml"), True, True),
        (when("StringEquals", "aws:ResourceTag/late", "ml"), True, UNKNOWN),
        (when("Null", "aws:ResourceTag/other", "true"), True, True),
        (when("Null", "aws:ResourceTag/owner", True), True, False),
        (when("StringEquals", "aws:RequestedRegion", "us-west-2"), True, True),
        (when("StringEquals", "aws:requestedregion", "eu-west-1"), True, False),
        (when("StringEquals", "aws:PrincipalTag/team", "ml"), True, UNKNOWN),
        (when("NumericLessThan", "aws:MultiFactorAuthAge", "300"), True, UNKNOWN),
        (statement(Condition=UNKNOWN), True, UNKNOWN),
    ],
)
def test_conditions(condition: dict[str, Any], closed: bool, expected: Any) -> None:
    call = AuthorizationRequest(ACTION, ARN, {"aws:RequestedRegion": "us-west-2"}, tags=TAGS, more_tags=not closed)
    assert allows([{"Statement": condition}], call) is expected


def test_an_unreadable_document_may_allow_everything_and_deny_it() -> None:
    assert allows([UNKNOWN], AuthorizationRequest(ACTION)) is UNKNOWN
    assert allows([parsed("{"), {"Statement": [statement(Effect="Deny")]}], AuthorizationRequest(ACTION)) is False


def test_calls_without_a_resource_cannot_be_limited_to_one() -> None:
    scoped = {"Statement": statement(Resource="arn:aws:autoscaling:*:*:autoScalingGroup:*")}
    assert allows([scoped], AuthorizationRequest(ACTION)) is False
    assert allows([scoped], AuthorizationRequest(ACTION, ANY_RESOURCE)) is True


def test_conditions_of_ones_own_requests_count_as_met_but_a_deny_stays_open() -> None:
    conditional = when("StringLike", "aws:RequestTag/pool", "*")
    assert allows([{"Statement": [conditional]}], AuthorizationRequest(ACTION, ARN, None)) is True
    denying = {**conditional, "Effect": "Deny"}
    assert allows([{"Statement": [statement(), denying]}], AuthorizationRequest(ACTION, ARN, None)) is UNKNOWN


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"Principal": {"Service": "pods"}, "Action": ["sts:AssumeRole", "sts:TagSession"]}, True),
        ({"Principal": {"Service": ["ec2", "pods"]}, "Action": "sts:*"}, True),
        ({"Principal": {"Service": "pods"}, "Action": "sts:AssumeRole"}, False),
        ({"Principal": {"Service": "ec2"}, "Action": "sts:*"}, False),
        ({"Principal": {"AWS": "*"}, "Action": "sts:*"}, False),
        ({"Principal": {"Service": UNKNOWN}, "Action": "sts:*"}, UNKNOWN),
        ({"Principal": {"Service": "pods"}, "Action": UNKNOWN}, UNKNOWN),
    ],
)
def test_trust(document: dict[str, Any], expected: Any) -> None:
    statements = [{"Effect": "Allow", **document}]
    assert trusts({"Statement": statements}, "pods", ("sts:AssumeRole", "sts:TagSession")) is expected


def test_documents_are_json_or_objects() -> None:
    assert parsed(json.dumps({"Statement": []})) == parsed({"Statement": []}) == {"Statement": []}
    assert parsed(UNKNOWN) is UNKNOWN
    assert parsed("[]") is UNKNOWN


@pytest.mark.parametrize("wildcard", ["*", "**", "?*", "*?"])
def test_many_wildcards_are_matched_in_linear_time(wildcard: str) -> None:
    # With backtracking, thirty stars would take longer than anybody waits.
    never = (wildcard + "a") * 30 + "!"
    assert allows([{"Statement": [statement(Action=never)]}], AuthorizationRequest("a" * 200)) is False


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
    assert allows([{"Statement": [statement(Action=pattern)]}], AuthorizationRequest(ACTION)) is matches
