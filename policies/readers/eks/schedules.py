"""Reads scheduled actions of Amazon's Auto Scaling groups, which set a group's minimum at a time of day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Minimum
from facts.concepts.unknown import text, whole
from policies.readers.resource import Declared, Item, Reader


def read_schedule(declared: Declared) -> Iterable[Item]:
    """``aws:autoscaling/schedule:Schedule``; a size that is left out, or -1, stays as it is.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html
    """
    inputs = declared.properties
    least = whole(inputs.get("minSize"), default=-1)
    yield Minimum(
        what=f"schedule '{declared.name}'",
        nodes=-1 if least is None else least,
        group=text(inputs.get("autoscalingGroupName")),
        declared_at=declared.dependencies.get("autoscalingGroupName", ()),
        where="minSize",
        resource=declared.urn,
    )


READERS: Final[Mapping[str, Reader]] = {"aws:autoscaling/schedule:Schedule": read_schedule}
