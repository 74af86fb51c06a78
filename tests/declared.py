"""A recorded program in the gate's words: every resource as the gate's readers understand it, on any cloud."""

from __future__ import annotations

from facts.concepts.declared import Stack
from policies.readers import linked, read, read_stack
from policies.readers.resource import Declared, Item
from policies.rules.table import RULES
from tests.recorder import Recording


def declarations(recording: Recording) -> list[Declared]:
    """The resources, each with those that complete it."""
    own = recording.resources
    return linked(Declared(each.type, each.name, each.urn, each.inputs, each.property_dependencies) for each in own)


def items(recording: Recording) -> list[Item]:
    """Node groups, clusters, workloads, credentials, … one by one, as the gate judges single resources."""
    return [item for declared in declarations(recording) for item in read(declared)]


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
