"""The provider's functions: who the caller is, and which partition of AWS this is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account


def get_caller_identity(account: Account, args: Properties) -> Properties:
    """``getCallerIdentity``: the simulated account."""
    # Without a request: previews ask for nothing else, and importing moto takes longer than all the rest of one.
    return {
        "accountId": account.id,
        "arn": account.arn("iam", "user/simulated", everywhere=True),
        "id": account.id,
        "userId": "AIDASIMULATED",
    }


def get_partition(account: Account, args: Properties) -> Properties:
    """``getPartition``: the public one."""
    suffix = "amazonaws.com"
    return {
        "dnsSuffix": suffix,
        "id": account.partition,
        "partition": account.partition,
        "region": account.region,
        "reverseDnsPrefix": "com.amazonaws",
    }


FUNCTIONS: Final[Mapping[str, Callable[[Account, Properties], Properties]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": get_caller_identity,
    "aws:index/getPartition:getPartition": get_partition,
}
