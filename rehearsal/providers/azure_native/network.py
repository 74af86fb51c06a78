"""Virtual networks, subnets, NAT gateways, public addresses, security groups and route tables."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from typing_extensions import override

from rehearsal.providers.azure_native.cloud import Cloud, identifier, last_part, same
from rehearsal.providers.azure_native.errors import bad_request
from rehearsal.providers.azure_native.kind import Kind, require
from rehearsal.providers.azure_native.rules import Rules
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

NETWORK: Final = "azure-native:network:VirtualNetwork"
SUBNET: Final = "azure-native:network:Subnet"
NAT: Final = "azure-native:network:NatGateway"
ADDRESS: Final = "azure-native:network:PublicIPAddress"
SECURITY_GROUP: Final = "azure-native:network:NetworkSecurityGroup"
ROUTE_TABLE: Final = "azure-native:network:RouteTable"
POOL: Final = "azure-native:containerservice:AgentPool"
CLUSTER: Final = "azure-native:containerservice:ManagedCluster"

API_VERSION: Final = "2024-05-01"
SUBNETS: Final = "https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq"
NAT_DOCS: Final = "https://learn.microsoft.com/azure/nat-gateway/nat-gateway-resource"
ADDRESS_DOCS: Final = "https://learn.microsoft.com/azure/virtual-network/ip-services/public-ip-addresses"

NETWORK_RULES: Final = Rules()
SUBNET_RULES: Final = Rules()
NAT_RULES: Final = Rules()
ADDRESS_RULES: Final = Rules()


def _shape(model: str, segments: tuple[tuple[str, str], ...], **more: Any) -> Shape:
    return Shape(
        package="network",
        model=model,
        api_version=API_VERSION,
        namespace="Microsoft.Network",
        segments=segments,
        **{"located": True, **more},
    )


class NetworkKind(Kind):
    """``azure-native:network:VirtualNetwork``. Subnets declared inside it are recorded like those of their own."""

    token = NETWORK
    shape = _shape("VirtualNetwork", (("virtualNetworks", "virtualNetworkName"),), required=("addressSpace",))
    rules = NETWORK_RULES.rules
    computed = ("resourceGuid", "etag")

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        return {"resourceGuid": identifier(self.id(cloud, inputs)), "etag": ""}

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        created = super().create(cloud, inputs)
        self._inline(cloud, inputs)
        return created

    @override
    def update(self, cloud: Cloud, id: str, inputs: Properties) -> Properties:
        network = self.existing(cloud, id)
        for subnet in subnets_of(cloud, network):
            _require_inside(subnet.inputs, inputs)
        state = super().update(cloud, id, inputs)
        self._inline(cloud, inputs)
        return state

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        return next((user for subnet in subnets_of(cloud, record) for user in pools_in(cloud, subnet.id)), None)

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        network = cloud.find(id, self.token)
        super().delete(cloud, id)
        for subnet in subnets_of(cloud, network) if network else ():
            cloud.store.remove(subnet.id)

    def _inline(self, cloud: Cloud, inputs: Properties) -> None:
        for subnet in inputs.get("subnets") or []:
            path = {key: inputs[key] for key in ("resourceGroupName", "virtualNetworkName")}
            whole = {**subnet, **path, "subnetName": subnet["name"]}
            kind = SubnetKind()
            kind.references(cloud, whole)
            cloud.store.put(kind.record(cloud, whole))


class SubnetKind(Kind):
    """``azure-native:network:Subnet``."""

    token = SUBNET
    shape = _shape(
        "Subnet",
        (("virtualNetworks", "virtualNetworkName"), ("subnets", "subnetName")),
        located=False,
        unordered=("serviceEndpoints",),
    )
    rules = SUBNET_RULES.rules
    computed = ("etag",)
    busy = "InUseSubnetCannotBeDeleted"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        super().references(cloud, inputs)
        me = self.id(cloud, inputs)
        network = require(cloud, me.rpartition("/subnets/")[0], NETWORK)
        _require_inside(inputs, network.inputs)
        for other in subnets_of(cloud, network):
            if same(other.id, me):
                continue
            for mine in prefixes(inputs):
                for theirs in prefixes(other.inputs):
                    if ipaddress.ip_network(mine).overlaps(ipaddress.ip_network(theirs)):
                        message = f"Subnet '{inputs['subnetName']}' is not valid because its IP address range overlaps "
                        raise bad_request(
                            f"{message}with that of subnet '{last_part(other.id)}' ({mine}, {theirs}).",
                            "NetcfgSubnetRangesOverlap",
                        )
        for key, token in (("natGateway", NAT), ("networkSecurityGroup", SECURITY_GROUP), ("routeTable", ROUTE_TABLE)):
            link = at(inputs, f"{key}.id")
            if link:
                require(cloud, link, token)

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        return {
            "etag": "",
            "privateEndpointNetworkPolicies": inputs.get("privateEndpointNetworkPolicies") or "Disabled",
            "privateLinkServiceNetworkPolicies": inputs.get("privateLinkServiceNetworkPolicies") or "Enabled",
        }

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        return next(pools_in(cloud, record.id), None)


class OnSubnetsKind(Kind):
    """What subnets name in one of their properties."""

    subnet_property: ClassVar[str]

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        for subnet in cloud.store.all(SUBNET):
            if same(at(subnet.inputs, f"{self.subnet_property}.id") or "", record.id):
                return subnet.id
        return None


class NatKind(OnSubnetsKind):
    """``azure-native:network:NatGateway``."""

    token = NAT
    shape = _shape("NatGateway", (("natGateways", "natGatewayName"),), fixed={"zones": [], "sku.name": "Standard"})
    rules = NAT_RULES.rules
    computed = ("resourceGuid", "etag")
    busy = "InUseNatGatewayCannotBeDeleted"
    subnet_property = "natGateway"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        super().references(cloud, inputs)
        for entry in inputs.get("publicIpAddresses") or []:
            address = require(cloud, entry["id"], ADDRESS)
            if at(address.inputs, "sku.name") != "Standard":
                raise bad_request(
                    f"NAT gateway '{inputs['natGatewayName']}' needs addresses of SKU Standard: {address.id} is Basic."
                )

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        return {"resourceGuid": identifier(self.id(cloud, inputs)), "etag": ""}


class AddressKind(Kind):
    """``azure-native:network:PublicIPAddress``."""

    token = ADDRESS
    shape = _shape(
        "PublicIPAddress",
        (("publicIPAddresses", "publicIpAddressName"),),
        own_replaces=("publicIPAddressVersion", "publicIPPrefix", "sku"),
        fixed={"zones": []},
    )
    rules = ADDRESS_RULES.rules
    computed = ("ipAddress", "resourceGuid", "etag")
    busy = "PublicIPAddressCannotBeDeleted"

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        id = self.id(cloud, inputs)
        # 203.0.113.0/24 is reserved for documentation (RFC 5737): no real host answers there.
        address = f"203.0.113.{zlib.crc32(id.lower().encode()) % 254 + 1}"
        return {"ipAddress": address, "resourceGuid": identifier(id), "etag": ""}

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        for gateway in cloud.store.all(NAT):
            if any(same(entry["id"], record.id) for entry in gateway.inputs.get("publicIpAddresses") or []):
                return gateway.id
        return None


class SecurityGroupKind(OnSubnetsKind):
    """``azure-native:network:NetworkSecurityGroup``; its rules change nothing here."""

    token = SECURITY_GROUP
    shape = _shape("NetworkSecurityGroup", (("networkSecurityGroups", "networkSecurityGroupName"),))
    busy = "InUseNetworkSecurityGroupCannotBeDeleted"
    subnet_property = "networkSecurityGroup"


class RouteTableKind(OnSubnetsKind):
    """``azure-native:network:RouteTable``; its routes change nothing here."""

    token = ROUTE_TABLE
    shape = _shape("RouteTable", (("routeTables", "routeTableName"),))
    busy = "InUseRouteTableCannotBeDeleted"
    subnet_property = "routeTable"


def prefixes(subnet: Properties) -> list[str]:
    """The IPv4 ranges of a subnet's inputs."""
    return [text for text in (subnet.get("addressPrefix"), *(subnet.get("addressPrefixes") or [])) if text]


