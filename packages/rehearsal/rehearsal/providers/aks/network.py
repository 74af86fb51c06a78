"""Virtual networks, subnets, NAT gateways, public addresses, security groups and route tables, and what AKS refuses in
the way from its nodes to the internet."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterator
from typing import Any, Final

from rehearsal.providers.aks.cloud import TABLE, Subscription, bad_request, identifier, require, same
from rehearsal.providers.aks.rules import inline_pools
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.resource import NestedResource, Pending, SimulatedResource
from rehearsal.providers.rules import ServerRule

NETWORK: Final = "azure-native:network:VirtualNetwork"
SUBNET: Final = "azure-native:network:Subnet"
NAT: Final = "azure-native:network:NatGateway"
ADDRESS: Final = "azure-native:network:PublicIPAddress"
ROUTE_TABLE: Final = "azure-native:network:RouteTable"


def _guid(pending: Pending[Subscription]) -> str:
    return identifier(pending.id)


def _inline_subnets(network: Properties) -> Iterator[NestedResource]:
    """Subnets declared inside a network are recorded like separate resources."""
    subnets: Any = network.get("subnets")
    for subnet in subnets if isinstance(subnets, list) else ():
        if isinstance(subnet, dict):
            path = {key: network.get(key) for key in ("resourceGroupName", "virtualNetworkName")}
            yield NestedResource(SUBNET, {**subnet, **path, "subnetName": subnet.get("name")})


def _holds_its_subnets(pending: Pending[Subscription]) -> None:
    for subnet in subnets_of(pending.cloud, pending.id):
        _require_inside(subnet.inputs, pending.inputs)


def _fits_its_network(pending: Pending[Subscription]) -> None:
    network = require(pending.cloud, pending.id.rpartition("/subnets/")[0], NETWORK)
    _require_inside(pending.inputs, network.inputs)
    for other in subnets_of(pending.cloud, network.id):
        if same(other.id, pending.id):
            continue
        for mine in prefixes(pending.inputs):
            for theirs in prefixes(other.inputs):
                if ipaddress.ip_network(mine).overlaps(ipaddress.ip_network(theirs)):
                    raise bad_request(
                        f"Subnet '{pending.inputs['subnetName']}' is not valid because its IP address range overlaps "
                        f"with that of subnet '{last_part(other.id)}' ({mine}, {theirs}).",
                        "NetcfgSubnetRangesOverlap",
                    )


def _standard_addresses(pending: Pending[Subscription]) -> None:
    for entry in pending.inputs.get("publicIpAddresses") or []:
        address = require(pending.cloud, entry["id"], ADDRESS)
        sku, its, version = (
            at(pending.inputs, "sku.name"),
            at(address.inputs, "sku.name"),
            at(address.inputs, "publicIPAddressVersion"),
        )
        name, region = pending.inputs["natGatewayName"], pending.inputs.get("location")
        if its != sku:
            raise bad_request(f"NAT gateway '{name}' needs addresses of SKU {sku}: {address.id} is {its}.")
        if sku == "Standard" and version == "IPv6":
            raise bad_request(f"NAT gateway '{name}' of SKU Standard needs IPv4 addresses: {address.id} is IPv6.")
        if address.inputs.get("location") != region:
            raise bad_request(f"NAT gateway '{name}' is in {region}: {address.id} is in another region.")


def _place(inputs: Properties, cloud: Subscription) -> str | None:
    region, zones = inputs.get("location"), cloud.catalog.regions
    if region is None:  # the provider takes the resource group's
        return None
    if region not in zones:
        return f"The provided location '{region}' is not available for this resource type in this rehearsal."
    wrong = [zone for zone in inputs.get("zones") or () if f"{region}-{zone}" not in zones[region]]
    return f"Availability zone '{wrong[0]}' is not supported in location '{region}'." if wrong else None


PLACE_OFFERED: Final = ServerRule(
    "place-offered", "https://learn.microsoft.com/azure/reliability/regions-list", ("location", "zones"), _place
)
"""Of every type that has a location: Azure offers it there, in these zones."""


def _address(pending: Pending[Subscription]) -> str:
    # 203.0.113.0/24 is reserved for documentation (RFC 5737): no real host answers there.
    return f"203.0.113.{zlib.crc32(pending.id.lower().encode()) % 254 + 1}"


def prefixes(subnet: Properties) -> list[str]:
    """The IPv4 ranges of a subnet's inputs."""
    return [text for text in (subnet.get("addressPrefix"), *(subnet.get("addressPrefixes") or [])) if text]


def subnets_of(cloud: Subscription, network: str) -> list[Record]:
    """A network's subnets, however they were declared."""
    start = f"{network.lower()}/subnets/"
    return [subnet for subnet in cloud.store.all(SUBNET) if subnet.id.lower().startswith(start)]


def _require_inside(subnet: Properties, network: Properties) -> None:
    space = [ipaddress.ip_network(text) for text in at(network, "addressSpace.addressPrefixes") or []]
    for text in prefixes(subnet):
        mine = ipaddress.ip_network(text)
        if not any(mine.version == each.version and mine.subnet_of(each) for each in space):  # type: ignore[arg-type]
            name = subnet.get("subnetName") or subnet.get("name")
            raise bad_request(
                f"Subnet '{name}' is not valid because its IP address range {text} is outside the IP address range of "
                f"virtual network '{network['virtualNetworkName']}'.",
                "NetcfgSubnetRangeOutsideVnet",
            )


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(NETWORK, outputs={"resourceGuid": _guid}, requires=_holds_its_subnets, nested=_inline_subnets),
    TABLE.row(SUBNET, requires=_fits_its_network),
    TABLE.row(NAT, outputs={"resourceGuid": _guid}, requires=_standard_addresses),
    TABLE.row(ADDRESS, outputs={"ipAddress": _address, "resourceGuid": _guid}),
)


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
