"""Keeps secrets out of messages: the SDK passes them unwrapped to policies, and messages quote values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

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
