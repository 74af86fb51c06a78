"""What AKS refuses in the way from its nodes to the internet."""

from __future__ import annotations

import ipaddress

from rehearsal.providers.aks.cloud import Subscription, require
from rehearsal.providers.aks.cluster_rules import inline_pools
from rehearsal.providers.aks.errors import bad_request
from rehearsal.providers.aks.network import ADDRESS, NAT, ROUTE_TABLE, SUBNET
from rehearsal.providers.base import Properties
from rehearsal.providers.values import at


def require_nat(cloud: Subscription, inputs: Properties) -> None:
    """400 if nodes that leave by NAT gateways have none, or none by which they reach their control plane."""
    if at(inputs, "networkProfile.outboundType") != "userAssignedNATGateway":
        return
    for pool in inline_pools(inputs):
        subnet = require(cloud, pool["vnetSubnetID"], SUBNET)
        if not at(subnet.inputs, "natGateway.id"):
            raise bad_request(f"outboundType userAssignedNATGateway: subnet {subnet.id} has no NAT gateway.")
        _require_way_back(cloud, inputs, at(subnet.inputs, "natGateway.id"))


def require_default_route(cloud: Subscription, inputs: Properties) -> None:
    """400 if nodes that leave by the subnet's route table have no firewall or gateway there.

    The words: https://github.com/MicrosoftDocs/azure-docs/issues/108240,
    https://github.com/hashicorp/terraform-provider-azurerm/issues/8609.
    """
    if at(inputs, "networkProfile.outboundType") != "userDefinedRouting":
        return
    for pool in inline_pools(inputs):
        subnet = require(cloud, pool["vnetSubnetID"], SUBNET)
        table = at(subnet.inputs, "routeTable.id")
        if not table:
            raise bad_request(
                f"An existing route table has not been associated with subnet {subnet.id}.",
                "ExistingRouteTableNotAssociatedWithSubnet",
            )
        routes = require(cloud, table, ROUTE_TABLE).inputs.get("routes") or []
        hops = [route["nextHopType"] for route in routes if route.get("addressPrefix") == "0.0.0.0/0"]
        if not hops:
            raise bad_request(
                f"Default route 0.0.0.0/0 missing from route table {table}", "RouteTableMissingDefaultRouteError"
            )
        if hops[0] not in ("VirtualAppliance", "VirtualNetworkGateway"):
            raise bad_request(
                f"Default route 0.0.0.0/0 has a next hop of {hops[0]} but only next hops of VirtualAppliance or "
                "VirtualNetworkGateway are allowed. Please see http://aka.ms/aks/outboundtype for more details",
                "RouteTableInvalidNextHop",
            )


def _require_way_back(cloud: Subscription, inputs: Properties, gateway: str) -> None:
    """400 if the control plane's ranges leave out the address that its nodes come from.

    https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/error-code-k8sapiserverconnfailvmextensionerror
    """
    ranges = at(inputs, "apiServerAccessProfile.authorizedIPRanges") or []
    networks = [ipaddress.ip_network(text) for text in ranges]
    nat = require(cloud, gateway, NAT).inputs
    if not any(nat.get(key) for key in ("publicIpAddresses", "publicIpPrefixes", "publicIpAddressesV6")):
        # https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/vmextensionerror-outboundconnfail
        raise bad_request(
            f"Agents are unable to establish outbound connection: NAT gateway {gateway} has no public address.",
            "VMExtensionError_OutboundConnFail",
        )
    for each in nat.get("publicIpAddresses") or []:
        address = ipaddress.ip_address(require(cloud, each["id"], ADDRESS).outputs["ipAddress"])
        if networks and not any(address in network for network in networks):
            raise bad_request(
                "Unable to establish connection from agents to Kubernetes API server: authorizedIPRanges leave out "
                f"{address}, the nodes' own.",
                "K8SAPIServerConnFailVMExtensionError",
            )
