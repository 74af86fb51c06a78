"""Reports what the rules cannot evaluate, so that it does not pass silently."""

from __future__ import annotations

from facts.concepts.declared import NotEvaluated, UnknownReason, Violation
from policies.rules.rule import gate_rule

_LISTED = 6


@gate_rule(
    "unjudged",
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
