"""A rule of the gate: a pure function with a text, a level, limits and an example.

``@rule`` turns a function into a rule. It can still be called as a function, as settings do (``zero_minimum(group)``).
The pack calls ``zero_minimum.check(subject, limits)``, with the limits of the stack's configuration.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, ParamSpec, get_args, get_type_hints

from facts.concepts.declared import Stack, UnknownReason, Violation
from facts.concepts.unknown import UNKNOWN, Maybe

P = ParamSpec("P")

Level = Literal["advisory", "mandatory", "remediate", "disabled"]
"""``remediate``: mandatory, and the gate first fixes a violation where the declaration allows it."""

Severity = Literal["low", "medium", "high", "critical"]
Limits = Mapping[str, Any]
"""A rule's configuration: its schema's keys with the stack's values, or the schema's defaults."""

Wider = Literal["higher", "lower", "more", "more, or none"]
"""Which values of a limit allow more: higher or lower ones, where none is no limit, or lists with more in them."""

LEVELS: Final[tuple[Level, ...]] = ("advisory", "mandatory", "disabled")
"""The levels of every rule."""

_NONE: Final[Limits] = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(Generic[P]):
    """One rule. A rule on ``Stack`` checks all declared resources at once, at the end; any other checks each resource
    before it is created.
    """

    function: Callable[P, Iterable[Violation]]
    """Takes a subject and the limits by name; returns or yields the violations."""
    id: str
    title: str
    why: str
    remedy: str
    level: Level
    severity: Severity
    options: Mapping[str, Mapping[str, Any]]
    """Limit → its JSON schema, without the default: that is the function's."""
    wider: Mapping[str, Wider]
    """Limit → which of its values allow more."""
    example: Any
    """A subject that breaks the rule, for the documentation."""
    example_limits: Limits = field(default_factory=dict)
    remediable: bool = False
    """Whether the rule has the level ``remediate``: fixing a violation cannot lose anything."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[Violation]:
        """The function's violations."""
        return list(self.function(*args, **kwargs))

    def check(self, subject: object, limits: Limits = _NONE) -> list[Violation]:
        """Violations of the rule by one of its ``subjects``; a limit that is not in ``limits`` has its default."""
        judge: Callable[..., Iterable[Violation]] = self.function
        return list(judge(subject, **{_parameter(name): value for name, value in self.limits(limits).items()}))

    def violation(
        self,
        message: str,
        resource: str = "",
        *,
        remedy: str = "",
        not_evaluated: bool = False,
        unknown_reason: UnknownReason | None = None,
    ) -> Violation:
        """A violation of this rule; ``remedy`` replaces the rule's own if it fits the case better."""
        return Violation(
            self.id,
            message,
            remedy or self.remedy,
            not_evaluated=not_evaluated,
            resource=resource,
            unknown_reason=unknown_reason,
        )

    def unknown(
        self, subject: str, what: str, resource: str, *, remedy: str = "", reason: UnknownReason | None = None
    ) -> Violation:
        """That ``what`` of ``subject`` the update must show; ``reason``: why it may not show it either."""
        message = f"{subject}: unknown at preview, checked at update: {what}."
        return self.violation(message, resource, remedy=remedy, not_evaluated=True, unknown_reason=reason)

    def decide(
        self, broken: Maybe[bool], subject: str, predicate: str, resource: str, reason: UnknownReason | None = None
    ) -> list[Violation]:
        """The violation "``subject`` ``predicate``" if the rule is ``broken``; not evaluated while that is unknown, for
        good if there is a ``reason``."""
        if broken is UNKNOWN:
            return [self.unknown(subject, f"whether it {predicate}", resource, reason=reason)]
        return [self.violation(f"{subject} {predicate}.", resource)] if broken else []

    @cached_property
    def subjects(self) -> tuple[type, ...]:
        """The types of the rule's subject: the type of its function's first parameter."""
        judged = next(iter(get_type_hints(self.function).values()))
        return get_args(judged) or (judged,)

    @cached_property
    def schema(self) -> Mapping[str, Mapping[str, Any]]:
        """Limit → its JSON schema, with its ``default``."""
        parameters = inspect.signature(self.function).parameters
        defaults = {name: parameters[_parameter(name)].default for name in self.options}
        return {
            name: {**option, "default": list(default) if isinstance(default := defaults[name], tuple) else default}
            for name, option in self.options.items()
        }

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that a configuration may give the rule."""
        return (*LEVELS, "remediate") if self.remediable else LEVELS

    @property
    def scope(self) -> Literal["resource", "stack"]:
        """When the rule decides: per resource before its creation, or once for the whole stack."""
        return "stack" if Stack in self.subjects else "resource"

    def limits(self, configured: Limits = _NONE) -> dict[str, Any]:
        """The rule's limits with ``configured`` values over the schema's defaults."""
        return {**self._defaults, **configured}

    @cached_property
    def _defaults(self) -> Limits:
        return {name: option["default"] for name, option in self.schema.items()}


def rule(
    id: str, *, limits: Mapping[str, Mapping[str, Any]] = _NONE, **fields: Any
) -> Callable[[Callable[P, Iterable[Violation]]], Rule[P]]:
    """Makes a function a rule; ``fields`` are those of ``Rule``.

    ``limits`` maps a key of the configuration (``maxGpus``) to its JSON schema, and to which values are ``wider``; the
    function has a parameter of the same name in Python's spelling (``max_gpus``), whose default is the limit's.
    """
    options = {name: {key: each for key, each in option.items() if key != "wider"} for name, option in limits.items()}
    wider = {name: option["wider"] for name, option in limits.items()}
    return lambda function: Rule(function=function, id=id, options=options, wider=wider, **fields)


@cache
def _parameter(limit: str) -> str:
    """``maxGpus`` → ``max_gpus``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in limit)
