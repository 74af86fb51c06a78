"""Networks, subnetworks, routers, NATs, firewall rules and addresses.

Replacement and defaults: the provider's resource definitions,
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/products/compute
"""

from __future__ import annotations

import ipaddress
import re
import zlib
from itertools import islice
from typing import Final

from typing_extensions import override

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import Record, SimulatedCloud, last_part
from rehearsal.providers.gke.cloud import SELF_LINK, TABLE, bad_request, region_of, unknown_region
from rehearsal.providers.resource import Pending

NETWORK: Final = "gcp:compute/network:Network"
SUBNETWORK: Final = "gcp:compute/subnetwork:Subnetwork"
ROUTER: Final = "gcp:compute/router:Router"
NAT: Final = "gcp:compute/routerNat:RouterNat"
_AUTO_MODE: Final = ipaddress.ip_network("10.128.0.0/9")
POLICY: Final = "gcp:compute/resourcePolicy:ResourcePolicy"


_DEFAULT_NETWORK: Final = re.compile(r"projects/(?P<project>[^/]+)/global/networks/default")
_DEFAULT_SUBNETWORK: Final = re.compile(r"projects/(?P<project>[^/]+)/regions/(?P<region>[^/]+)/subnetworks/default")


class Project(SimulatedCloud):
    """A project, which has the network ``default`` from its start, with a subnetwork in each region
    (https://docs.cloud.google.com/vpc/docs/vpc#default-network; an organisation's policy can forbid it). Nobody made
    it, so it is not in the inventory.
    """

    @override
    def find(self, id: str, type: str) -> Record | None:
        return super().find(id, type) or self._default(id, type)

    def _default(self, id: str, type: str) -> Record | None:
        if type == NETWORK and (network := _DEFAULT_NETWORK.fullmatch(id)):
            inputs = {"project": network["project"], "name": "default", "autoCreateSubnetworks": True}
            return Record(id, type, inputs, {"selfLink": SELF_LINK + id})
        subnetwork = _DEFAULT_SUBNETWORK.fullmatch(id) if type == SUBNETWORK else None
        if subnetwork is None or subnetwork["region"] not in self.catalog.regions:
            return None
        project, region = subnetwork["project"], subnetwork["region"]
        # Of 10.128.0.0/9, as in every auto-mode network; which region has which part is not Google's order.
        part = next(islice(_AUTO_MODE.subnets(new_prefix=20), sorted(self.catalog.regions).index(region), None))
        network = f"projects/{project}/global/networks/default"
        inputs = {
            "project": project,
            "region": region,
            "name": "default",
            "network": network,
            "ipCidrRange": str(part),
            # GKE turns it on when it makes a private cluster, and no program turns it off.
            "privateIpGoogleAccess": True,
        }
        return Record(id, type, inputs, {"network": SELF_LINK + network, "selfLink": SELF_LINK + id})


def network_of(cloud: SimulatedCloud, inputs: Properties) -> Record:
    """The network that ``inputs`` name, after its lookup."""
    return _existing(cloud, NETWORK, _linked(inputs["network"], f"projects/{inputs['project']}/global/networks"))


def subnetwork_of(cloud: SimulatedCloud, inputs: Properties) -> Record:
    """The subnetwork that a cluster's inputs name, after its lookup."""
    region = region_of(inputs["location"])
    folder = f"projects/{inputs['project']}/regions/{region}/subnetworks"
    return _existing(cloud, SUBNETWORK, _linked(inputs["subnetwork"], folder))


def _linked(value: str, folder: str) -> str:
    """The path of a resource from its name in ``folder``, or from its link, which may be into another project."""
    path = value.removeprefix(SELF_LINK)
    return path if path.startswith("projects/") else f"{folder}/{last_part(value)}"


def _existing(cloud: SimulatedCloud, type: str, path: str) -> Record:
    record = cloud.find(path, type)
    if record is None:
        raise ValueError(f"{path} was looked up before")
    return record


def _network_link(pending: Pending[SimulatedCloud]) -> str:
    return SELF_LINK + network_of(pending.cloud, pending.inputs).id


def _of_this_project(pending: Pending[SimulatedCloud]) -> None:
    """400 for a network of another project, in Google's words: https://github.com/tranquilitybase-io/tb-gcp/pull/507."""
    network = network_of(pending.cloud, pending.inputs).id
    if not network.startswith(f"projects/{pending.inputs['project']}/"):
        refused = f"Invalid value for field 'resource.network': '{SELF_LINK}{network}'."
        raise bad_request(f"{refused} Cross-project references for this resource are not allowed.")


def _number(pending: Pending[SimulatedCloud]) -> str:
    """A stable number for a path, as the API gives every resource one."""
    return str(zlib.crc32(pending.id.encode()))