def subnets_of(cloud: Cloud, network: Record) -> list[Record]:
    """A network's subnets, however they were declared."""
    start = f"{network.id.lower()}/subnets/"
    return [subnet for subnet in cloud.store.all(SUBNET) if subnet.id.lower().startswith(start)]


def pools_in(cloud: Cloud, subnet: str) -> Iterator[str]:
    """Ids of the pools whose nodes or pods have addresses of a subnet."""
    for pool in cloud.store.all(POOL):
        if any(same(pool.inputs.get(key) or "", subnet) for key in ("vnetSubnetID", "podSubnetID")):
            yield pool.id


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


@NETWORK_RULES.add("network-ranges-valid", SUBNETS, "addressSpace")
def _network_ranges(network: Properties, cloud: Cloud) -> str | None:
    ranges = at(network, "addressSpace.addressPrefixes") or []
    if not ranges and not at(network, "addressSpace.ipamPoolPrefixAllocations"):
        return "Virtual network must have at least one address prefix in addressSpace.addressPrefixes."
    return _range_problem(ranges, 2)


@SUBNET_RULES.add("subnet-range-valid", SUBNETS, "addressPrefix", "addressPrefixes")
def _subnet_range(subnet: Properties, cloud: Cloud) -> str | None:
    if not prefixes(subnet) and not subnet.get("ipamPoolPrefixAllocations"):
        return f"Subnet '{subnet['subnetName']}' needs an addressPrefix."
    return _range_problem(prefixes(subnet), 2)


@NAT_RULES.add("nat-one-zone", NAT_DOCS, "zones")
def _nat_zone(gateway: Properties, cloud: Cloud) -> str | None:
    if len(gateway.get("zones") or []) > 1:
        return "A NAT gateway of SKU Standard can be in one zone only: give one, or none for the cloud's choice."
    return None


@NAT_RULES.add("nat-needs-sku", NAT_DOCS, "sku")
def _nat_sku(gateway: Properties, cloud: Cloud) -> str | None:
    return None if at(gateway, "sku.name") else "A NAT gateway needs sku.name: write Standard."


@ADDRESS_RULES.add("standard-address-static", ADDRESS_DOCS, "sku", "publicIPAllocationMethod")
def _static(address: Properties, cloud: Cloud) -> str | None:
    if at(address, "sku.name") == "Standard" and address.get("publicIPAllocationMethod") != "Static":
        return "Standard sku publicIp must have AllocationMethod set to Static."
    return None


def _range_problem(ranges: list[str], widest: int) -> str | None:
    for text in ranges:
        try:
            size = ipaddress.ip_network(text).prefixlen
        except ValueError as error:
            return f"Address prefix {text} is not valid: {error}."
        if ":" not in text and not widest <= size <= 29:
            return f"Address prefix {text} is not valid: IPv4 ranges are /{widest} to /29."
    return None
