"""Keeps secrets out of messages: the SDK hands them to policies unwrapped, and a message quotes what it judges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

HIDDEN: Final = "[secret]"
# Shorter texts are in every message by chance.
_SHORTEST: Final = 3


class Secrets:
    """The texts that a run has marked as secret."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def learn(self, raw: Any) -> None:
        """Remember every text inside of a secret in properties as the engine sends them."""
        self._texts.update(text for text in _secret_texts(raw, inside=False) if len(text) >= _SHORTEST)

    def hidden(self, message: str) -> str:
        """The message with each secret that stands in it as a word of its own covered."""
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
