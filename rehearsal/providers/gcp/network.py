"""Networks, subnetworks, routers, NATs, firewall rules and addresses."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from typing_extensions import override

from rehearsal.providers.base import Diff, Properties
from rehearsal.providers.differences import same_resource
from rehearsal.providers.gcp.cloud import Cloud, last_part
from rehearsal.providers.gcp.errors import bad_request, not_found
from rehearsal.providers.gcp.kind import Kind
from rehearsal.providers.gcp.rules import Rules
from rehearsal.providers.gcp.tables import compute
from rehearsal.providers.store import Record

CLUSTER: Final = "gcp:container/cluster:Cluster"
SELF_LINK: Final = "https://www.googleapis.com/compute/v1/"
CREATED: Final = "2026-11-01T00:00:00.000-07:00"

SUBNETWORK_RULES: Final = Rules()
RANGES_SOURCE: Final = "https://cloud.google.com/vpc/docs/subnets#valid-ranges"


def require_network(cloud: Cloud, project: str, link: str) -> Record:
    """The network that ``link`` (name, path or URL) means; 404 if there is none."""
    return _find(cloud, NetworkKind.token, f"projects/{project}/global/networks/{last_part(link)}", link)


def require_subnetwork(cloud: Cloud, project: str, region: str, link: str) -> Record:
    """The subnetwork that ``link`` means in ``region``; 404 if there is none."""
    path = f"projects/{project}/regions/{region}/subnetworks/{last_part(link)}"
    return _find(cloud, SubnetworkKind.token, path, link)


def _find(cloud: Cloud, token: str, path: str, link: str) -> Record:
    record = cloud.store.get(path)
    # A link into another project or region means another resource, even if the last part is the same.
    if record is None or record.type != token or not same_resource(link, SELF_LINK + path):
        raise not_found(f"The resource '{path if '/' not in link else link.removeprefix(SELF_LINK)}' was not found")
    return record


class RegionalKind(Kind):
    """A resource that lives in one region."""

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        region = inputs.get("region") or cloud.default("region")
        return {**super().complete(cloud, inputs), "region": region}


class NetworkKind(Kind):
    """``gcp:compute/network:Network``. Subnetworks of auto mode are not made."""

    token = "gcp:compute/network:Network"
    shape = compute.NETWORK
    computed = ("selfLink", "networkId", "numericId", "gatewayIpv4")

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/global/networks/{inputs['name']}"

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        number = _number(self.path(inputs))
        return {"selfLink": SELF_LINK + self.path(inputs), "networkId": number, "numericId": number, "gatewayIpv4": ""}

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        return next(_users_of_network(cloud, record), None)


class SubnetworkKind(RegionalKind):
    """``gcp:compute/subnetwork:Subnetwork``; its primary range may grow in place."""

    token = "gcp:compute/subnetwork:Subnetwork"
    shape = compute.SUBNETWORK
    rules = SUBNETWORK_RULES.rules
    computed = ("selfLink", "gatewayAddress", "creationTimestamp", "fingerprint", "subnetworkId")

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/regions/{inputs['region']}/subnetworks/{inputs['name']}"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        network = require_network(cloud, inputs["project"], inputs["network"])
        mine = {text: ipaddress.ip_network(text) for text in subnetwork_ranges(inputs)}
        for other in cloud.store.all(self.token):
            if other.id == self.path(inputs) or other.outputs["network"] != SELF_LINK + network.id:
                continue
            for theirs in subnetwork_ranges(other.inputs):
                for text, range_ in mine.items():
                    if range_.overlaps(ipaddress.ip_network(theirs)):
                        raise bad_request(
                            f"Invalid IPCidrRange: {text} conflicts with existing subnetwork "
                            f"'{other.inputs['name']}' ({theirs}) in network '{network.inputs['name']}'"
                        )

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        path = self.path(inputs)
        network = require_network(cloud, inputs["project"], inputs["network"])
        return {
            "selfLink": SELF_LINK + path,
            "network": SELF_LINK + network.id,
            "gatewayAddress": str(ipaddress.ip_network(inputs["ipCidrRange"])[1]),
            "creationTimestamp": CREATED,
            "fingerprint": "",
            "subnetworkId": int(_number(path)),
        }

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        clusters = cloud.store.all(CLUSTER)
        return next((c.id for c in clusters if c.outputs.get("subnetwork") == record.id), None)

    @override
    def diff(self, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
        found = super().diff(old, new, ignored)
        if "ipCidrRange" in found.changes and not _grows(old.get("ipCidrRange"), new.get("ipCidrRange")):
            return replace(found, replaces=(*found.replaces, "ipCidrRange"))
        return found


class InNetworkKind(Kind):
    """What belongs to one network and names it in its outputs."""

    computed = ("selfLink", "creationTimestamp")

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        require_network(cloud, inputs["project"], inputs["network"])

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        network = require_network(cloud, inputs["project"], inputs["network"])
        link = SELF_LINK + self.path(inputs)
        return {"selfLink": link, "network": SELF_LINK + network.id, "creationTimestamp": CREATED}


class RouterKind(InNetworkKind, RegionalKind):
    """``gcp:compute/router:Router``."""

    token = "gcp:compute/router:Router"
    shape = compute.ROUTER

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/regions/{inputs['region']}/routers/{inputs['name']}"

    @override
    def delete(self, cloud: Cloud, id: str) -> None:
        # NATs are parts of their router in the API, so they go with it.
        record = cloud.store.get(id)
        super().delete(cloud, id)
        for nat in cloud.store.all(RouterNatKind.token):
            if record and RouterNatKind.router_path(nat.inputs) == id:
                cloud.store.remove(nat.id)


class RouterNatKind(RegionalKind):
    """``gcp:compute/routerNat:RouterNat``, in the API a part of its router."""

    token = "gcp:compute/routerNat:RouterNat"
    shape = compute.ROUTER_NAT

    @override
    def path(self, inputs: Properties) -> str:
        return f"{inputs['project']}/{inputs['region']}/{last_part(inputs['router'])}/{inputs['name']}"

    @staticmethod
    def router_path(inputs: Properties) -> str:
        """The path of the router that the NAT is part of."""
        return f"projects/{inputs['project']}/regions/{inputs['region']}/routers/{last_part(inputs['router'])}"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        _find(cloud, RouterKind.token, self.router_path(inputs), inputs["router"])
        for subnetwork in inputs.get("subnetworks") or []:
            require_subnetwork(cloud, inputs["project"], inputs["region"], subnetwork["name"])


class FirewallKind(InNetworkKind):
    """``gcp:compute/firewall:Firewall``."""

    token = "gcp:compute/firewall:Firewall"
    shape = compute.FIREWALL

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/global/firewalls/{inputs['name']}"


class AddressKind(RegionalKind):
    """``gcp:compute/address:Address``."""

    token = "gcp:compute/address:Address"
    shape = compute.ADDRESS
    computed = ("selfLink", "creationTimestamp", "address")

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/regions/{inputs['region']}/addresses/{inputs['name']}"

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        # 203.0.113.0/24 is reserved for documentation (RFC 5737): no real host answers there.
        address = inputs.get("address") or f"203.0.113.{int(_number(self.path(inputs))) % 254 + 1}"
        return {"selfLink": SELF_LINK + self.path(inputs), "address": address, "creationTimestamp": CREATED}


def subnetwork_ranges(inputs: Properties) -> list[str]:
    """The primary and all secondary IPv4 ranges of a subnetwork's inputs."""
    secondary = [entry.get("ipCidrRange") for entry in inputs.get("secondaryIpRanges") or []]
    return [text for text in (inputs.get("ipCidrRange"), *secondary) if text]


