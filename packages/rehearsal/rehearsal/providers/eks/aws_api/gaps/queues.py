"""Waiting for messages: moto waits inside the request, which would block all other requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from rehearsal.providers.eks.aws_api.gaps.gap import GapRequest
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError

_LOOK_SECONDS: Final = 0.5


def receive_message(request: GapRequest) -> Mapping[str, Any] | None:
    """``sqs:ReceiveMessage`` without waiting; the server has already waited (:func:`wait`)."""
    if not request.params.get("WaitTimeSeconds"):
        return None
    return request.account.call("sqs", "ReceiveMessage", **{**request.params, "WaitTimeSeconds": 0})


def wait(account: Account, params: Mapping[str, Any], ended: threading.Event) -> None:
    """Return when the queue has a message, after ``WaitTimeSeconds``, or when the server ends."""
    deadline = time.monotonic() + int(params.get("WaitTimeSeconds") or 0)
    while time.monotonic() < deadline and not ended.is_set() and _empty(account, str(params.get("QueueUrl"))):
        ended.wait(_LOOK_SECONDS)


def _empty(account: Account, url: str) -> bool:
    names = ["ApproximateNumberOfMessages"]
    try:
        attributes = account.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"]
    except AwsError:
        return False  # the request itself will say why
    return int(attributes[names[0]]) == 0
