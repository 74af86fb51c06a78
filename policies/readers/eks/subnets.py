"""Reads Amazon's subnets, which decide whether the machines in them get public addresses.

https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html#network-requirements-subnets
"""

from __future__ import annotations

from typing import Final

from facts.concepts.unknown import Maybe, flag, items, negation
from policies.readers.resource import Declared, Program

SUBNET: Final = "aws:ec2/subnet:Subnet"


def subnets_among(declared: Declared, property: str, everything: Program) -> list[Declared]:
    """The subnets that ``property`` of ``declared`` comes from or names."""
    sources = declared.dependencies.get(property, ())
    named = [one for one in items(declared.properties.get(property)) if isinstance(one, str)]
    return [subnet for subnet in everything.of(SUBNET) if subnet.urn in sources or subnet.properties.get("id") in named]


def private_subnet(resource: Declared) -> Maybe[bool]:
    """Whether machines get no public address by this resource: only a subnet that gives them one makes it false."""
    if resource.type != SUBNET:
        return True
    return negation(flag(resource.properties.get("mapPublicIpOnLaunch")))
