"""How Karpenter hears that a machine is about to go: EventBridge rules that feed a queue.

https://karpenter.sh/v1.8/reference/cloudformation/#interruption-handling
"""

from __future__ import annotations

import json
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.eks import policy
from components.clouds.names import shortened
from components.resources import CustomResource

EVENTS: Final = {
    "scheduled-change": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
}
"""Rule → where its events come from and what they are called."""

_QUEUE_NAME_LIMIT: Final = 80
_RULE_NAME_LIMIT: Final = 64
# After that a warning of two minutes is stale.
_KEPT_SECONDS: Final = 300


def queue_name(cluster_name: str) -> str:
    """The queue's name, within the 80 characters that it may have."""
    return shortened(cluster_name, _QUEUE_NAME_LIMIT, suffix="-interruptions")


class InterruptionQueue:
    """The queue (``queue_name``), and what has to exist before it gets a message (``ready``)."""

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        options = pulumi.ResourceOptions(parent=parent)
        queue = CustomResource(
            "aws:sqs/queue:Queue",
            f"{name}-interruptions",
            {
                "name": queue_name(spec.name),
                "messageRetentionSeconds": _KEPT_SECONDS,
                "sqsManagedSseEnabled": True,
                "tags": dict(spec.labels),
            },
            options,
            outputs=["arn", "url"],
        )
        arn = queue.output("arn")
        self.queue_name: pulumi.Output[Any] = queue.output("name")
        senders = {"queueUrl": queue.output("url"), "policy": arn.apply(_senders)}
        self.ready: list[pulumi.Resource] = [
            CustomResource("aws:sqs/queuePolicy:QueuePolicy", f"{name}-interruptions-senders", senders, options)
        ]
        for rule_name, (source, detail) in EVENTS.items():
            rule = CustomResource(
                "aws:cloudwatch/eventRule:EventRule",
                f"{name}-{rule_name}",
                {
                    "name": shortened(spec.name, _RULE_NAME_LIMIT, suffix=f"-{rule_name}"),
                    "description": f"{detail} for cluster {spec.name}",
                    "eventPattern": json.dumps({"source": [source], "detail-type": [detail]}),
                    "tags": dict(spec.labels),
                },
                options,
            )
            target = {"rule": rule.output("name"), "arn": arn, "targetId": "interruption-queue"}
            self.ready.append(
                CustomResource("aws:cloudwatch/eventTarget:EventTarget", f"{name}-{rule_name}-target", target, options)
            )


def _senders(queue_arn: str) -> str:
    return policy.document(
        {
            "Sid": "Events",
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
        },
        {
            "Sid": "EncryptedOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    )
