"""Reads what the engine sends, once for all rules, and determines why a rule cannot be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pulumi_policy import PolicyResource, ResourceValidationArgs, StackValidationArgs

from facts.concepts.declared import UnknownReason, Violation
from facts.concepts.unknown import at, items
from policies.engine_values import plain, target
from policies.readers import waits
from policies.readers.resource import Declared
from policies.rules.rule import Limits, Rule
from policies.stack_view import ResourceView, StackView

_UNREADABLE: Final = UnknownReason(
    "it cannot be read from the program", "Check these rules by hand, and exempt it by name."
)
_PLACES: Final = (
    ("tags",),  # AWS, Azure
    ("labels",),  # Google Cloud, EKS node groups
    ("resourceLabels",),  # GKE clusters
    ("nodeConfig", "resourceLabels"),
    ("nodeConfig", "labels"),
    ("nodeLabels",),  # AKS agent pools
    ("metadata", "labels"),  # Kubernetes
)


class DeclaredResources:
    """Every resource that the program has declared so far in one run, by URN."""

    def __init__(self) -> None:
        self._declared: dict[str, ResourceView] = {}
        self._by_properties: dict[str, tuple[object, ResourceView]] = {}
        self._stack_view: StackView | None = None

    def declare(self, args: ResourceValidationArgs, properties: object = None) -> ResourceView:
        """The resource that a resource policy checks. ``properties`` replace those of ``args``."""
        view = self._read_once(args) if properties is None else ResourceView(_declared(args, properties))
        self._declared[args.urn] = view
        return view

    def stack(self, args: StackValidationArgs) -> StackView:
        """What the stack declares, read once for all rules."""
        # Rules check what the program declares. The engine's list has outputs instead: the present state, and at
        # preview nothing for a provider whose configuration (a future kubeconfig) is unknown.
        resources = [self._declared.get(resource.urn) or self._read_once(resource) for resource in args.resources]
        dependencies = [
            {name: tuple(source.urn for source in sources) for name, sources in resource.property_dependencies.items()}
            for resource in args.resources
        ]
        if self._stack_view is None or not self._stack_view.is_of(resources, dependencies):
            self._stack_view = StackView(resources, dependencies)
        return self._stack_view

    def tags(self, urn: str) -> Mapping[str, str]:
        """The tags or labels of a declared resource; empty for the stack as a whole."""
        view = self._declared.get(urn)
        return tags_of(view.declared.properties) if view else {}

    def title(self, urn: str) -> str:
        """Type and name, for messages."""
        view = self._declared.get(urn)
        return f"{view.declared.type} '{view.declared.name}'" if view else "The stack as a whole"

    def reason_not_evaluated(self, rule: Rule[...], violation: Violation) -> UnknownReason | None:
        """Why the rule can never be evaluated; ``None`` where the value is only unknown until the update."""
        if violation.unknown_reason is not None:
            return violation.unknown_reason
        view = self._declared.get(violation.resource)
        judged_alone = view is not None and rule.scope == "resource" and not waits(view.declared)
        # A rule on several resources may depend on an unknown value of any of them.
        sources = [view] if view and judged_alone else self._declared.values()
        return None if any(source.has_unknowns for source in sources) else _UNREADABLE

    def _read_once(self, resource: ResourceValidationArgs | PolicyResource) -> ResourceView:
        properties = target(resource.props)
        last_properties, view = self._by_properties.get(resource.urn, (None, None))
        if view is None or last_properties is not properties:
            view = ResourceView(_declared(resource, properties))
            self._by_properties[resource.urn] = (properties, view)
        return view


def late_violations(stack: StackView, rule: Rule[...], limits: Limits) -> list[Violation]:
    """A resource rule's violations in resources that can only be read with others, and those that others add."""
    late = {declared.urn for declared in stack.declared if waits(declared)}
    found: list[Violation] = []
    for view in stack.linked:
        if view.declared.urn in late:
            found += view.violations(rule, limits)
        elif view.declared.references or view.declared.unpatched:
            alone = ResourceView(replace(view.declared.unpatched or view.declared, references=())).violations(
                rule, limits
            )
            found += [violation for violation in view.violations(rule, limits) if violation not in alone]
    return found


def _declared(resource: ResourceValidationArgs | PolicyResource, properties: object) -> Declared:
    provider = plain(target(resource.provider.props)) if resource.provider is not None else {}
    return Declared(
        resource.resource_type,
        resource.name,
        resource.urn,
        plain(properties),
        provider=provider if isinstance(provider, dict) else {},
        provider_urn="" if resource.provider is None else resource.provider.urn,
    )


def tags_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Key → value of every tag or label that is known; a later place does not hide an earlier one."""
    tags: dict[str, str] = {}
    for place in _PLACES:
        value = at(properties, *place)
        # Auto Scaling groups list their tags.
        pairs = [(at(entry, "key"), at(entry, "value")) for entry in items(value)] if isinstance(value, list) else ()
        for key, text in value.items() if isinstance(value, Mapping) else pairs:
            if isinstance(key, str) and isinstance(text, str):
                tags.setdefault(key, text)
    return tags
