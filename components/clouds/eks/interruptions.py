"""How Karpenter hears that a machine is about to go: EventBridge rules that feed a queue.

https://karpenter.sh/v1.14/reference/cloudformation/#interruption-handling
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks import policy
from components.clouds.names import shortened
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks

EVENTS: Final = {
    "scheduled-change": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation-interruption": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Rule → source and type of its events."""

_QUEUE_NAME_LIMIT: Final = 80
_RULE_NAME_LIMIT: Final = 64
# After that a warning of two minutes is stale.
_RETENTION_SECONDS: Final = 300


def queue_name(cluster_name: str) -> str:
    """The queue's name, within the 80 characters that it may have."""
    return shortened(cluster_name, _QUEUE_NAME_LIMIT, suffix="-interruptions")


class InterruptionQueue:
    """The queue (``queue_name``), and what has to exist before it gets a message (``ready``)."""

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        options = pulumi.ResourceOptions(parent=parent)
        queue = declare(
            "aws:sqs/queue:Queue",
            f"{name}-interruptions",
            {
                "name": queue_name(settings.cluster_name),
                "messageRetentionSeconds": _RETENTION_SECONDS,
                "sqsManagedSseEnabled": True,
                "tags": dict(settings.labels),
            },
            options,
            outputs=["arn", "url"],
        )
        arn = queue.outputs["arn"]
        self.queue_name: pulumi.Output[str] = queue.outputs["name"]
        names = {event: shortened(settings.cluster_name, _RULE_NAME_LIMIT, suffix=f"-{event}") for event in EVENTS}
        rules = list(names.values())
        senders: eks.QueuePolicy = {
            "queueUrl": queue.outputs["url"],
            "policy": arn.apply(lambda queue_arn: _senders(queue_arn, rules)),
        }
        self.ready: list[pulumi.Resource] = [
            declare("aws:sqs/queuePolicy:QueuePolicy", f"{name}-interruptions-senders", senders, options)
        ]
        for rule_name, (source, detail) in EVENTS.items():
            rule = declare(
                "aws:cloudwatch/eventRule:EventRule",
                f"{name}-{rule_name}",
                {
                    "name": names[rule_name],
                    "description": f"{detail} for cluster {settings.cluster_name}",
                    "eventPattern": json.dumps({"source": [source], "detail-type": [detail]}),
                    "tags": dict(settings.labels),
                },
                options,
            )
            target: eks.EventTarget = {"rule": rule.outputs["name"], "arn": arn, "targetId": "interruption-queue"}
            self.ready.append(
                declare("aws:cloudwatch/eventTarget:EventTarget", f"{name}-{rule_name}-target", target, options)
            )


def _senders(queue_arn: str, rules: Sequence[str]) -> str:
    _, partition, _, region, account, _ = queue_arn.split(":")
    sources = [f"arn:{partition}:events:{region}:{account}:rule/{rule}" for rule in rules]
    return policy.of("interruptions", queue=queue_arn, rules=sources)
