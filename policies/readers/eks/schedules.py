"""Reads scheduled actions of Amazon's Auto Scaling groups, which set a group's minimum at a time of day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Minimum
from facts.concepts.unknown import amount, text
from policies.readers.resource import Declared, Item, Reader


def read_schedule(declared: Declared) -> Iterable[Item]:
    """``aws:autoscaling/schedule:Schedule``; a size that is left out, or -1, stays as it is.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html
    """
    inputs = declared.properties
    yield Minimum(
        what=f"schedule '{declared.name}'",
        nodes=amount(inputs.get("minSize"), -1),
        group=text(inputs.get("autoscalingGroupName")),
        declared_at=declared.dependencies.get("autoscalingGroupName", ()),
        where="minSize",
        resource=declared.urn,
    )


READERS: Final[Mapping[str, Reader]] = {"aws:autoscaling/schedule:Schedule": read_schedule}
