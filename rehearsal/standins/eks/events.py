"""EventBridge rules and targets, SQS queues: how a cluster hears of interruptions; and CloudWatch log groups."""

from __future__ import annotations

import json
from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.policy_documents import document_problem
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To
from rehearsal.standins.rules import RuleBook

EVENT_RULES: Final = RuleBook[Account]()
QUEUE_RULES: Final = RuleBook[Account]()
LOG_RULES: Final = RuleBook[Account]()
RETENTION_DAYS: Final = (
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
)
_ATTRIBUTES: Final = {
    "contentBasedDeduplication": "ContentBasedDeduplication",
    "delaySeconds": "DelaySeconds",
    "fifoQueue": "FifoQueue",
    "kmsDataKeyReusePeriodSeconds": "KmsDataKeyReusePeriodSeconds",
    "kmsMasterKeyId": "KmsMasterKeyId",
    "maxMessageSize": "MaximumMessageSize",
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "policy": "Policy",
    "receiveWaitTimeSeconds": "ReceiveMessageWaitTimeSeconds",
    "redrivePolicy": "RedrivePolicy",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
    "visibilityTimeoutSeconds": "VisibilityTimeout",
}


@EVENT_RULES.add(
    "event-trigger", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html", "eventPattern"
)
def _pattern(inputs: Properties, account: Account) -> str | None:
    pattern = inputs.get("eventPattern")
    if pattern is None and inputs.get("scheduleExpression") is None:
        return "ValidationException: Parameter(s) EventPattern or ScheduleExpression must be specified."
    try:
        valid = pattern is None or isinstance(json.loads(pattern), dict)
    except ValueError:
        valid = False
    return None if valid else "InvalidEventPatternException: Event pattern is not valid. Reason: it is no JSON object"


@QUEUE_RULES.add(
    "queue-policy",
    "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-overview-of-managing-access.html",
    "policy",
)
def _queue_policy(inputs: Properties, account: Account) -> str | None:
    problem = inputs.get("policy") and document_problem(inputs["policy"], principals=True)
    return f"InvalidAttributeValue: Invalid value for the parameter Policy. {problem}" if problem else None


@LOG_RULES.add(
    "log-retention",
    "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html",
    "retentionInDays",
)
def _retention(inputs: Properties, account: Account) -> str | None:
    days = inputs.get("retentionInDays")
    if not days or days in RETENTION_DAYS:
        return None
    return f"InvalidParameterException: retentionInDays {days:g} is none of {', '.join(map(str, RETENTION_DAYS))}"


