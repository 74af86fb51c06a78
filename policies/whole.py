"""What a program declares, read once for all rules."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property

from facts.concepts.declared import Stack, Violation
from facts.concepts.unknown import holds_unknown
from policies.readers import linked, read, stack_of
from policies.readers.resource import Declared, Item
from policies.rules.rule import Limits, Rule


@dataclass(frozen=True)
class JudgedResource:
    """A resource, and what the rules judge in it, read once for all of them."""

    declared: Declared

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """What the readers make of it."""
        return read(self.declared)

    @cached_property
    def waits_for_the_update(self) -> bool:
        """Whether the engine does not know all of it yet."""
        return holds_unknown(self.declared.properties) or holds_unknown(self.declared.provider)

    def violations(self, rule: Rule[...], limits: Limits) -> list[Violation]:
        """What a rule finds in it."""
        subjects = [item for item in self.items if isinstance(item, rule.subjects)]
        return [violation for subject in subjects for violation in rule.check(subject, limits)]


@dataclass(frozen=True)
class Whole:
    """Everything that a program declares: ``resources``, and for each the properties that come from others' outputs."""

    resources: list[JudgedResource]
    dependencies: list[dict[str, tuple[str, ...]]]

    def is_of(self, resources: list[JudgedResource], dependencies: list[dict[str, tuple[str, ...]]]) -> bool:
        """Whether it is about the very same."""
        return (
            len(resources) == len(self.resources)
            and all(map(operator.is_, resources, self.resources))
            and dependencies == self.dependencies
        )

    @cached_property
    def declared(self) -> list[Declared]:
        """Each as the program declares it."""
        each = zip(self.resources, self.dependencies, strict=True)
        return [replace(resource.declared, dependencies=found) for resource, found in each]

    @cached_property
    def linked(self) -> list[JudgedResource]:
        """Each with those that complete it."""
        return [JudgedResource(resource) for resource in linked(self.declared)]

    @cached_property
    def stack(self) -> Stack:
        """All of it in the rules' words."""
        return stack_of(resource.items for resource in self.linked)
