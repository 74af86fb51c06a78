"""What AWS refuses although the SDK accepts it: each rule's refusal, and the neighbour that it lets pass."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.providers.eks.tables import table
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.eks import AwsProvider


@pytest.fixture(scope="module")
def amazon(tmp_path_factory: pytest.TempPathFactory) -> eks.Amazon:
    """Previews only, so that nothing exists and one account does for all."""
    return eks.Amazon(tmp_path_factory.mktemp("aws"))


def group(**changes: Any) -> Properties:
    return eks.gpu_group(["subnet-1"], **changes)


def cluster(**changes: Any) -> Properties:
    network = {"subnetIds": ["subnet-1", "subnet-2"], **changes.pop("vpcConfig", {})}
    return {"name": "gpu-dev", "roleArn": "arn:aws:iam::123456789012:role/r", "vpcConfig": network, **changes}


def taints(count: int) -> Properties:
    return {"taints": [{"key": f"k{index}", "effect": "NO_SCHEDULE"} for index in range(count)]}


def entry(**changes: Any) -> Properties:
    return {"clusterName": "c", "principalArn": "arn:aws:iam::123456789012:role/ops", **changes}


ALLOWED = {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}
USUAL = {eks.NODE_GROUP: group, eks.CLUSTER: cluster, eks.ENTRY: entry, eks.POLICY_ASSOCIATION: entry}


def usual(type_: str, changes: Properties) -> Properties:
    """The usual inputs of a type, with changes."""
    return USUAL.get(type_, dict)(**changes)


RULES: list[tuple[str, str, Properties, Properties]] = [
    *(
        (each["rule"], each["type"], usual(each["type"], each["refused"]), usual(each["type"], each["passes"]))
        for each in table("rules")
    ),
    ("taints-valid", eks.NODE_GROUP, group(**taints(51)), group(**taints(50))),
    (
        "inline-policy-size",
        eks.ROLE_POLICY,
        {"role": "r", "policy": eks.document({**ALLOWED, "Sid": "x" * 10240})},
        {"role": "r", "policy": eks.document({**ALLOWED, "Sid": "x" * 10000})},
    ),
]


@pytest.mark.parametrize(
    ("rule", "type_", "bad", "good"), RULES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_rule_refuses_and_lets_its_neighbour_pass(
    amazon: eks.Amazon, rule: str, type_: str, bad: Properties, good: Properties
) -> None:
    assert rule in {each.id for each in AwsProvider.rows[type_].rules}
    with pytest.raises(ProviderError, match="api error"):
        amazon.preview(type_, bad)
    amazon.preview(type_, good)


@pytest.mark.parametrize("bad", [cluster(roleArn=""), cluster(vpcConfig={"subnetIds": ["subnet-1", "subnet-1-3f2"]})])
def test_a_reference_has_the_form_of_an_id_or_an_arn(amazon: eks.Amazon, bad: Properties) -> None:
    with pytest.raises(ProviderError, match="InvalidParameterValue"):
        amazon.preview(eks.CLUSTER, bad)


def test_every_rule_is_broken_once() -> None:
    tested = {(type_, rule) for rule, type_, _, _ in RULES}
    existing = {(token, rule.id) for token, row in AwsProvider.rows.items() for rule in row.rules}
    # The policy of a queue is the same rule on both of its types.
    assert existing - tested == {("aws:sqs/queuePolicy:QueuePolicy", "queue-policy")}


def test_a_rule_waits_for_what_is_not_known_yet(amazon: eks.Amazon) -> None:
    amazon.preview(eks.NODE_GROUP, group(instanceTypes=UNKNOWN, labels={"team": UNKNOWN}))
    amazon.preview(eks.CLUSTER, cluster(vpcConfig={"subnetIds": UNKNOWN}))


@cases
def test_what_models_do_not_know_is_refused(amazon: eks.Amazon, type_: str, inputs: Properties, path: str) -> None:
    with pytest.raises(ProviderError, match=f"^{path}"):
        amazon.check(type_, inputs)


def test_the_region_is_one_that_exists(amazon: eks.Amazon) -> None:
    assert amazon.provider.check_config({"region": "us-west-2"}) == []
    assert amazon.provider.check_config({"region": UNKNOWN}) == []
    assert [failure.property for failure in amazon.provider.check_config({"region": "us-west-9"})] == ["region"]
    assert [failure.property for failure in amazon.provider.check_config({})] == ["region"]
