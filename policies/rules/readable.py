"""Reports resources that the gate cannot read, because no message would look like a pass."""

from __future__ import annotations

from facts.concepts.declared import Unreadable, Violation
from policies.rules.rule import gate_rule


@gate_rule(
    "resource-readable",
    example=Unreadable("aws:eks/nodeGroup:NodeGroup 'gpu'", "TypeError: 'int' object is not iterable"),
)
def resource_readable(resource: Unreadable) -> list[Violation]:
    """The gate can read every resource of a type that it knows."""
    message = (
        f"Cannot read {resource.what} ({resource.resource or 'no URN'}): {resource.why}. No other rule checked it."
    )
    return [resource_readable.violation(message, resource.resource)]
