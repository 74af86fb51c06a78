"""The engine's property maps as plain Python, with ``UNKNOWN`` for values that it does not know yet.

The SDK passes properties as proxies that raise on the first unknown value. A rule needs the other values, and decides
itself whether the unknown one matters, so the proxies are removed here. The SDK passes secrets unwrapped, too, and
messages quote values, so secrets are kept out of messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pulumi_policy import proxy, secret
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

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


HIDDEN: Final = "[secret]"
# Shorter texts occur in messages by chance.
_SHORTEST: Final = 3


class Secrets:
    """The texts that a run has marked as secret."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def learn(self, raw: Any) -> None:
        """Record every text inside a secret, from properties as the engine sends them."""
        self._texts.update(text for text in _secret_texts(raw, inside=False) if len(text) >= _SHORTEST)

    def hidden(self, message: str) -> str:
        """The message with every secret masked that occurs in it as a separate word."""
        for text in sorted((known for known in self._texts if known in message), key=len, reverse=True):
            message = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", HIDDEN, message)
        return message


def _secret_texts(value: Any, *, inside: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        secret = value.get(SPECIAL_SIG_KEY) == SPECIAL_SECRET_SIG
        for key, part in value.items():
            if not (secret and key == SPECIAL_SIG_KEY):
                yield from _secret_texts(part, inside=inside or secret)
    elif isinstance(value, list):
        for part in value:
            yield from _secret_texts(part, inside=inside)
    elif inside and isinstance(value, str):
        yield value
