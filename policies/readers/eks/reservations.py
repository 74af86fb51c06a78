"""Reads what Amazon bills whether or not it is in use: capacity reservations, dedicated hosts, and
minimums that Batch or a schedule sets.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html
https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Minimum, Reservation
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, items, text, whole
from policies.readers.eks.facts import CLOUD, gpus_of
from policies.readers.eks.template import machines, typed
from policies.readers.resource import Declared, Item, Properties, Reader


def read_capacity_reservation(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/capacityReservation:CapacityReservation``."""
    inputs = declared.properties
    kind, count = text(inputs.get("instanceType")), amount(inputs.get("instanceCount"), 1)
    region = _region(inputs)
    what = f"capacity reservation '{declared.name}'"
    yield Reservation(what, count, gpus_of(kind), kind, declared.urn, cloud=CLOUD, region=region)


def read_dedicated_host(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/dedicatedHost:DedicatedHost``."""
    kind = text(coalesce(declared.properties.get("instanceType"), declared.properties.get("instanceFamily")))
    region = _region(declared.properties)
    what = f"dedicated host '{declared.name}'"
    yield Reservation(what, 1, gpus_of(kind), kind, declared.urn, cloud=CLOUD, region=region)


def _region(inputs: Properties) -> Maybe[str | None]:
    """The region of the zone ``us-west-2a``; ``None`` without one."""
    zone = text(inputs.get("availabilityZone"))
    return zone.rstrip("abcdefghijklmnopqrstuvwxyz") if isinstance(zone, str) else zone


def read_compute_environment(declared: Declared) -> Iterable[Item]:
    """``aws:batch/computeEnvironment:ComputeEnvironment`` with a minimum: at least one machine stays."""
    resources = declared.properties.get("computeResources")
    least = whole(at(resources, "minVcpus"), default=0)
    types = [text(entry) for entry in items(coalesce(at(resources, "instanceTypes"), at(resources, "instanceType")))]
    kinds = machines(tuple(typed(kind) for kind in types))
    if least != 0:
        count = UNKNOWN if least is UNKNOWN else 1
        yield Reservation(
            f"minimum of Batch environment '{declared.name}'", count, kinds.gpus, kinds.first, declared.urn, cloud=CLOUD
        )


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


READERS: Final[Mapping[str, Reader]] = {
    "aws:autoscaling/schedule:Schedule": read_schedule,
    "aws:batch/computeEnvironment:ComputeEnvironment": read_compute_environment,
    "aws:ec2/capacityReservation:CapacityReservation": read_capacity_reservation,
    "aws:ec2/dedicatedHost:DedicatedHost": read_dedicated_host,
}
