"""The virtual network of one cluster: a subnet for nodes, and a way out, as nodes have no public address.

Pods have addresses of their own (Azure CNI Overlay), which the virtual network does not know:
https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import aks as declare
from components.settings import Settings
from facts.catalog.aks.naming import zone_numbers

if TYPE_CHECKING:
    from schemas import aks

_DNS_PLACE: Final = 10
"""The cluster's DNS has the tenth address of the service range, as in most clusters."""


def profile(settings: Settings, outbound: str) -> aks.ContainerServiceNetworkProfile:
    """The cluster's ``networkProfile``; ``outbound`` is how its nodes get out."""
    assert settings.network.pod_cidr is not None  # it has a default
    services = ip_network(settings.network.service_cidr)
    network_profile: aks.ContainerServiceNetworkProfile = {
        "networkPlugin": "azure",
        "networkPluginMode": "overlay",
        "podCidr": settings.network.pod_cidr,
        "serviceCidr": settings.network.service_cidr,
        "dnsServiceIP": str(services[_DNS_PLACE]),
        "loadBalancerSku": "standard",
        "outboundType": outbound,
    }
    if settings.network.dataplane == "cilium":
        network_profile["networkDataplane"] = "cilium"
        network_profile["networkPolicy"] = "cilium"
    return network_profile


def way_out(settings: Settings) -> str:
    """The outbound type of nodes in a network of our own."""
    return "loadBalancer" if settings.nat_per_zone else "userAssignedNATGateway"


class Network:
    """``subnet`` is what pools refer to; ``egress`` the addresses that nodes come from, where we choose them.

    With one way out it is a NAT gateway of ours. A gateway is in one zone, and a subnet has one gateway, so one that
    outlives its zone is the load balancer that AKS makes, whose address is in all zones:
    https://learn.microsoft.com/azure/aks/egress-outboundtype, https://learn.microsoft.com/azure/nat-gateway/nat-availability-zones
    """

    def __init__(self, name: str, settings: Settings, group: pulumi.Input[str], parent: pulumi.Resource) -> None:
        self._name, self._settings, self._parent = name, settings, parent
        network = declare(
            "azure-native:network:VirtualNetwork",
            f"{name}-network",
            {
                "resourceGroupName": group,
                "location": settings.region,
                "tags": dict(settings.labels),
                "virtualNetworkName": settings.cluster_name,
                "addressSpace": {"addressPrefixes": [settings.network.node_cidr]},
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["name"],
        )
        inputs: aks.Subnet = {
            "resourceGroupName": group,
            "virtualNetworkName": network.outputs["name"],
            "subnetName": "nodes",
            "addressPrefix": settings.network.node_cidr,
            # Without this Azure lends every machine a public address for its way out.
            "defaultOutboundAccess": False,
        }
        self.egress: list[pulumi.Input[str]] = []
        if not settings.nat_per_zone:
            inputs["natGateway"] = {"id": self._nat_gateway(group)}
        subnet = declare(
            "azure-native:network:Subnet",
            f"{name}-subnet",
            inputs,
            pulumi.ResourceOptions(parent=parent),
        )
        self.subnet: pulumi.Output[str] = subnet.id
        self.changed: dict[str, str] = {}
        self.outbound = way_out(settings)

    def _nat_gateway(self, group: pulumi.Input[str]) -> pulumi.Output[str]:
        settings = self._settings
        # A zonal cluster's gateway is where its nodes are; else Azure chooses the zone.
        zones = [] if settings.regional else zone_numbers(settings.zones[:1])
        address_inputs: aks.PublicIPAddress = {
            "resourceGroupName": group,
            "location": settings.region,
            "publicIpAddressName": f"{settings.cluster_name}-nat",
            "sku": {"name": "Standard"},
            "publicIPAllocationMethod": "Static",
            "publicIPAddressVersion": "IPv4",
            "tags": dict(settings.labels),
        }
        if zones:
            address_inputs["zones"] = zones
        address = declare(
            "azure-native:network:PublicIPAddress",
            f"{self._name}-nat-address",
            address_inputs,
            pulumi.ResourceOptions(parent=self._parent),
            outputs=["ipAddress"],
        )
        self.egress.append(address.outputs["ipAddress"].apply(lambda ip: f"{ip}/32"))
        gateway_inputs: aks.NatGateway = {
            "resourceGroupName": group,
            "location": settings.region,
            "natGatewayName": f"{settings.cluster_name}-nat",
            "sku": {"name": "Standard"},
            "publicIpAddresses": [{"id": address.id}],
            "tags": dict(settings.labels),
        }
        if zones:
            gateway_inputs["zones"] = zones
        gateway = declare(
            "azure-native:network:NatGateway",
            f"{self._name}-nat",
            gateway_inputs,
            pulumi.ResourceOptions(parent=self._parent),
        )
        return gateway.id
