"""Which zones a cluster spans and which addresses each gets. No Pulumi import: settings are checked with it too.

Nodes and their pods share a zone's private subnet. A control plane wants subnets in two zones at least, and gets
them in three: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

from facts import catalog

CONTROL_PLANE_ZONES: Final = 3
LEAST_CONTROL_PLANE_ZONES: Final = 2

VPC_PREFIXES: Final = range(16, 23)
"""A VPC may have /16 to /28; beyond /22 no zone would have room for one node and its pods.
https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"""

KEPT_ADDRESSES: Final = 5
"""AWS keeps the first four and the last: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""

_SMALLEST: Final = 28


@dataclass(frozen=True)
class ZoneRanges:
    """The two subnets of one zone; ``public`` is for its NAT gateway alone."""

    zone: str
    private: IPv4Network
    public: IPv4Network


def cluster_zones(region: str, zones: Sequence[str]) -> tuple[str, ...]:
    """The zones of the stack, then as many others of the region as make three, in the order of the region."""
    known = catalog.of("eks").regions[region]
    others = [zone for zone in known if zone not in zones]
    chosen = {*zones, *others[: max(0, CONTROL_PLANE_ZONES - len(zones))]}
    return tuple(zone for zone in known if zone in chosen)


def ranges(node_cidr: str, region: str, zones: Sequence[str]) -> dict[str, ZoneRanges]:
    """Zone → its addresses, for every zone of the cluster.

    A zone's place in the region decides its part of ``node_cidr``, so that a stack that adds one of the first three
    zones changes no existing subnet. The last part is for the public subnets.
    """
    known = catalog.of("eks").regions[region]
    zone_names = cluster_zones(region, zones)
    places = {zone: known.index(zone) for zone in zone_names}
    parts = max(CONTROL_PLANE_ZONES, *(place + 1 for place in places.values())) + 1
    whole = IPv4Network(node_cidr)
    blocks = list(whole.subnets(prefixlen_diff=(parts - 1).bit_length()))
    last = blocks[-1]
    doors = list(last.subnets(new_prefix=min(_SMALLEST, max(last.prefixlen + 3, 24))))
    return {zone: ZoneRanges(zone, blocks[place], doors[place]) for zone, place in places.items()}
