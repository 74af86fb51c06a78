"""Lowered levels: a level below the rule's own needs a reason, for a mandatory rule also an end. Each run prints it.

``{"secrets-encryption": {"enforcementLevel": "disabled", "reason": "no data here"}}``. The key ``all`` applies to
every rule that the configuration does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from policies.exemptions import date_problems, reason_problems
from policies.rules.rule import Rule
from policies.rules.table import BY_ID

ALL: Final = "all"
KEYS: Final = ("reason", "expires")
SCHEMA: Final[Mapping[str, Mapping[str, Any]]] = {
    "reason": {"type": "string", "description": "Why the rule has a lower level here than by default."},
    "expires": {"type": "string", "description": "The last day on which the lower level counts."},
}
"""JSON schema of these keys, which every rule has in addition to its limits."""

RANKS: Final = {"disabled": 0, "advisory": 1, "mandatory": 2, "remediate": 2}
"""Level → how strict it is."""

Configured = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Rule id or ``all`` → its level (``""`` where it has none) and its other properties, as the engine sends them."""


@dataclass(frozen=True)
class LoweredLevel:
    """A rule whose configured level is below its own, with the reason and end that the configuration gives."""

    rule: Rule[...]
    level: str
    properties: Mapping[str, Any]
    key: str
    """The key of the configuration that lowers it: the rule's id, or ``all``."""

    @property
    def note(self) -> str:
        """The line that a run prints."""
        until = f" until {self.properties['expires']}" if "expires" in self.properties else ""
        return f"{self.rule.id} is {self.level} here{until} instead of {self.rule.level}: {self.properties['reason']}"


def lowered_levels(configured: Configured) -> Iterator[LoweredLevel]:
    """The rules that a configuration puts below their own level."""
    for rule in BY_ID.values():
        level, properties, key = level_of(configured, rule.id)
        if level and RANKS.get(level, 2) < RANKS[rule.level]:
            yield LoweredLevel(rule, level, properties, key)


def level_of(configured: Configured, rule: str) -> tuple[str, Mapping[str, Any], str]:
    """A rule's configured level (``""`` without one), and the properties and the key that say so."""
    level_of_all, properties_of_all = configured.get(ALL, ("", {}))
    own_level, own_properties = configured.get(rule, ("", {}))
    # The engine sends the level of `all` as the level of each rule, so the reason may be at either key.
    by_all = level_of_all and own_level in ("", level_of_all) and not any(key in own_properties for key in KEYS)
    return (level_of_all, properties_of_all, ALL) if by_all else (own_level, own_properties, rule)


def problems(configured: Configured, today: date) -> list[str]:
    """What is missing or wrong in the lowered levels, one sentence each."""
    return list(
        dict.fromkeys(problem for lowered in lowered_levels(configured) for problem in _problems(lowered, today))
    )


def _problems(lowered: LoweredLevel, today: date) -> Iterator[str]:
    rules = "rules" if lowered.key == ALL else f"a rule that is {lowered.rule.level}"
    if "reason" not in lowered.properties:
        yield (
            f"{lowered.key}: {lowered.level} lowers {rules}; "
            "write it as an object with enforcementLevel, reason and expires"
        )
        return
    yield from reason_problems(f"{lowered.key}.reason", lowered.properties["reason"])
    if "expires" in lowered.properties:
        yield from date_problems(f"{lowered.key}.expires", lowered.properties["expires"], today, past=True)
    elif lowered.rule.level != "advisory":
        yield f"{lowered.key}.expires: missing; a mandatory rule can be lowered for a limited time: give the last day"
