"""What a rule of the gate is: its text, its levels, its limits and the pure function that decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from policies.rules.model import Cluster, Credential, NodeGroup, Stack, Violation, Workload

Level = Literal["advisory", "mandatory", "remediate", "disabled"]
"""``remediate``: mandatory, and what breaks the rule is put right first, where its declaration allows it."""

Severity = Literal["low", "medium", "high", "critical"]
Limits = Mapping[str, Any]
"""A rule's configuration: its schema's keys with the stack's values, or the schema's defaults."""

LEVELS: Final[tuple[Level, ...]] = ("advisory", "mandatory", "disabled")
"""The levels of every rule."""

Subject = type[NodeGroup] | type[Workload] | type[Cluster] | type[Credential] | type[Stack]


@dataclass(frozen=True)
class Rule:
    """One rule. ``check(subject, limits)`` takes an instance of one of ``subjects`` and returns its violations.

    A rule on ``Stack`` sees everything at once, after the program has declared it; any other is asked about each
    resource before it is created. ``schema`` maps a limit's name to its JSON schema; each has a ``default``.
    """

    id: str
    title: str
    why: str
    remedy: str
    level: Level
    severity: Severity
    subjects: tuple[Subject, ...]
    check: Callable[[Any, Limits], list[Violation]]
    schema: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    remediable: bool = False
    """Whether the level ``remediate`` exists: putting it right cannot lose anything."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that a configuration may give the rule."""
        return (*LEVELS, "remediate") if self.remediable else LEVELS

    @property
    def scope(self) -> Literal["resource", "stack"]:
        """When the engine can decide: per resource before its creation, or once for the whole stack."""
        return "stack" if Stack in self.subjects else "resource"

    def limits(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The rule's limits with ``given`` values over the schema's defaults."""
        return {**{name: option["default"] for name, option in self.schema.items()}, **(given or {})}