@SUBNETWORK_RULES.add("subnet-range-valid", RANGES_SOURCE, "ipCidrRange", "secondaryIpRanges")
def _range_valid(inputs: Properties, cloud: Cloud) -> str | None:
    for text in subnetwork_ranges(inputs):
        try:
            size = ipaddress.ip_network(text).prefixlen
        except ValueError as error:
            return f"Invalid value for field 'resource.ipCidrRange': '{text}'. {error}"
        if not 4 <= size <= 29:
            return f"Invalid value for field 'resource.ipCidrRange': '{text}'. The mask must be /4 to /29."
    return None


@SUBNETWORK_RULES.add("subnet-ranges-disjoint", RANGES_SOURCE, "ipCidrRange", "secondaryIpRanges")
def _ranges_disjoint(inputs: Properties, cloud: Cloud) -> str | None:
    ranges = [(text, ipaddress.ip_network(text, strict=False)) for text in subnetwork_ranges(inputs)]
    for index, (one, range_) in enumerate(ranges):
        for other, known in ranges[index + 1 :]:
            if range_.overlaps(known):
                return f"Invalid IPCidrRange: {other} overlaps {one} in the same subnetwork."
    return None


def _users_of_network(cloud: Cloud, network: Record) -> Iterator[str]:
    link = SELF_LINK + network.id
    for kind in (SubnetworkKind, RouterKind, FirewallKind):
        yield from (r.id for r in cloud.store.all(kind.token) if r.outputs.get("network") == link)
    yield from (r.id for r in cloud.store.all(CLUSTER) if r.outputs.get("network") == network.id)


def _grows(old: object, new: object) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    before, after = ipaddress.ip_network(old, strict=False), ipaddress.ip_network(new, strict=False)
    return before.version == after.version and after.supernet_of(before)  # type: ignore[arg-type]


def _number(path: str) -> str:
    """A stable number for a path, as the API gives every resource one."""
    return str(zlib.crc32(path.encode()))
