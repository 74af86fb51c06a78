"""EC2's events, as EventBridge delivers them: only by a matching rule, to a target that exists and permits it.

moto's bus takes events of programs only, and does not check the queue's policy.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final

from facts.concepts.iam import parsed, trusts
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError

SPOT_INTERRUPTION: Final = "EC2 Spot Instance Interruption Warning"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""
REBALANCE: Final = "EC2 Instance Rebalance Recommendation"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html"""

_SERVICE: Final = "events.amazonaws.com"
_log = logging.getLogger("rehearsal.aws.events")


def spot_interruption(account: Account, instance: str) -> list[str]:
    """Warn that the instance ends in two minutes; the queues (ARNs) that heard of it."""
    return deliver(account, SPOT_INTERRUPTION, instance, {"instance-action": "terminate"})


def deliver(account: Account, detail_type: str, instance: str, detail: Mapping[str, str]) -> list[str]:
    """Send one of EC2's events about an instance to every queue that rules name for it; the queues' ARNs."""
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": detail_type,
        "source": "aws.ec2",
        "account": account.id,
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": account.region,
        "resources": [account.arn("ec2", f"instance/{instance}")],
        "detail": {"instance-id": instance, **detail},
    }
    queues = []
    with account.store.held():
        for rule in account.call("events", "ListRules")["Rules"]:
            if rule.get("State") != "ENABLED" or not _fits(rule.get("EventPattern"), event):
                continue
            for target in account.call("events", "ListTargetsByRule", Rule=rule["Name"])["Targets"]:
                problem = _send(account, rule["Arn"], target["Arn"], event)
                if problem:
                    # As in AWS, the failure is silent: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html.
                    _log.warning("event %r was not delivered to %s: %s", detail_type, target["Arn"], problem)
                else:
                    queues.append(str(target["Arn"]))
    return queues


def _fits(pattern: str | None, event: Any) -> bool:
    from moto.events.models import EventPattern

    return bool(pattern) and bool(EventPattern.load(pattern).matches_event(event))


def _send(account: Account, rule: str, queue: str, event: Mapping[str, Any]) -> str:
    """Why it could not be sent, ``""`` if it was."""
    if ":sqs:" not in queue:
        return "the rehearsal delivers to queues only"
    try:
        url = account.call("sqs", "GetQueueUrl", QueueName=queue.rpartition(":")[2])["QueueUrl"]
        attributes = account.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"])
    except AwsError as error:
        return str(error)
    policy = (attributes.get("Attributes") or {}).get("Policy")
    context = {
        "aws:SourceArn": rule,
        "aws:SourceAccount": account.id,
        "aws:SecureTransport": "true",
        "aws:PrincipalIsAWSService": "true",
    }
    if not policy or trusts(parsed(policy), _SERVICE, ("sqs:SendMessage",), context) is not True:
        return f"the queue's policy does not let {_SERVICE} send to it"
    account.call("sqs", "SendMessage", QueueUrl=url, MessageBody=json.dumps(event))
    return ""
