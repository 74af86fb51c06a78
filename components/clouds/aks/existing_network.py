"""An existing virtual network: read, never changed. The control plane is granted the use of the subnet.

https://learn.microsoft.com/azure/aks/azure-cni-overlay
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, ip_network
from typing import Any, Final

import pulumi

from components.clouds.data_lookup import look_up
from components.settings import Settings
from components.settings.fields.problems import Problem, SettingsError
from components.settings.limits import common
from facts import catalog
from facts.catalog.aks.nodes import surge_nodes
from facts.catalog.aks.resource_ids import EXISTING_NETWORK, NO_DNS_ZONE, ROUTE_TABLE

_NETWORK: Final = "azure-native:network:getVirtualNetwork"
_ROUTES: Final = "azure-native:network:getRouteTable"
# https://learn.microsoft.com/azure/aks/egress-udr, https://github.com/hashicorp/terraform-provider-azurerm/issues/8609
_WAYS_OUT: Final = ("VirtualAppliance", "VirtualNetworkGateway")


class ExistingNetwork:
    """``network.Network`` without resources. ``outbound`` is its nodes' outbound type; ``changed`` is, by purpose, what
    the control plane's identity changes besides the subnet: the network if it links the zone with the cluster's name to
    it, and the subnet's route table (https://learn.microsoft.com/azure/aks/aks-service-permissions).

    ``new`` is whether the cluster does not exist yet: one that does keeps its outbound type.

    Raises:
        pulumi.RunError: no such subnet, or an unsuitable one; lists all problems, before any resource is created.
    """

    def __init__(self, settings: Settings, parent: pulumi.Resource, *, new: bool) -> None:
        existing = settings.network.existing
        parts = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
        assert existing is not None
        assert parts is not None  # settings refuse any other
        arguments = {"resourceGroupName": parts["group"], "virtualNetworkName": parts["name"]}
        network = look_up(_NETWORK, arguments, parent, f"network.existing.network: {existing.network}")
        subnets = {each["name"]: each for each in network.get("subnets") or ()}
        subnet = subnets.get(existing.subnets[0])
        problems = [*_place(settings, network, subnets), *(_room(settings, subnet, new) if subnet else ())]
        if new and subnet:
            problems += _default_route(subnet, parent)
        if problems or subnet is None:
            raise pulumi.RunError(str(SettingsError(problems, stack=settings.stack)))
        self.subnet: pulumi.Output[str] = pulumi.Output.from_input(str(subnet["id"]))
        self.egress: list[pulumi.Input[str]] = []
        self.outbound = _outbound(subnet)
        zone = existing.private_dns_zone
        links = _own_dns(network) if zone is None else zone != NO_DNS_ZONE
        table = (subnet.get("routeTable") or {}).get("id")
        network_id = existing.network if settings.network.private_endpoint and links else None
        self.changed = {key: id for key, id in (("network", network_id), ("route-table", table)) if id}


def _default_route(subnet: Mapping[str, Any], parent: pulumi.Resource) -> Iterator[Problem]:
    """Nodes that leave by a route table need a default route that AKS accepts; one learned by BGP does not count:
    https://github.com/MicrosoftDocs/azure-docs/issues/108240."""
    if _outbound(subnet) != "userDefinedRouting":
        return
    id = subnet["routeTable"]["id"]
    parts = ROUTE_TABLE.fullmatch(id)
    assert parts is not None  # Azure's own
    # A table is in its networks' subscription: https://learn.microsoft.com/azure/virtual-network/manage-route-table
    arguments = {"resourceGroupName": parts["group"], "routeTableName": parts["name"]}
    table = look_up(_ROUTES, arguments, parent, f"network.existing.subnets: {id}")
    hops = [each["nextHopType"] for each in table.get("routes") or () if each.get("addressPrefix") == "0.0.0.0/0"]
    if not hops or hops[0] not in _WAYS_OUT:
        leads = f"leads 0.0.0.0/0 to {hops[0]}" if hops else "has no route for 0.0.0.0/0"
        yield Problem(
            "network.existing.subnets",
            f"the route table of '{subnet['name']}', {id}, {leads}, so AKS would refuse the cluster",
            f"Add a route for 0.0.0.0/0 with the next hop {' or '.join(_WAYS_OUT)}, or give the subnet a NAT gateway",
        )


def _outbound(subnet: Mapping[str, Any]) -> str:
    """The outbound type that fits the subnet: https://learn.microsoft.com/azure/aks/egress-outboundtype."""
    if subnet.get("natGateway"):
        return "userAssignedNATGateway"
    return "userDefinedRouting" if subnet.get("routeTable") else "loadBalancer"


def _own_dns(network: Mapping[str, Any]) -> bool:
    """Whether the network has other DNS servers than Azure's.

    Then the link of the zone with a private cluster's name can fail without a right on the network:
    https://learn.microsoft.com/azure/aks/private-clusters#hub-and-spoke-with-custom-dns-for-private-aks-clusters
    """
    return bool((network.get("dhcpOptions") or {}).get("dnsServers"))


def _place(settings: Settings, network: Mapping[str, Any], subnets: Mapping[str, Any]) -> Iterator[Problem]:
    existing = settings.network.existing
    assert existing is not None
    if network["location"] != settings.region:
        yield Problem(
            "network.existing.network",
            f"the network is in {network['location']}, the cluster in {settings.region}",
            f"Write region: {network['location']}, or a network there",
        )
    if existing.subnets[0] not in subnets:
        has = ", ".join(sorted(subnets)) or "none"
        yield Problem(
            "network.existing.subnets",
            f"the network has no subnet '{existing.subnets[0]}'",
            f"Write one that it has: {has}",
        )
    for prefix in network["addressSpace"]["addressPrefixes"]:
        for key, own_range in (("podCidr", settings.network.pod_cidr), ("serviceCidr", settings.network.service_cidr)):
            if own_range and ":" not in prefix and ip_network(own_range).overlaps(ip_network(prefix)):
                yield Problem(
                    f"network.{key}", f"{own_range} overlaps with {prefix} of the network", "Choose another range"
                )


def _room(settings: Settings, subnet: Mapping[str, Any], new: bool) -> Iterator[Problem]:
    """A cluster that runs there keeps its subnet though upgrades may lack room: one in use can rarely be enlarged."""
    reserved = catalog.of(settings.cloud).choices.reserved_addresses
    prefixes = [subnet.get("addressPrefix"), *(subnet.get("addressPrefixes") or ())]
    ranges = [IPv4Network(text) for text in dict.fromkeys(prefixes) if text and ":" not in text]
    # In the nodes' subnet: https://learn.microsoft.com/azure/aks/private-clusters, workloads/share.py
    endpoints = settings.network.private_endpoint + (settings.workloads.shared_volume is not None)
    room = sum(each.num_addresses - reserved for each in ranges) - (endpoints if new else 0)
    upgrades = sum(map(surge_nodes, (settings.admin_pool, *settings.pools))) if new else 0
    nodes = settings.max_nodes + upgrades
    if room < nodes:
        yield common.existing_too_small("subnets", subnet["name"], ranges[0], room, nodes, upgrades)
