"""Reports what the rules cannot evaluate, so that it does not pass silently."""

from __future__ import annotations

from facts.concepts.declared import NotEvaluated, UnknownReason, Violation
from policies.rules.rule import rule

_LISTED = 6


@rule(
    "unjudged",
    title="Report what the gate cannot evaluate",
    why="An unlisted machine type, a template of another program or a script may still keep GPUs running.",
    remedy="Declare it in a form that the gate reads, or exempt it by name, with a reason.",
    level="advisory",
    severity="high",
    limits={
        "opaque": {
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
    """Reports what is never evaluated: the update knows no more than the preview."""
    if subject.opaque and not opaque:
        return []
    message = (
        f"{subject.what} cannot be evaluated, neither at preview nor at update, because {subject.unknown_reason.why}."
    )
    if subject.rules:
        more = len(subject.rules) - _LISTED
        message += (
            f" Rules not evaluated: {', '.join(subject.rules[:_LISTED])}{f' and {more} more' if more > 0 else ''}."
        )
    return [unjudged.violation(message, subject.resource, remedy=subject.unknown_reason.remedy)]
