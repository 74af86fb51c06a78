"""The virtual network of one cluster: a subnet for nodes, and a way out, as nodes have no public address.

Pods have addresses of their own (Azure CNI Overlay), which the virtual network does not know:
https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.resources import CustomResource

_DNS_PLACE: Final = 10
"""The cluster's DNS has the tenth address of the service range, as in most clusters."""


class Network:
    """``subnet`` is what pools refer to; ``egress`` the addresses that nodes come from, where we choose them.

    With one way out it is a NAT gateway of ours. A gateway is in one zone, and a subnet has one gateway, so one that
    outlives its zone is the load balancer that AKS makes, whose address is in all zones:
    https://learn.microsoft.com/azure/aks/egress-outboundtype, https://learn.microsoft.com/azure/nat-gateway/nat-availability-zones
    """

    def __init__(self, name: str, spec: ClusterSpec, group: pulumi.Input[str], parent: pulumi.Resource) -> None:
        self._name, self._spec, self._parent = name, spec, parent
        place = {"resourceGroupName": group, "location": spec.region, "tags": dict(spec.labels)}
        network = CustomResource(
            "azure-native:network:VirtualNetwork",
            f"{name}-network",
            {
                **place,
                "virtualNetworkName": spec.name,
                "addressSpace": {"addressPrefixes": [spec.node_cidr]},
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["name"],
        )
        inputs: dict[str, Any] = {
            "resourceGroupName": group,
            "virtualNetworkName": network.output("name"),
            "subnetName": "nodes",
            "addressPrefix": spec.node_cidr,
            # Without this Azure lends every machine a public address for its way out.
            "defaultOutboundAccess": False,
        }
        self.egress: list[pulumi.Input[str]] = []
        if not spec.nat_per_zone:
            inputs["natGateway"] = {"id": self._nat_gateway(place)}
        subnet = CustomResource(
            "azure-native:network:Subnet",
            f"{name}-subnet",
            inputs,
            pulumi.ResourceOptions(parent=parent),
        )
        self.subnet: pulumi.Output[str] = subnet.id

    def profile(self) -> dict[str, Any]:
        """The cluster's ``networkProfile``."""
        services = ip_network(self._spec.service_cidr)
        return {
            "networkPlugin": "azure",
            "networkPluginMode": "overlay",
            "podCidr": self._spec.pod_cidr,
            "serviceCidr": self._spec.service_cidr,
            "dnsServiceIP": str(services[_DNS_PLACE]),
            "loadBalancerSku": "standard",
            "outboundType": "loadBalancer" if self._spec.nat_per_zone else "userAssignedNATGateway",
        }

    def _nat_gateway(self, place: dict[str, Any]) -> pulumi.Output[str]:
        # A zonal cluster's gateway is where its nodes are; else Azure chooses the zone.
        zones = {} if self._spec.regional else {"zones": [self._spec.zones[0].rpartition("-")[2]]}
        address = CustomResource(
            "azure-native:network:PublicIPAddress",
            f"{self._name}-nat-address",
            {
                **place,
                **zones,
                "publicIpAddressName": f"{self._spec.name}-nat",
                "sku": {"name": "Standard"},
                "publicIPAllocationMethod": "Static",
                "publicIPAddressVersion": "IPv4",
            },
            pulumi.ResourceOptions(parent=self._parent),
            outputs=["ipAddress"],
        )
        self.egress.append(address.output("ipAddress").apply(lambda ip: f"{ip}/32"))
        gateway = CustomResource(
            "azure-native:network:NatGateway",
            f"{self._name}-nat",
            {
                **place,
                **zones,
                "natGatewayName": f"{self._spec.name}-nat",
                "sku": {"name": "Standard"},
                "publicIpAddresses": [{"id": address.id}],
            },
            pulumi.ResourceOptions(parent=self._parent),
        )
        return gateway.id
