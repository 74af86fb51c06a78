"""What the gate cannot judge, so that it passes in sight."""

from __future__ import annotations

from facts.concepts.declared import Doubt, Unjudged, Violation
from policies.rules.rule import rule

_LISTED = 6


@rule(
    "unjudged",
    title="Nothing passes because the gate cannot read it",
    why="A machine type nobody lists, a template of another program or a script may keep GPUs up all the same.",
    remedy="Declare it in a way that the gate reads, or exempt it by name, with a reason.",
    level="advisory",
    severity="high",
    limits={
        "opaque": {
            "type": "boolean",
            "description": "Whether commands, dynamic resources and the like are named even where nothing in their "
            "properties looks like GPUs or node groups.",
        }
    },
    example=Unjudged(
        "Node group 'big'",
        Doubt("no table says how many GPUs 'q1.large' has", "Use a machine type that the catalogue lists."),
        open_rules=("gpu-taint", "gpu-zero-minimum"),
    ),
)
def unjudged(subject: Unjudged, opaque: bool = True) -> list[Violation]:
    """Names what stays open for good: no later step of the update knows more than the preview."""
    if subject.opaque and not opaque:
        return []
    message = f"{subject.what} cannot be judged, at the update neither, because {subject.doubt.why}."
    if subject.open_rules:
        more = len(subject.open_rules) - _LISTED
        message += f" Open: {', '.join(subject.open_rules[:_LISTED])}{f' and {more} more' if more > 0 else ''}."
    return [Violation(unjudged.id, message, subject.doubt.remedy, resource=subject.resource)]
