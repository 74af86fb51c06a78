"""Instances by id: moto fails where a request names one twice, as Karpenter's batches do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.standins.eks.aws.gaps.gap import Request


def describe_instances(request: Request) -> Mapping[str, Any] | None:
    """``ec2:DescribeInstances`` with an id more than once; each instance is answered once, as EC2 does."""
    ids = list(request.params.get("InstanceIds") or ())
    if len(set(ids)) == len(ids):
        return None
    return request.account.call("ec2", "DescribeInstances", **{**request.params, "InstanceIds": sorted(set(ids))})
