"""What a program declares, read once for all rules."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property

from facts.concepts.declared import NodeGroup, Stack, Violation
from facts.concepts.unknown import holds_unknown
from policies.prices import NO_PRICES, ConfiguredPrices
from policies.readers import linked, read, stack_of
from policies.readers.resource import Declared, Item
from policies.rules.rule import Limits, Rule


@dataclass(frozen=True)
class ResourceView:
    """A resource, and the subjects of the rules in it, read once for all rules."""

    declared: Declared

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The rules' subjects that the readers find in it."""
        return read(self.declared)

    @cached_property
    def has_unknowns(self) -> bool:
        """Whether some of its values are unknown until the update."""
        return holds_unknown(self.declared.properties) or holds_unknown(self.declared.provider)

    def violations(self, rule: Rule[...], limits: Limits) -> list[Violation]:
        """The violations of one rule in it."""
        subjects = [item for item in self.items if isinstance(item, rule.subjects)]
        return [violation for subject in subjects for violation in rule.check(subject, limits)]


@dataclass(frozen=True)
class StackView:
    """Everything that a program declares: ``resources``, and for each the properties that are outputs of others."""

    resources: list[ResourceView]
    dependencies: list[dict[str, tuple[str, ...]]]

    def is_of(self, resources: list[ResourceView], dependencies: list[dict[str, tuple[str, ...]]]) -> bool:
        """Whether it was built from the same objects, so that it can be reused."""
        return (
            len(resources) == len(self.resources)
            and all(map(operator.is_, resources, self.resources))
            and dependencies == self.dependencies
        )

    @cached_property
    def declared(self) -> list[Declared]:
        """Each resource with its dependencies."""
        each = zip(self.resources, self.dependencies, strict=True)
        return [replace(resource.declared, dependencies=sources) for resource, sources in each]

    @cached_property
    def linked(self) -> list[ResourceView]:
        """Each resource with the resources that complete it.

        What patches make of an object counts beside it where it is read as something else.
        """
        views: list[ResourceView] = []
        for view in map(ResourceView, linked(self.declared)):
            patched, urn = view.declared.unpatched is not None, view.declared.urn
            if not (patched and any(each.declared.urn == urn and each.items == view.items for each in views)):
                views.append(view)
        return views

    @cached_property
    def stack(self) -> Stack:
        """The whole stack, as input of the stack rules."""
        return stack_of(resource.items for resource in self.linked)

    def violations(
        self, rule: Rule[...], limits: Limits, elsewhere: tuple[NodeGroup, ...], prices: ConfiguredPrices = NO_PRICES
    ) -> list[Violation]:
        """The violations of one rule; ``elsewhere``: pools of the cluster that another program declares; ``prices``
        replace the list prices of node groups."""
        if rule.scope == "stack":
            stack = replace(self.stack, elsewhere=elsewhere) if elsewhere else self.stack
            return rule.check(prices.applied(stack), limits)
        return [violation for resource in self.linked for violation in resource.violations(rule, limits)]
