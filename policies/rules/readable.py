"""What the gate fails to read is a finding of its own: silence would look like a pass."""

from __future__ import annotations

from facts.concepts.declared import Unreadable, Violation
from policies.rules.rule import rule


@rule(
    "resource-readable",
    title="The gate can read every resource",
    why="What cannot be read is judged by no rule; it would pass unseen.",
    remedy="Write the value in the form that the provider documents; if it is, report the gate's mistake.",
    level="mandatory",
    severity="high",
    example=Unreadable("aws:eks/nodeGroup:NodeGroup 'gpu'", "TypeError: 'int' object is not iterable"),
)
def resource_readable(found: Unreadable) -> list[Violation]:
    """No resource of a type that the gate knows makes its reader fail."""
    message = f"Cannot read {found.what} ({found.resource or 'no URN'}): {found.why}. No other rule has judged it."
    remedy = "Write the value in the form that the provider documents; if it already is, report this message, and "
    remedy += "exempt the resource until it is mended."
    return [Violation(resource_readable.id, message, remedy, resource=found.resource)]
