"""Reads what the engine sends, once for all rules, and determines why a rule cannot be evaluated."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from pulumi_policy import PolicyResource, ResourceValidationArgs, StackValidationArgs

from facts.concepts.declared import NotEvaluated, UnknownReason, Violation
from facts.concepts.offer import CONFIG_MAP, NAMESPACE
from facts.concepts.unknown import Noted, at, holds_unknown, items, noting_unknowns
from policies.engine_values import plain, target
from policies.readers import linked, spellings, waits
from policies.readers.registry import is_part, reader_of, spelling_of
from policies.readers.resource import Declared
from policies.rules.rule import Limits, Rule
from policies.stack_view import ResourceView, StackView

_UNREADABLE: Final = UnknownReason(
    "it cannot be read from the program", "Check these rules by hand, and exempt it by name."
)
_LISTED: Final = 4
_LATER: Final = "The update judges it. To have it judged before, write a value that the program knows itself."
# Keys whose value says which resource is meant, and nothing else that a rule asks for.
_NAME: Final = re.compile(
    r"account|arns?|cluster|clusterName|email|endpoint|hash|ids?|image|link|ur[il]s?|version"
    r"|.*(?:[a-z](?:Account|Arns?|Cluster|ClusterName|Email|Endpoint|Handle|Hash|Ids?|Image|Link|Ur[il]s?)"
    r"|[._/-](?:account|arns?|email|endpoint|hash|ids?|image|link|ur[il]s?))"
)
# As above, of keys that no reader asks for by their name: those of charts and of kinds that nobody knows.
_OWN_NAME: Final = re.compile(
    r"(?!key$).*(?:account|address|bucket|host|key|name|password|project|region|role|secret|token)", re.IGNORECASE
)


def _names(key: str, by_name: bool) -> bool:
    """Whether an unknown value of this key says which resource is meant, and nothing else."""
    return _NAME.fullmatch(key) is not None or (not by_name and _OWN_NAME.fullmatch(key) is not None)


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


def put_off(declared: Sequence[Declared], said: Collection[str]) -> Iterator[NotEvaluated]:
    """What readers look up and the update alone knows, in resources (by URN) of which no rule has ``said`` so."""
    read = [each for each in declared if _is_read(each.type) and not _is_inventory(each)]
    open = [each for each in read if holds_unknown(each.properties)]
    asked = _asked(open, declared) if open else {}
    for resource in open:
        paths = asked[resource.urn]
        if not paths or resource.urn in said:
            continue
        listed = ", ".join(f"`{'.'.join(path)}`" for path in paths[:_LISTED])
        more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
        why = f"{listed}{more} {'is' if len(paths) == 1 else 'are'} not known before the update"
        what, reason = f"{resource.type} '{resource.name}'", UnknownReason(why, _LATER)
        yield NotEvaluated(what, reason, resource.urn, opaque=True, until_update=True)


def _is_inventory(declared: Declared) -> bool:
    """The pool inventory of this project's stacks: its pools are declared by themselves, and addresses of buckets and
    registries in it are outputs in each first preview."""
    named = declared.type == "kubernetes:core/v1:ConfigMap" and declared.object_name == CONFIG_MAP
    return named and declared.namespace == NAMESPACE


def _is_read(type_token: str) -> bool:
    return reader_of(type_token) is not None or spelling_of(type_token) is not None or is_part(type_token)


_Paths: TypeAlias = dict[tuple[str, ...], bool]


def _asked(open: Collection[Declared], declared: Sequence[Declared]) -> dict[str, list[tuple[str, ...]]]:
    """URN → the paths of unknown values that readers look up in the resource, to be found in it or in what it is
    translated to, but for names, and outputs of the resources that its reader finds by them."""
    asked: dict[str, _Paths] = {each.urn: {} for each in open}
    found: dict[str, set[str]] = {each.urn: set() for each in open}

    def noting(each: Declared, into: _Paths) -> Declared:
        properties, outside = (noting_unknowns(part, into) for part in (each.properties, each.outside))

        def note(key: str, by_name: bool) -> None:
            if by_name and key in each.dependencies:
                found[each.urn].add(key)

        return replace(each, properties=properties, dependencies=Noted(each.dependencies, note), outside=outside)

    spelled: list[Declared] = []
    for each in declared:
        if each.urn not in asked:
            spelled += spellings(each)
            continue
        own: _Paths = {}
        parts = spellings(noting(each, own))
        translated = parts and parts[0].type != each.type  # all of it is walked through, whatever of it is read
        asked[each.urn] |= {path: by_name for path, by_name in own.items() if by_name or not translated}
        spelled += [noting(part, asked[each.urn]) for part in parts]
    for each in linked(spelled):
        if (reader := reader_of(each.type)) is not None:
            with suppress(Exception):  # then it is unreadable, which is reported
                deque(reader(each), maxlen=0)
    return {
        urn: [
            path
            for path, by_name in paths.items()
            if not _names(path[-1], by_name) and not (len(path) <= _DIRECT and path[0] in found[urn])
        ]
        for urn, paths in asked.items()
    }


_DIRECT: Final = 2
"""How deep an output may be in a property for what the engine says of the property to be about it."""


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
