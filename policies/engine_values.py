"""The engine's property maps as plain Python, with ``UNKNOWN`` for values that it does not know yet.

The SDK passes properties as proxies that raise on the first unknown value. A rule needs the other values, and decides
itself whether the unknown one matters, so the proxies are removed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pulumi_policy import proxy, secret

from facts.concepts.unknown import UNKNOWN
from policies import sdk_names

# The engine writes an unknown value as one of these texts, depending on its type.
_UNKNOWNS: Final = frozenset(getattr(proxy, name) for name in sdk_names.UNKNOWN_VALUES)


def plain(value: Any) -> Any:
    """Dicts, lists, texts, numbers, booleans and ``None``; anything else (an asset) as it is."""
    value = target(value)
    if isinstance(value, secret.Secret):
        value = value.value
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return UNKNOWN if isinstance(value, str) and value in _UNKNOWNS else value


def unwrapped(value: Any) -> Any:
    """Dicts and lists without the SDK's proxies, secrets and unknown values as the engine wrote them: a copy to change.

    The engine takes it back as a resource's new properties.
    """
    value = target(value)
    if isinstance(value, dict):
        return {key: unwrapped(part) for key, part in value.items()}
    if isinstance(value, list):
        return [unwrapped(part) for part in value]
    return value


def target(value: Any) -> Any:
    """The value behind a proxy of the SDK; any other value unchanged.

    Proxies are mappings and sequences other than dicts and lists.
    """
    if isinstance(value, (dict, list, str, bytes)) or not isinstance(value, (Mapping, Sequence)):
        return value
    proxied: Any = value
    return proxied["__target"]
