"""Levels below a rule's own: each needs a reason, and one of a mandatory rule an end, and each run prints them.

``{"secrets-encryption": {"enforcementLevel": "disabled", "reason": "no data here"}}``; under ``all`` it is for every
rule that the configuration does not name itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from google.protobuf import json_format
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import policy as sdk

from policies.exemptions import date_problems, reason_problems
from policies.rules.rule import Rule
from policies.rules.table import BY_ID

ALL: Final = "all"
KEYS: Final = ("reason", "expires")
SCHEMA: Final[Mapping[str, Mapping[str, Any]]] = {
    "reason": {"type": "string", "description": "Why the rule has a lower level here than by default."},
    "expires": {"type": "string", "description": "The last day on which the lower level counts."},
}
"""JSON schema of the keys, which every rule has beside its limits."""

_RANKS: Final = {"disabled": 0, "advisory": 1, "mandatory": 2, "remediate": 2}

Configured = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Rule, or ``all`` → its level (``""`` where none is given), and what else the configuration says of it."""


@dataclass(frozen=True)
class Lowered:
    """A rule below its own level, with what the configuration says about it."""

    rule: Rule[...]
    level: str
    given: Mapping[str, Any]
    where: str
    """The key of the configuration that lowers it."""

    @property
    def note(self) -> str:
        """For people who read the result of a run."""
        until = f" until {self.given['expires']}" if "expires" in self.given else ""
        return f"{self.rule.id} is {self.level} here{until} instead of {self.rule.level}: {self.given['reason']}"


def lowered(configured: Configured) -> Iterator[Lowered]:
    """The rules that a configuration puts below their own level."""
    level_of_all, given_to_all = configured.get(ALL, ("", {}))
    for rule in BY_ID.values():
        own_level, given = configured.get(rule.id, ("", {}))
        # The engine hands over the level of `all` as each rule's: the reason may stand there, too.
        by_all = level_of_all and own_level in ("", level_of_all) and not any(key in given for key in KEYS)
        level, said, where = (level_of_all, given_to_all, ALL) if by_all else (own_level, given, rule.id)
        if level and _RANKS.get(level, 2) < _RANKS[rule.level]:
            yield Lowered(rule, level, said, where)


def problems(configured: Configured, today: date) -> list[str]:
    """What the configuration owes for the levels that it lowers, one sentence each."""
    found: dict[str, None] = {}
    for one in lowered(configured):
        found.update(dict.fromkeys(_problems(one, today)))
    return list(found)


def _problems(one: Lowered, today: date) -> Iterator[str]:
    what = "rules" if one.where == ALL else f"a rule that is {one.rule.level}"
    if "reason" not in one.given:
        yield f"{one.where}: {one.level} lowers {what}; write it as an object with enforcementLevel, reason and expires"
        return
    yield from reason_problems(f"{one.where}.reason", one.given["reason"])
    if "expires" in one.given:
        yield from date_problems(f"{one.where}.expires", one.given["expires"], today, past=True)
    elif one.rule.level != "advisory":
        yield f"{one.where}.expires: missing; a mandatory rule is lowered for a while: give the last day"


def tell(listener: Callable[[Configured], None]) -> None:
    """Calls ``listener`` with the configuration of each run, for the rest of the process.

    The SDK shows a policy its own configuration only, and a disabled one none. What ``listener`` raises ends the run.
    """
    servicer: Any = vars(sdk)["_PolicyAnalyzerServicer"]
    configure = servicer.Configure

    def told(self: Any, request: Any, context: Any) -> Any:
        listener(
            {
                name: (_level(given.enforcementLevel), json_format.MessageToDict(given.properties))
                for name, given in request.policyConfig.items()
            }
        )
        return configure(self, request, context)

    servicer.Configure = told  # the SDK has no place to listen


def _level(number: Any) -> str:
    return analyzer_pb2.EnforcementLevel.Name(number).lower()