class LogGroupKind(Kind):
    """``aws:cloudwatch/logGroup:LogGroup``."""

    token = "aws:cloudwatch/logGroup:LogGroup"
    shape = Shape(
        service="logs",
        operation="CreateLogGroup",
        table={"CreateLogGroupRequest": {"name": To("logGroupName")}},
        local=("retentionInDays", "skipDestroy"),
        replaces=("name", "logGroupClass"),
        tags="map",
        name="name",
        name_limit=512,
    )
    rules = LOG_RULES.rules
    computed = ("arn",)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("logs", "CreateLogGroup", **params)
        self.change(account, inputs["name"], {"kmsKeyId": inputs.get("kmsKeyId")}, inputs)
        return str(inputs["name"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        groups = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=id)["logGroups"]
        found = next((group for group in groups if group["logGroupName"] == id), None)
        return None if found is None else {"arn": found["arn"].removesuffix(":*")}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        before, after = old.get("retentionInDays"), new.get("retentionInDays")
        if after and before != after:
            account.call("logs", "PutRetentionPolicy", logGroupName=id, retentionInDays=int(after))
        elif before and not after:
            account.call("logs", "DeleteRetentionPolicy", logGroupName=id)
        if new.get("kmsKeyId") and old.get("kmsKeyId") != new["kmsKeyId"]:
            account.call("logs", "AssociateKmsKey", logGroupName=id, kmsKeyId=new["kmsKeyId"])

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        if not inputs.get("skipDestroy"):
            account.call("logs", "DeleteLogGroup", logGroupName=id)


class EventRuleKind(Kind):
    """``aws:cloudwatch/eventRule:EventRule``."""

    token = "aws:cloudwatch/eventRule:EventRule"
    shape = Shape(
        service="events",
        operation="PutRule",
        local=("forceDestroy", "isEnabled"),
        replaces=("name", "eventBusName"),
        tags="list",
        name="name",
    )
    rules = EVENT_RULES.rules
    computed = ("arn",)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("events", "PutRule", **params)
        return str(inputs["name"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        return {"arn": account.call("events", "DescribeRule", Name=id)["Arn"]}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        params = self.shape.translate(new).params
        params.pop("Tags", None)  # refused for a rule that exists
        account.call("events", "PutRule", **params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        if account.call("events", "ListTargetsByRule", Rule=id)["Targets"] and not inputs.get("forceDestroy"):
            reason = "Rule can't be deleted since it has targets."
            raise self.refuse("ValidationException", reason, "DeleteRule")
        account.call("events", "DeleteRule", Name=id)


class EventTargetKind(Kind):
    """``aws:cloudwatch/eventTarget:EventTarget``."""

    token = "aws:cloudwatch/eventTarget:EventTarget"
    shape = Shape(
        service="events",
        operation="PutTargets",
        body="Target",
        table={"Target": {"targetId": To("Id")}},
        local=("eventBusName", "forceDestroy", "rule"),
        required=("arn", "rule"),
        replaces=("rule", "targetId", "eventBusName"),
        name="targetId",
    )

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("events", "PutTargets", Rule=inputs["rule"], Targets=[params])
        return f"{inputs['rule']}-{inputs['targetId']}"

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        targets = account.call("events", "ListTargetsByRule", Rule=inputs["rule"])["Targets"]
        return {} if any(target["Id"] == inputs["targetId"] for target in targets) else None

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        account.call("events", "PutTargets", Rule=new["rule"], Targets=[self.shape.translate(new).params])

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("events", "RemoveTargets", Rule=inputs["rule"], Ids=[inputs["targetId"]])


class QueueKind(Kind):
    """``aws:sqs/queue:Queue``; its id is its URL."""

    token = "aws:sqs/queue:Queue"
    shape = Shape(
        service="sqs",
        operation="CreateQueue",
        table={"CreateQueueRequest": {"name": To("QueueName")}},
        local=tuple(_ATTRIBUTES),
        replaces=("name", "fifoQueue"),
        tags="map",
        name="name",
        name_limit=80,
    )
    rules = QUEUE_RULES.rules
    computed = ("arn", "url")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        return str(account.call("sqs", "CreateQueue", **params, Attributes=_attributes(inputs))["QueueUrl"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("sqs", "GetQueueAttributes", QueueUrl=id, AttributeNames=["QueueArn"])["Attributes"]
        return {"arn": found["QueueArn"], "url": id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        before, after = _attributes(old), _attributes(new)
        attributes = {key: value for key, value in after.items() if before.get(key) != value}
        if attributes:
            account.call("sqs", "SetQueueAttributes", QueueUrl=id, Attributes=attributes)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("sqs", "DeleteQueue", QueueUrl=id)


class QueuePolicyKind(Kind):
    """``aws:sqs/queuePolicy:QueuePolicy``."""

    token = "aws:sqs/queuePolicy:QueuePolicy"
    shape = Shape(
        service="sqs",
        operation="SetQueueAttributes",
        table={"SetQueueAttributesRequest": {"policy": To("Attributes", lambda policy: {"Policy": policy})}},
        required=("policy", "queueUrl"),
        replaces=("queueUrl",),
    )
    rules = QUEUE_RULES.rules

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.call("sqs", "SetQueueAttributes", **params)
        return str(inputs["queueUrl"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("sqs", "GetQueueAttributes", QueueUrl=id, AttributeNames=["Policy"])
        return {} if found.get("Attributes", {}).get("Policy") else None

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        account.call("sqs", "SetQueueAttributes", **self.shape.translate(new).params)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("sqs", "SetQueueAttributes", QueueUrl=id, Attributes={"Policy": ""})


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
