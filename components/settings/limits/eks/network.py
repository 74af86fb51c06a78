"""Valid settings of a new or existing network that EKS does not support. No Pulumi import."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from components.settings.limits import keys
from components.settings.problems import Problem
from components.settings.settings import Settings
from facts import catalog
from facts.catalog.eks import subnets
from facts.concepts.counts import counted

# https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
_PRIVATE_RANGES: Final = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_SERVICE_PREFIXES: Final = range(12, 25)
# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
_PUBLIC_RANGES: Final = 40


def problems(settings: Settings) -> Iterator[Problem]:
    """Problems of address ranges and of access to the control plane."""
    yield from _access(settings)
    yield from _ranges(settings)
    yield from _room(settings)


def unread(settings: Settings) -> Iterator[Problem]:
    """Invalid IDs of an existing network; with one of them nothing else is checked."""
    existing = settings.network.existing
    if existing is None:
        return
    yield from keys.other_forms(settings, "network.existing")
    if len(set(existing.subnets)) < len(existing.subnets):
        yield Problem("network.existing.subnets", "a subnet is listed twice", "Write each once")
    yield from keys.refused(settings, "network.existing")


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
    per_node = catalog.of("eks").nodes.pod_addresses
    if (whole.num_addresses - subnets.KEPT_ADDRESSES) // per_node < settings.max_nodes:
        return  # A range too small for all zones together is reported for every cloud, in ``common``.
    for zone, part in subnets.ranges(str(whole), settings.region, settings.zones).items():
        room = (part.private.num_addresses - subnets.KEPT_ADDRESSES) // per_node
        nodes = most_nodes(settings, zone)
        if room < nodes:
            yield Problem(
                "network.nodeCidr",
                f"{zone} gets {part.private} of {whole}, which has room for {counted(room, 'node')} "
                f"({per_node} addresses each), but the pools may grow to {nodes} there",
                "Write a larger range (/16 is the largest), spread the pools over more zones, or lower maxNodes",
            )


def most_nodes(settings: Settings, zone: str) -> int:
    """The maximum number of nodes of all pools together in a zone."""
    admin = settings.admin_pool
    elsewhere = admin.nodes_per_zone * (len(admin.nodes.zones) - 1)
    always = admin.scaling.max_nodes - elsewhere if zone in admin.nodes.zones else 0
    return always + sum(pool.scaling.max_nodes for pool in settings.pools if zone in pool.nodes.zones)
