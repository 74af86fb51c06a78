"""Reports resources that the gate cannot read, because no message would look like a pass."""

from __future__ import annotations

from facts.concepts.declared import Unreadable, Violation
from policies.rules.rule import rule


@rule(
    "resource-readable",
    title="The gate can read every resource",
    why="No rule checks a resource that cannot be read; it would pass without a message.",
    remedy=(
        "Write the value as the provider documents it. If it already is, report this message as a bug of the gate "
        "and exempt the resource until it is fixed."
    ),
    level="mandatory",
    severity="high",
    example=Unreadable("aws:eks/nodeGroup:NodeGroup 'gpu'", "TypeError: 'int' object is not iterable"),
)
def resource_readable(resource: Unreadable) -> list[Violation]:
    """The gate can read every resource of a type that it knows."""
    message = (
        f"Cannot read {resource.what} ({resource.resource or 'no URN'}): {resource.why}. No other rule checked it."
    )
    return [resource_readable.violation(message, resource.resource)]
