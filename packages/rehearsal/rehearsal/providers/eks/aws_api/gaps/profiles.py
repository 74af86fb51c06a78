"""Instance profiles by path: moto lists all, and Karpenter takes what it finds below its own path for its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.providers.eks.aws_api.gaps.gap import GapRequest


def list_instance_profiles(request: GapRequest) -> Mapping[str, Any] | None:
    """``iam:ListInstanceProfiles`` with a ``PathPrefix``."""
    prefix = request.params.get("PathPrefix")
    if not prefix:
        return None
    profiles = request.account.call("iam", "ListInstanceProfiles")["InstanceProfiles"]
    return {"InstanceProfiles": [each for each in profiles if each["Path"].startswith(prefix)], "IsTruncated": False}
