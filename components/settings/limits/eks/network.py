"""Valid settings of a new or existing network that EKS does not support. No Pulumi import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.eks import subnets
from facts.concepts.counts import counted

# https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
_PRIVATE_RANGES: Final = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_SERVICE_PREFIXES: Final = range(12, 25)
# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
_PUBLIC_RANGES: Final = 40


def existing(settings: Settings) -> Iterator[Problem]:
    """Problems of an existing network."""
    written = settings.network.existing
    if written is not None and len(set(written.subnets)) < len(written.subnets):
        yield Problem("network.existing.subnets", "a subnet is listed twice", "Write each once")


def _access(settings: Settings) -> Iterator[Problem]:
    network = settings.network
    if network.private_endpoint:
        return
    for index, allowed in enumerate(network.authorized_networks):
        if any(IPv4Network(allowed.cidr).subnet_of(private) for private in _PRIVATE_RANGES):
            yield Problem(
                f"network.authorizedNetworks[{index}].cidr",
                f"{allowed.cidr} is a private range, and a public endpoint is reached from public addresses only",
                "Write the public (NAT) address of that network, or privateEndpoint: true",
            )
    if len(network.authorized_networks) > _PUBLIC_RANGES:
        yield Problem(
            "network.authorizedNetworks",
            f"there are {len(network.authorized_networks)} ranges, but EKS allows {_PUBLIC_RANGES}",
            "Merge adjacent ranges, or write privateEndpoint: true",
        )


def _ranges(settings: Settings) -> Iterator[Problem]:
    if not settings.network.service_cidr:
        return  # ``existing`` names a range for services, which is refused
    service = IPv4Network(settings.network.service_cidr)
    inside = any(service.subnet_of(allowed) for allowed in _PRIVATE_RANGES)
    if not inside or service.prefixlen not in _SERVICE_PREFIXES:
        yield Problem(
            "network.serviceCidr",
            f"EKS needs a range with prefix /12 to /24 inside {', '.join(map(str, _PRIVATE_RANGES))}, not {service}",
            "Write for example 172.20.0.0/16, or leave it out",
        )


def _room(settings: Settings) -> Iterator[Problem]:
    """Each zone's subnet must hold the maximum number of nodes in that zone, and their pods."""
    if settings.network.existing is not None:
        return  # Its ranges are checked where the network is looked up.
    whole = IPv4Network(settings.network.node_cidr)
    if whole.prefixlen not in subnets.VPC_PREFIXES:
        yield Problem(
            "network.nodeCidr",
            f"{whole} has prefix /{whole.prefixlen}, but a cluster on EKS needs /16 to /{subnets.VPC_PREFIXES[-1]}",
            "Write for example 10.0.0.0/16",
        )
        return
    every = (*subnets.cluster_zones(settings.region, settings.zones), *settings.node_zones)
    full = _full(settings, every, whole)
    if full is None:
        return
    zone, part, room, nodes = full
    larger = (whole.supernet(new_prefix=each) for each in range(whole.prefixlen - 1, subnets.VPC_PREFIXES[0] - 1, -1))
    enough = next((each for each in larger if _full(settings, every, each) is None), None)
    # A part of the range for each zone, in a power of two of equal parts.
    fewer = next((n for n in range(len(settings.zones) - 1, 0, -1) if _least_room(settings, n, whole) >= nodes), None)
    ways = [
        *([f"Write a range with prefix /{enough.prefixlen} or shorter"] if enough else []),
        *([f"Write zones: [{', '.join(settings.zones[:fewer])}] at the top of the file"] if fewer else []),
        "Lower maxNodes",
        *([] if enough else ["Write different zones in each pool", "Use network.existing with larger subnets"]),
    ]
    yield Problem(
        "network.nodeCidr",
        f"{zone} gets {part} of {whole}, which has room for {counted(room, 'node')} "
        f"({catalog.of('eks').nodes.pod_addresses} addresses each), but the pools may grow to {nodes} there",
        ", or ".join([ways[0], *(each[:1].lower() + each[1:] for each in ways[1:])]),
    )


def _full(settings: Settings, zones: Sequence[str], whole: IPv4Network) -> tuple[str, IPv4Network, int, int] | None:
    """The first zone whose part of the range is too small, the part, and how many nodes it has room for and needs."""
    for zone, part in subnets.ranges(str(whole), settings.region, zones).items():
        room, nodes = _room_in(part.private), most_nodes(settings, zone)
        if room < nodes:
            return zone, part.private, room, nodes
    return None


def _least_room(settings: Settings, zones: int, whole: IPv4Network) -> int:
    parts = subnets.ranges(str(whole), settings.region, settings.zones[:zones]).values()
    return min(_room_in(part.private) for part in parts)


def _room_in(part: IPv4Network) -> int:
    per_node = catalog.of("eks").nodes.pod_addresses
    return max(part.num_addresses - subnets.KEPT_ADDRESSES, 0) // per_node


def most_nodes(settings: Settings, zone: str) -> int:
    """The maximum number of nodes of all pools together in a zone."""
    admin = settings.admin_pool
    elsewhere = admin.nodes_per_zone * (len(admin.nodes.zones) - 1)
    always = admin.scaling.max_nodes - elsewhere if zone in admin.nodes.zones else 0
    return always + sum(pool.scaling.max_nodes for pool in settings.pools if zone in pool.nodes.zones)


CHECKS: Final = (_access, _ranges, _room)
"""Problems of address ranges and of access to the control plane."""