def _apart_from_others(pending: Pending[SimulatedCloud]) -> None:
    _of_this_project(pending)
    network = network_of(pending.cloud, pending.inputs)
    mine = {text: ipaddress.ip_network(text) for text in subnetwork_ranges(pending.inputs)}
    for other in pending.cloud.store.all(SUBNETWORK):
        if other.id == pending.id or other.outputs["network"] != SELF_LINK + network.id:
            continue
        for theirs in subnetwork_ranges(other.inputs):
            for text, range_ in mine.items():
                if range_.overlaps(ipaddress.ip_network(theirs)):
                    raise bad_request(
                        f"Invalid IPCidrRange: {text} conflicts with existing subnetwork "
                        f"'{other.inputs['name']}' ({theirs}) in network '{network.inputs['name']}'"
                    )


def _keeps_ranges_in_use(pending: Pending[SimulatedCloud]) -> None:
    """400 for another secondary range that a cluster uses: https://github.com/hashicorp/terraform-provider-google/issues/7474."""
    _apart_from_others(pending)
    if pending.before is None:
        return
    after = _secondary(pending.inputs)
    changed = {name for name, range_ in _secondary(pending.before.inputs).items() if after.get(name) != range_}
    for cluster in pending.cloud.store.all("gcp:container/cluster:Cluster"):
        used = cluster.inputs.get("ipAllocationPolicy") or {}
        in_use = {used.get("clusterSecondaryRangeName"), used.get("servicesSecondaryRangeName")} & changed
        if in_use and subnetwork_of(pending.cloud, cluster.inputs).id == pending.id:
            what = f"The secondary range '{min(map(str, in_use))}' of '{pending.inputs['name']}'"
            raise bad_request(f"{what} cannot be changed: it is in use by the cluster '{cluster.inputs['name']}'")


def _secondary(inputs: Properties) -> dict[str, str]:
    return {each["rangeName"]: each.get("ipCidrRange") for each in inputs.get("secondaryIpRanges") or []}


def _address(pending: Pending[SimulatedCloud]) -> str:
    # 203.0.113.0/24 is reserved for documentation (RFC 5737): no real host answers there.
    return pending.inputs.get("address") or f"203.0.113.{int(_number(pending)) % 254 + 1}"


def _does_not_grow(inputs: Properties, news: Properties) -> bool:
    old, new = inputs.get("ipCidrRange"), news.get("ipCidrRange")
    if not isinstance(old, str) or not isinstance(new, str):
        return True
    before, after = ipaddress.ip_network(old, strict=False), ipaddress.ip_network(new, strict=False)
    return before.version != after.version or not after.supernet_of(before)  # type: ignore[arg-type]


def subnetwork_ranges(inputs: Properties) -> list[str]:
    """The primary and all secondary IPv4 ranges of a subnetwork's inputs."""
    secondary = [entry.get("ipCidrRange") for entry in inputs.get("secondaryIpRanges") or []]
    return [text for text in (inputs.get("ipCidrRange"), *secondary) if text]


@TABLE.check("subnetwork", "subnet-secondary-given")
def _secondary_given(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    for entry in inputs.get("secondaryIpRanges") or []:
        if not entry.get("ipCidrRange") and not entry.get("reservedInternalRange"):
            return f"Required field 'resource.secondaryIpRanges.ipCidrRange' not specified: {entry.get('rangeName')}"
    return None


@TABLE.check("subnetwork", "subnet-ranges-disjoint")
def _ranges_disjoint(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    ranges = [(text, ipaddress.ip_network(text, strict=False)) for text in subnetwork_ranges(inputs)]
    for index, (one, range_) in enumerate(ranges):
        for other, known in ranges[index + 1 :]:
            if range_.overlaps(known):
                return f"Invalid IPCidrRange: {other} overlaps {one} in the same subnetwork."
    return None


@TABLE.check("subnetwork", "subnet-region")
def _region(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    return unknown_region(cloud, inputs.get("region") or cloud.default("region"))


ROWS: Final = (
    TABLE.row(NETWORK, outputs={"networkId": _number, "numericId": _number}),
    TABLE.row(
        SUBNETWORK,
        outputs={
            "network": _network_link,
            "gatewayAddress": lambda pending: str(ipaddress.ip_network(pending.inputs["ipCidrRange"])[1]),
            "subnetworkId": lambda pending: int(_number(pending)),
        },
        requires=_keeps_ranges_in_use,
        # The primary range may grow in place.
        replaces_if={"ipCidrRange": _does_not_grow},
    ),
    TABLE.row(ROUTER, outputs={"network": _network_link}, requires=_of_this_project),
    TABLE.row("gcp:compute/firewall:Firewall", outputs={"network": _network_link}, requires=_of_this_project),
    TABLE.row("gcp:compute/address:Address", outputs={"address": _address}),
)
