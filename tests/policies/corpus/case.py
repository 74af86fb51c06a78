"""One case of the corpus, and what the gate says to it with the default configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from facts.concepts.declared import Violation
from policies import pools
from policies.offline import view_of
from policies.readers.resource import Declared
from policies.rules.table import BY_ID, RULES
from policies.rules.unjudged import unjudged

Resource = tuple[str, str, Mapping[str, Any]]
Program = tuple[Resource, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A program's resources as ``(type token, name, properties)``, in the provider's spelling; see ``programs.py``."""

    id: str
    resources: Program
    verdict: Literal["refused", "not evaluated", "allowed"]
    rule: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[tuple[str, str, str], ...] = ()
    """Where a value that is not known yet comes from, as the engine says: ``(resource, property, its source)``."""
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reason: str = ""


def declared_by(case: Case) -> list[Declared]:
    """The case's resources as the readers get them; the types of a resource's parents stand before its own, each with
    a ``$``, as in its URN."""
    urns = {name: f"urn:pulumi:test::test::{token}::{name}" for token, name, _ in case.resources}
    links = {name: {where: (urns[source],) for user, where, source in case.links if user == name} for name in urns}
    return [
        Declared(token.rpartition("$")[2], name, urns[name], properties, links[name])
        for token, name, properties in case.resources
    ]


def blockers(case: Case) -> list[Violation]:
    """What mandatory rules at their default levels and limits report; not_evaluated ones block nothing."""
    return [violation for violation in findings(case) if BY_ID[violation.rule].level == "mandatory"]


def findings(case: Case) -> list[Violation]:
    """What rules report, the advisory ones too, except what is not_evaluated."""
    return [violation for violation in judged(case) if not violation.not_evaluated]


def doubts(case: Case) -> list[str]:
    """Why rules, whatever their level, can never judge something in the program."""
    violations = judged(case)
    open_for_good = [each.unknown_reason.why for each in violations if each.not_evaluated and each.unknown_reason]
    return [*open_for_good, *(violation.message for violation in violations if violation.rule == unjudged.id)]


def judged(case: Case) -> list[Violation]:
    """All that the rules report, what is unknown included."""
    view = view_of(declared_by(case))
    elsewhere = pools.parse(case.pools)
    limits = {rule.id: case.limits if rule.id == case.rule else {} for rule in RULES}
    return [violation for rule in RULES for violation in view.violations(rule, limits[rule.id], elsewhere)]
