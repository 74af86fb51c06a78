"""Replaces parts of the SDK at start: each resource is unpacked once, and the pack sees the whole configuration.

The SDK converts a resource's properties from the wire format to Python and wraps them in proxies for every policy, and
the whole stack for every stack policy; that was most of the gate's time per resource. Policies of this pack do not
change properties and remove the proxies (``engine_values``), so all of them can share one plain copy.
``sdk_names`` checks that the replaced names exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.message import Message
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import policy as sdk
from pulumi_policy.deserialize import deserialize_properties

from policies.engine_values import Secrets
from policies.levels import Configured

_deserialize: Final = deserialize_properties


class _Properties(dict[str, Any]):
    """A resource's properties as ``MessageToDict`` returns them, with the plain Python value computed once."""

    @cached_property
    def plain(self) -> dict[str, Any]:
        return _deserialize(self)


class _Unpacked:
    """Replaces ``json_format`` in the SDK and caches unpacked properties by the message and by its content.

    Messages never change. The cache holds each message, so that no other message gets its ``id``.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._from_wire: dict[bytes, _Properties] = {}
        self._by_message: dict[int, tuple[Message, _Properties]] = {}

    def MessageToDict(self, message: Message) -> dict[str, Any]:  # noqa: N802 - the name that the SDK calls
        cached = self._by_message.get(id(message))
        if cached is not None:
            return cached[1]
        wire = message.SerializeToString(deterministic=True)
        properties = self._from_wire.get(wire)
        if properties is None:
            properties = self._from_wire[wire] = _Properties(json_format.MessageToDict(message))
            self._secrets.learn(properties)
        self._by_message[id(message)] = (message, properties)
        return properties


def _unpacked(properties: dict[str, Any], proxy_secrets: bool = False) -> dict[str, Any]:
    # A remediation changes properties, so it gets its own copy.
    if proxy_secrets or not isinstance(properties, _Properties):
        return _deserialize(properties, proxy_secrets)
    return properties.plain


def unpack_once() -> Secrets:
    """Installs the cache for the rest of the process; returns the secrets that it will read."""
    secrets = Secrets()
    setattr(sdk, "json_format", _Unpacked(secrets))  # noqa: B010 - the SDK's type has no such attribute
    setattr(sdk, "deserialize_properties", _unpacked)  # noqa: B010
    setattr(sdk, "unknown_checking_proxy", lambda properties: properties)  # noqa: B010
    return secrets


def on_configure(listener: Callable[[Configured], None]) -> None:
    """Calls ``listener`` with the configuration of each run, for the rest of the process.

    The SDK gives a policy only its own configuration, and a disabled one none. An error of ``listener`` ends the run.
    """
    servicer: Any = vars(sdk)["_PolicyAnalyzerServicer"]
    configure = servicer.Configure

    def configure_and_listen(self: Any, request: Any, context: Any) -> Any:
        listener(
            {
                name: (_level(policy.enforcementLevel), json_format.MessageToDict(policy.properties))
                for name, policy in request.policyConfig.items()
            }
        )
        return configure(self, request, context)

    servicer.Configure = configure_and_listen  # the SDK has no hook for this


def _level(number: Any) -> str:
    return analyzer_pb2.EnforcementLevel.Name(number).lower()
