"""Server-side rules: what Google refuses although the request's shape is right, one named rule each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rehearsal.providers.base import Properties
from rehearsal.providers.gcp.cloud import Cloud, at, has_unknown
from rehearsal.providers.gcp.errors import bad_request

Check = Callable[[Properties, Cloud], "str | None"]


@dataclass(frozen=True)
class ServerRule:
    """``check`` answers with what is wrong, or ``None``. It is put off while one of the inputs it ``reads`` is unknown.

    ``source`` is where Google (or the provider) documents the rule.
    """

    id: str
    source: str
    reads: tuple[str, ...]
    check: Check


def enforce(rules: Sequence[ServerRule], inputs: Properties, cloud: Cloud) -> None:
    """Raise the first broken rule as the API's 400; rules about values that are not known yet wait for the update."""
    for rule in rules:
        if any(has_unknown(at(inputs, path)) for path in rule.reads):
            continue
        message = rule.check(inputs, cloud)
        if message:
            raise bad_request(message)


class RuleBook:
    """Collects the rules of one resource type: ``@rules.add("id", source, reads…)`` above each check."""

    def __init__(self) -> None:
        self.rules: list[ServerRule] = []

    def add(self, id: str, source: str, *reads: str) -> Callable[[Check], Check]:
        """Register the decorated check under ``id``."""

        def register(check: Check) -> Check:
            self.rules.append(ServerRule(id, source, reads, check))
            return check

        return register
