"""Interruption of a machine by EC2: a spot machine after its warning, any other at once, as with a failed host."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Final

from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.machines.instance import instances
from rehearsal.providers.eks.resources.event_bus import spot_interruption

NOTICE_SECONDS: Final = 120.0
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""

_log = logging.getLogger("rehearsal.aws.machines")


def reclaim(account: Account, node: str) -> bool:
    """Interrupt the node's machine; ``False`` if no instance outside of node groups is that node.

    Recipients of the warning may drain and terminate it; EC2 terminates it after the notice.
    """
    instance = next(
        (each for each in instances(account) if each.private_name == node and each.state == "running"), None
    )
    if instance is None:
        return False
    if not instance.spot:
        _end(account, instance.id)
        return True
    queues = spot_interruption(account, instance.id)
    _log.info("interruption warning for instance %s, delivered to: %s", instance.id, ", ".join(queues) or "nobody")
    timer = threading.Timer(NOTICE_SECONDS, _end, (account, instance.id))
    timer.daemon = True
    timer.start()
    return True


def _end(account: Account, instance: str) -> None:
    # It may have ended, and so may the account.
    with suppress(AwsError):
        account.call("ec2", "TerminateInstances", InstanceIds=[instance])
