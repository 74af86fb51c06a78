"""Server-side rules: what a cloud refuses although the request's shape is right, one named rule each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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
