"""EventBridge rules and targets, SQS queues: how a cluster hears of interruptions; and CloudWatch log groups.

EC2's own events are delivered as by EventBridge: only by a matching rule, to a target that exists and permits it.
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
from rehearsal.providers.base import Properties
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.row import TABLE, refused

LOG_GROUP: Final = "aws:cloudwatch/logGroup:LogGroup"
RULE: Final = "aws:cloudwatch/eventRule:EventRule"
TARGET: Final = "aws:cloudwatch/eventTarget:EventTarget"
QUEUE: Final = "aws:sqs/queue:Queue"
QUEUE_POLICY: Final = "aws:sqs/queuePolicy:QueuePolicy"
_ATTRIBUTES: Final = {
    "maxMessageSize": "MaximumMessageSize",
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "receiveWaitTimeSeconds": "ReceiveMessageWaitTimeSeconds",
    "visibilityTimeoutSeconds": "VisibilityTimeout",
    **{
        name[0].lower() + name[1:]: name
        for name in (
            *("ContentBasedDeduplication", "DelaySeconds", "FifoQueue", "KmsDataKeyReusePeriodSeconds"),
            *("KmsMasterKeyId", "Policy", "RedrivePolicy", "SqsManagedSseEnabled"),
        )
    },
}
SPOT_INTERRUPTION: Final = "EC2 Spot Instance Interruption Warning"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""
REBALANCE: Final = "EC2 Instance Rebalance Recommendation"
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html"""

_SERVICE: Final = "events.amazonaws.com"
_log = logging.getLogger("rehearsal.aws.events")


@TABLE.check("event-rule", "event-trigger")
def _pattern(inputs: Properties, account: Account) -> str | None:
    pattern = inputs.get("eventPattern")
    if pattern is None and inputs.get("scheduleExpression") is None:
        return "ValidationException: Parameter(s) EventPattern or ScheduleExpression must be specified."
    try:
        valid = pattern is None or isinstance(json.loads(pattern), dict)
    except ValueError:
        valid = False
    return None if valid else "InvalidEventPatternException: Event pattern is not valid. Reason: it is no JSON object"


def _remove_log_group(account: Account, id: str, inputs: Properties) -> None:
    if not inputs.get("skipDestroy"):
        account.call("logs", "DeleteLogGroup", logGroupName=id)


def _remove_rule(account: Account, id: str, inputs: Properties) -> None:
    if account.call("events", "ListTargetsByRule", Rule=id)["Targets"] and not inputs.get("forceDestroy"):
        raise refused(RULE, "ValidationException", "Rule can't be deleted since it has targets.", "DeleteRule")
    account.call("events", "DeleteRule", Name=id)


def _with_attributes(inputs: Properties, params: dict[str, Any]) -> dict[str, Any]:
    return {**params, "Attributes": _attributes(inputs)}


def _change_queue(account: Account, id: str, old: Properties, new: Properties) -> None:
    if attributes := dict(_attributes(new).items() - _attributes(old).items()):
        account.call("sqs", "SetQueueAttributes", QueueUrl=id, Attributes=attributes)


def _policy_of(account: Account, id: str, inputs: Properties) -> Properties | None:
    attributes = account.call("sqs", "GetQueueAttributes", QueueUrl=id, AttributeNames=["Policy"]).get("Attributes", {})
    return attributes if attributes.get("Policy") else None


def _attributes(inputs: Properties) -> dict[str, str]:
    """SQS takes every attribute as text."""
    return {
        name: str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
        for key, name in _ATTRIBUTES.items()
        if (value := inputs.get(key)) is not None
    }


ROWS: Final = (
    TABLE.row(LOG_GROUP, remove=_remove_log_group),
    TABLE.row(RULE, remove=_remove_rule),
    TABLE.row(TARGET, wrap=lambda inputs, target: {"Rule": inputs["rule"], "Targets": [target]}),
    TABLE.row(QUEUE, wrap=_with_attributes, change=_change_queue),
    TABLE.row(QUEUE_POLICY, wrap=_with_attributes, describe=_policy_of),
)


def spot_interruption(account: Account, instance: str) -> list[str]:
    """Warn that the instance ends in two minutes; the queues (ARNs) that heard of it."""
    return deliver(account, SPOT_INTERRUPTION, instance, {"instance-action": "terminate"})


def scheduled_change(account: Account, instance: str) -> list[str]:
    """Announce maintenance of the instance's host, as AWS does weeks ahead; the queues that heard of it.

    https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
    """
    detail = {
        "eventArn": f"arn:aws:health:{account.region}::event/EC2/AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED/1",
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED",
        "eventTypeCategory": "scheduledChange",
        "affectedEntities": [{"entityValue": instance}],
    }
    return deliver(account, "AWS Health Event", instance, detail, source="aws.health")


def deliver(
    account: Account, detail_type: str, instance: str, detail: Mapping[str, Any], source: str = "aws.ec2"
) -> list[str]:
    """Send an event about an instance to every queue that rules name for it; the queues' ARNs."""
    from moto.events.models import EventPattern
    from moto.events.utils import EventMessageType

    event: EventMessageType = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": detail_type,
        "source": source,
        "account": account.id,
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": account.region,
        "resources": [account.arn("ec2", f"instance/{instance}")],
        "detail": {"instance-id": instance, **detail},
    }
    queues = []
    with account.store.held():
        for rule in account.call("events", "ListRules")["Rules"]:
            pattern = rule.get("EventPattern")
            if rule.get("State") != "ENABLED" or not (pattern and EventPattern.load(pattern).matches_event(event)):
                continue
            for target in account.call("events", "ListTargetsByRule", Rule=rule["Name"])["Targets"]:
                problem = _send(account, rule["Arn"], target["Arn"], event)
                if problem:
                    # As in AWS, the failure is silent: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html.
                    _log.warning("event %r was not delivered to %s: %s", detail_type, target["Arn"], problem)
                else:
                    queues.append(str(target["Arn"]))
    return queues


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
