"""Where a resource goes: its region and account, from its own properties or its provider's configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN

T = TypeVar("T")

# What tells accounts apart, of all clouds' providers and resources.
_ACCOUNT: Final = (
    "accessKey",
    "allowedAccountIds",
    "assumeRole",
    "assumeRoles",
    "profile",
    "project",
    "resourceGroupName",
    "subscriptionId",
)


def located(item: T, properties: Mapping[str, Any], provider: Mapping[str, Any]) -> T:
    """A cluster or node group with its account, and with its provider's region where it names none; others as are."""
    if not isinstance(item, (Cluster, NodeGroup)):
        return item
    account = {key: text for source in (provider, properties) for key in _ACCOUNT if (text := _text(source.get(key)))}
    region = provider.get("region") if item.region is None else item.region
    return replace(item, account=account, region=region)


def _text(value: Any) -> str:
    """A known value as text, ``""`` for one that is not given or not known, even in part."""
    if value is None or value is UNKNOWN:
        return ""
    try:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    except TypeError:
        return ""
