"""Server-side rules: what a cloud refuses although the request's shape is right, one named rule each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rehearsal.providers.base import Properties
from rehearsal.providers.values import at, has_unknown

CloudT = TypeVar("CloudT")
Check = Callable[[Properties, CloudT], "str | None"]


@dataclass(frozen=True)
class ServerRule(Generic[CloudT]):
    """``check`` answers with what is wrong, or ``None``. It is put off while one of the inputs it ``reads`` is unknown.

    ``source`` is where the cloud (or the provider) documents the rule.
    """

    id: str
    source: str
    reads: tuple[str, ...]
    check: Check[CloudT]


def broken(rules: Sequence[ServerRule[CloudT]], inputs: Properties, cloud: CloudT) -> str | None:
    """What the first broken rule says; rules about values that are not known yet wait for the update."""
    for rule in rules:
        if any(has_unknown(at(inputs, path)) for path in rule.reads):
            continue
        message = rule.check(inputs, cloud)
        if message:
            return message
    return None


class RuleBook(Generic[CloudT]):
    """Collects the rules of one resource type: ``@rules.add("id", source, reads…)`` above each check."""

    def __init__(self) -> None:
        self.rules: list[ServerRule[CloudT]] = []

    def add(self, id: str, source: str, *reads: str) -> Callable[[Check[CloudT]], Check[CloudT]]:
        """Register the decorated check under ``id``."""

        def register(check: Check[CloudT]) -> Check[CloudT]:
            self.rules.append(ServerRule(id, source, reads, check))
            return check

        return register


def tag_rules(
    *paths: str, source: str, key: str, value: str, most: int, refusal: str, distinct: bool = False
) -> Sequence[ServerRule[Any]]:
    """Rules about the maps at ``paths``: patterns of a whole key and value, and at ``most`` so many.

    ``refusal`` is the cloud's message, with the tag as ``{key}``. ``distinct``: keys differ in more than case.
    """
    keys, values = re.compile(key), re.compile(value)

    def check(inputs: Properties, path: str) -> str | None:
        tags = at(inputs, path) or {}
        bad = [name for name, text in tags.items() if not (keys.fullmatch(name) and values.fullmatch(str(text)))]
        lower = [name.lower() for name in tags]
        bad += [name for name in tags if distinct and lower.count(name.lower()) > 1]
        bad += list(tags)[most:]
        return refusal.format(key=bad[0]) if bad else None

    def rule(path: str) -> ServerRule[Any]:
        return ServerRule(f"tags-of-{path}", source, (path,), lambda inputs, _: check(inputs, path))

    return [rule(path) for path in paths]
