"""The deployer's rights against judges from outside: CloudFormation's handlers, and what moto is asked."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from account.clouds.eks import rights
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.eks.answers import answers
from rehearsal.providers.eks import provider
from schemas import schema
from tests import one_stack
from tests.stacks import ROOT, STACK_FILES, run_program, run_with, settings_of, stack_name

HERE = Path(__file__).parent
STACKS = [file for file in (*STACK_FILES, *one_stack.files()) if "gpucluster:cloud: eks" in file.read_text()]
# https://github.com/pulumi/pulumi-aws-native/tree/43eed3b017fff3b41e0ceeae37ee943afce53275/aws-cloudformation-schema
HANDLERS: Mapping[str, Mapping[str, Any]] = json.loads((HERE / "handlers.json").read_text())
RESOURCES = ROOT / "packages/rehearsal/rehearsal/providers/eks/resources.yaml"
# Operations that are called otherwise than their actions:
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
ACTIONS = {
    "s3:DeleteBucketLifecycle": "s3:PutLifecycleConfiguration",
    "s3:DeletePublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    # What the rehearsal does in the place of HeadBucket.
    "s3:ListBuckets": "s3:ListBucket",
}


def table(name: str) -> list[dict[str, str]]:
    lines = [line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


GRANTED = {row.type: frozenset(row.rights) for row in rights.TABLE.rows}
"""Type → the actions of the table, whatever the stack."""


def by_handlers(type: str) -> set[str]:
    """What AWS's own handlers of the type need, without what is left out."""
    verbs = {key: value for key, value in HANDLERS.get(type, {}).items() if key != "type"}
    needed = {re.sub("^S3:", "s3:", action) for actions in verbs.values() for action in actions}
    left_out = [row["pattern"] for row in table("left_out.csv") if row["type"] == type]
    return {action for action in needed if not any(re.fullmatch(pattern, action) for pattern in left_out)}


def requests(row: Any) -> Iterator[str]:
    if isinstance(row, dict):
        for key, value in row.items():
            yield from [value] if key == "request" and isinstance(value, str) else requests(value)
    elif isinstance(row, list):
        for value in row:
            yield from requests(value)


@cache
def by_moto() -> Mapping[str, frozenset[str]]:
    """Type → the actions of the requests by which the rehearsal makes, reads, changes and removes it in moto."""
    rows = yaml.safe_load(RESOURCES.read_text())
    sent = {type: {schema("eks").resources[type].api, *requests(row)} for type, row in rows.items()}
    return {
        type: frozenset(ACTIONS.get(each, each).replace("efs:", "elasticfilesystem:") for each in operations)
        for type, operations in sent.items()
    }


def actions_of(statement: Mapping[str, Any]) -> list[str]:
    action = statement["Action"]
    return [action] if isinstance(action, str) else action


DECLARED = sorted(set(GRANTED) - {"lookups of an existing network"})


@pytest.mark.parametrize("type", DECLARED)
def test_a_deployer_has_what_awss_own_handlers_and_moto_need(type: str) -> None:
    assert by_handlers(type) - GRANTED[type] == set()
    assert by_moto()[type] - GRANTED[type] == set()


# What services of AWS do themselves, with roles of their own, for what the deployer asked for.
BY_AWS_ITSELF = {
    "autoscaling:CreateAutoScalingGroup",  # of a managed node group
    "autoscaling:DeleteAutoScalingGroup",
    "ec2:AuthorizeSecurityGroupIngress",  # of a cluster
    "ec2:CreateSecurityGroup",
    "ec2:DeleteSecurityGroup",
    "ec2:DescribeInstances",  # whether an address or a network is in use
    "ec2:DescribeVolumes",
}


@pytest.mark.parametrize("name", ["eks-research", pytest.param("eks-t4", marks=pytest.mark.rehearsal)])
def test_a_deployer_has_what_moto_saw_when_the_whole_program_was_made_read_and_removed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, calls, answer = ROOT / "examples" / f"{name}.yaml", set[str](), provider.answer_in_process

    def noting(account: Any, service: str, operation: str, request: Any) -> Any:
        name = f"{service}:{operation}"
        calls.add(ACTIONS.get(name, name).replace("efs:", "elasticfilesystem:"))
        return answer(account, service, operation, request)

    monkeypatch.setattr(provider, "answer_in_process", noting)
    amazon = Amazon(tmp_path)
    with answers(amazon):
        run_with(yaml.safe_load(file.read_text())["config"], stack_name(file))
    for type, resource in reversed(amazon.made):
        amazon.read(type, resource.id, resource.inputs)
        amazon.delete(type, resource)
    amazon.stop()
    granted = {*rights.actions(settings_of(file))}
    assert calls - granted <= BY_AWS_ITSELF
    assert len(calls & granted) > 60


@pytest.mark.parametrize("type", DECLARED)
def test_each_right_beyond_them_has_a_reason(type: str) -> None:
    reasons = {right for right, reason in rights.TABLE.reasons.get(type, {}).items() if reason}
    assert GRANTED[type] - by_handlers(type) - by_moto()[type] == reasons


def test_what_is_left_out_is_in_a_handler_and_has_a_reason() -> None:
    for row in table("left_out.csv"):
        actions = {action for key, value in HANDLERS[row["type"]].items() if key != "type" for action in value}
        assert any(re.fullmatch(row["pattern"], action) for action in actions), row
        assert row["reason"]


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_the_types_are_those_that_the_program_declares(file: Path) -> None:
    declared = {each.type for each in run_program(file).resources if each.type.startswith("aws:")}
    types = {row.type for row in rights.TABLE.declared(settings_of(file))}
    assert declared - types == set()
    # A tag that only groups of some settings have, and lookups, are no types of this stack.
    assert types - declared <= {"aws:autoscaling/tag:Tag", "lookups of an existing network"}


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_documents_fit_managed_policies_and_limit_roles_to_the_clusters(file: Path) -> None:
    settings = settings_of(file)
    documents = rights.documents(settings, "aws", "123456789012")
    assert all(len(json.dumps(each, separators=(",", ":"))) <= 6144 for each in documents)
    statements = [statement for document in documents for statement in document["Statement"]]
    named = [action for each in statements for action in actions_of(each)]
    assert sorted(named) == [*rights.actions(settings)]
    assert not [action for action in named if "*" in action]
    path = settings.security.role_path or "/"
    for statement in statements:
        if any(action.startswith("iam:") for action in actions_of(statement)):
            assert statement["Resource"] != "*"
    (passing,) = (each for each in statements if each["Sid"] == "AllowPassingRoles")
    assert passing["Resource"].startswith(f"arn:aws:iam::123456789012:role{path}{settings.cluster_name[:40]}")
    assert passing["Condition"]["StringEquals"]["iam:PassedToService"]


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_roles_of_the_program_are_those_that_may_be_passed(file: Path) -> None:
    settings = settings_of(file)
    pattern = re.compile(re.escape(rights.role_arns(settings, "aws", "1")).replace(r"\*", ".*"))
    roles = [each.inputs for each in run_program(file).resources if each.type == "aws:iam/role:Role"]
    assert roles
    for role in roles:
        assert pattern.fullmatch(f"arn:aws:iam::1:role{role.get('path', '/')}{role['name']}")
        services = {
            service
            for statement in json.loads(role["assumeRolePolicy"])["Statement"]
            for service in [statement["Principal"]["Service"]]
        }
        assert services <= {*rights.PASSED_TO}
