"""A recorded program in the gate's words: every resource as the gate's readers understand it, on any cloud."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from facts.concepts.declared import Stack
from policies.readers import linked, read, read_stack
from policies.readers.resource import Declared, Item
from policies.rules.table import RULES
from tests.recorder import Recording

T = TypeVar("T")


def _once(of: Callable[[Recording], T]) -> Callable[[Recording], T]:
    """``of``, but only once for a recording, which keeps the answer: many tests look at one."""

    @functools.wraps(of)
    def look_up(recording: Recording) -> T:
        known: dict[str, T] = vars(recording).setdefault("declared", {})
        if of.__name__ not in known:
            known[of.__name__] = of(recording)
        return known[of.__name__]

    return look_up


@_once
def declarations(recording: Recording) -> list[Declared]:
    """The resources, each with those that complete it."""
    own = recording.resources
    return linked(Declared(each.type, each.name, each.urn, each.inputs, each.property_dependencies) for each in own)


@_once
def items(recording: Recording) -> list[Item]:
    """Node groups, clusters, workloads, credentials, … one by one, as the gate judges single resources."""
    return [item for declared in declarations(recording) for item in read(declared)]


@_once
def stack(recording: Recording) -> Stack:
    """Everything at once."""
    return read_stack(declarations(recording))


def violations(recording: Recording) -> list[str]:
    """What the gate's rules find wrong."""
    singles, everything = items(recording), [stack(recording)]
    return [
        f"{violation.rule}: {violation.message}"
        for rule in RULES
        for subject in (everything if rule.scope == "stack" else singles)
        if rule.scope == "stack" or isinstance(subject, rule.subjects)
        for violation in rule.check(subject)
    ]
