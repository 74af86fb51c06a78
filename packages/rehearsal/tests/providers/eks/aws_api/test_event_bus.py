"""EC2's events arrive where a rule, its target and the queue's policy all want them, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.account import (
    EVENT_RULE,
    EVENT_TARGET,
    QUEUE,
    QUEUE_POLICY,
    REGION,
    Amazon,
    document,
)
from rehearsal.providers.eks.resources.events import REBALANCE, deliver, spot_interruption

ARN = f"arn:aws:sqs:{REGION}:123456789012:gpu-dev"
PATTERN = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
SEND = {
    "Effect": "Allow",
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "sqs:SendMessage",
    "Resource": ARN,
}
TLS_ONLY = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "sqs:*",
    "Resource": ARN,
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}


def declare(amazon: Amazon, pattern: Any = PATTERN, policy: Any = (SEND, TLS_ONLY), target: str = ARN) -> str:
    """The queue's URL."""
    queue = amazon.create(QUEUE, {"name": "gpu-dev", "sqsManagedSseEnabled": True})
    if policy:
        amazon.create(QUEUE_POLICY, {"queueUrl": queue.state["url"], "policy": document(*policy)})
    amazon.create(EVENT_RULE, {"name": "spot", "eventPattern": json.dumps(pattern)})
    if target:
        amazon.create(EVENT_TARGET, {"rule": "spot", "arn": target, "targetId": "queue"})
    return str(queue.state["url"])


def messages(amazon: Amazon, url: str) -> list[dict[str, Any]]:
    received = amazon.account.call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages") or []
    return [json.loads(each["Body"]) for each in received]


def test_a_warning_arrives_as_eventbridge_writes_it(amazon: Amazon) -> None:
    url = declare(amazon)
    assert spot_interruption(amazon.account, "i-1") == [ARN]
    (event,) = messages(amazon, url)
    assert event["detail-type"] == "EC2 Spot Instance Interruption Warning"
    assert (event["version"], event["source"], event["region"]) == ("0", "aws.ec2", REGION)
    assert event["detail"] == {"instance-id": "i-1", "instance-action": "terminate"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"pattern": {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Interruption Warning"]}},
        {"pattern": {"source": ["aws.health"]}},
        {"policy": ()},
        {"policy": ({**SEND, "Principal": {"Service": "sns.amazonaws.com"}},)},
        {"policy": ({**SEND, "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:events:*:*:rule/other"}}},)},
        {"policy": (SEND, {**TLS_ONLY, "Condition": {}})},
        {"target": ""},
        {"target": ARN + "-other"},
    ],
)
def test_one_wrong_word_and_nobody_hears_of_it(amazon: Amazon, wrong: dict[str, Any]) -> None:
    url = declare(amazon, **wrong)
    assert spot_interruption(amazon.account, "i-1") == []
    assert messages(amazon, url) == []


def test_other_events_have_rules_of_their_own(amazon: Amazon) -> None:
    url = declare(amazon)
    assert deliver(amazon.account, REBALANCE, "i-1", {}) == []
    assert messages(amazon, url) == []
