"""Lets the SDK unpack each resource once, instead of once for each policy.

The SDK turns a resource's properties from the wire format into Python and into proxies anew for every policy, and the
whole stack for every stack policy; with this pack's rules that was most of the time that the gate needed for a
resource. Policies of this pack do not change what they are given, and take the proxies off (``engine_values``), so one
plain copy serves all.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.message import Message
from pulumi_policy import policy as sdk
from pulumi_policy.deserialize import deserialize_properties

from policies.secrets import Secrets

_deserialize: Final = deserialize_properties


class _Properties(dict[str, Any]):
    """A resource's properties as ``MessageToDict`` gives them, which know what they are in plain Python."""

    @cached_property
    def plain(self) -> dict[str, Any]:
        return _deserialize(self)


class _Unpacked:
    """Takes the place of ``json_format`` in the SDK, and remembers by content what it unpacked.

    Nobody changes a message: what was unpacked of one is found by the message itself, which is kept for that.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._from_wire: dict[bytes, _Properties] = {}
        self._of: dict[int, tuple[Message, _Properties]] = {}

    def MessageToDict(self, message: Message) -> dict[str, Any]:  # noqa: N802 - the name that the SDK calls
        known = self._of.get(id(message))
        if known is not None:
            return known[1]
        wire = message.SerializeToString(deterministic=True)
        found = self._from_wire.get(wire)
        if found is None:
            found = self._from_wire[wire] = _Properties(json_format.MessageToDict(message))
            self._secrets.learn(found)
        self._of[id(message)] = (message, found)
        return found


def _unpacked(properties: dict[str, Any], proxy_secrets: bool = False) -> dict[str, Any]:
    # A remediation changes what it is given: it gets a copy of its own.
    if proxy_secrets or not isinstance(properties, _Properties):
        return _deserialize(properties, proxy_secrets)
    return properties.plain


def unpack_once() -> Secrets:
    """Install it, for the rest of the process; returns the secrets that it comes across."""
    secrets = Secrets()
    setattr(sdk, "json_format", _Unpacked(secrets))  # noqa: B010 - the SDK's type has no such attribute
    setattr(sdk, "deserialize_properties", _unpacked)  # noqa: B010
    setattr(sdk, "unknown_checking_proxy", lambda properties: properties)  # noqa: B010
    return secrets
