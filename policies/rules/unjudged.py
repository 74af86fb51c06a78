"""Reports what the gate cannot read and what the rules cannot evaluate, because no message would look like a pass."""

from __future__ import annotations

from facts.concepts.declared import NotEvaluated, UnknownReason, Unreadable, Violation
from policies.rules.rule import rule

_LISTED = 6


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


@rule(
    "unjudged",
    title="Report what the gate cannot evaluate",
    why="An unlisted machine type, a template of another program or a script may still keep GPUs running.",
    remedy="Declare it in a form that the gate reads, or exempt it by name, with a reason.",
    level="advisory",
    severity="high",
    limits={
        "opaque": {
            "wider": "lower",
            "type": "boolean",
            "description": "Whether commands, dynamic resources and the like are reported even where nothing in their "
            "properties looks like GPUs or node groups.",
        }
    },
    example=NotEvaluated(
        "Node group 'big'",
        UnknownReason(
            "the catalogue does not list machine type 'q1.large'", "Use a machine type that the catalogue lists."
        ),
        rules=("gpu-taint", "gpu-zero-minimum"),
    ),
)
def unjudged(subject: NotEvaluated, opaque: bool = True) -> list[Violation]:
    """Reports what is never evaluated, as the update knows no more than the preview, and what a preview puts off."""
    if subject.opaque and not opaque:
        return []
    when = " at preview" if subject.until_update else ", neither at preview nor at update,"
    message = f"{subject.what} cannot be evaluated{when} because {subject.unknown_reason.why}."
    if subject.rules:
        more = len(subject.rules) - _LISTED
        message += (
            f" Rules not evaluated: {', '.join(subject.rules[:_LISTED])}{f' and {more} more' if more > 0 else ''}."
        )
    later = subject.until_update
    return [unjudged.violation(message, subject.resource, remedy=subject.unknown_reason.remedy, not_evaluated=later)]
