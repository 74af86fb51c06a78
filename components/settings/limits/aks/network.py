"""Valid network settings that AKS does not support."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.pools.settings import Settings
from facts.catalog.aks.resource_ids import EXISTING_NETWORK, NO_DNS_ZONE, PRIVATE_DNS_ZONE

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules (subnets)
_SUBNET: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?")
# https://learn.microsoft.com/azure/aks/concepts-network-cni-overview, .../concepts-network-azure-cni-overlay
_KEPT_RANGES: Final = ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")


def existing(settings: Settings) -> Iterator[Problem]:
    """Problems of an existing network."""
    used = settings.network.existing
    if used is None:
        return
    written = EXISTING_NETWORK.fullmatch(used.network)
    if written is None or written["subscription"].lower() != settings.project.lower():
        yield Problem(
            "network.existing.network",
            f"'{used.network}' is not the resource id of a virtual network of subscription {settings.project}",
            f"Write /subscriptions/{settings.project}/resourceGroups/<group>/providers/Microsoft.Network/"
            "virtualNetworks/<name>",
        )
    if len(used.subnets) > 1:
        yield Problem(
            "network.existing.subnets",
            "all pools use one subnet, which spans all zones",
            f"Write the name of one: subnets: [{used.subnets[0]}]",
        )
    for number, name in enumerate(used.subnets):
        if not _SUBNET.fullmatch(name):
            yield Problem(
                f"network.existing.subnets[{number}]",
                f"'{name}' is no name of a subnet",
                "Write the name that the virtual network lists",
            )
    zone = used.private_dns_zone
    if zone is not None and zone != NO_DNS_ZONE:
        suffix = f"privatelink.{settings.region}.azmk8s.io"
        parts = PRIVATE_DNS_ZONE.fullmatch(zone)
        if parts is None or not f".{parts['name']}".endswith(f".{suffix}"):
            yield Problem(
                "network.existing.privateDnsZone",
                f"'{zone}' is not the resource id of a private DNS zone for control planes in {settings.region}",
                "Write /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Network/privateDnsZones/"
                f"{suffix} (or a zone whose name ends with .{suffix}), or none",
            )
    if not settings.network.private_endpoint:
        yield Problem(
            "network.privateEndpoint",
            "nodes reach a public control plane from the egress addresses of your network, which authorizedNetworks "
            "must then contain; the program does not know them",
            "Write privateEndpoint: true, and run the program where it can reach the network",
        )


def range_problems(settings: Settings) -> Iterator[Problem]:
    """Ranges that AKS reserves."""
    network = settings.network
    ranges = {"nodeCidr": network.node_cidr, "podCidr": network.pod_cidr, "serviceCidr": network.service_cidr}
    for key, written in ranges.items():
        taken = [
            reserved_range
            for reserved_range in _KEPT_RANGES
            if written and ip_network(written).overlaps(ip_network(reserved_range))
        ]
        if taken:
            yield Problem(
                f"network.{key}",
                f"{written} overlaps with ranges that AKS reserves: {', '.join(taken)}",
                "Choose another range",
            )
