"""What GKE refuses in a cluster, one rule per reason."""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import Final

from facts.catalog.gke.networks import PRIVATE_RANGES
from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke import versions
from rehearsal.providers.gke.cloud import TABLE, is_zone, region_of
from rehearsal.providers.values import at

KEY: Final = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_DAYS: Final = frozenset(("MO", "TU", "WE", "TH", "FR", "SA", "SU"))  # RFC 5545, section 3.3.10
RANGE_BLOCKS: Final = (
    "ipAllocationPolicy.clusterIpv4CidrBlock",
    "ipAllocationPolicy.servicesIpv4CidrBlock",
    "privateClusterConfig.masterIpv4CidrBlock",
)


def cluster_zones(cluster: Properties, cloud: SimulatedCloud) -> tuple[str, ...]:
    """Zones of a cluster's nodes: its own and the further ones of a zonal cluster, the region's of a regional one.

    A regional cluster without ``nodeLocations`` uses three zones of its region:
    https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters
    """
    location, further = cluster["location"], tuple(cluster.get("nodeLocations") or ())
    if is_zone(location):
        return tuple(sorted({location, *further}))
    return tuple(sorted(further)) or cloud.catalog.regions.get(location, ())[:3]


@TABLE.check("cluster", "cluster-location")
def _location(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    location = cluster.get("location")
    if not location:
        return "Cannot determine location: set location, or region or zone in the provider's configuration."
    zones = cloud.catalog.regions.get(region_of(location))
    if zones is None or (is_zone(location) and location not in zones):
        return f'Location "{location}" is not known to this rehearsal.'
    return None


@TABLE.check("cluster", "node-locations-in-region")
def _node_locations(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    location = cluster.get("location") or ""
    return zones_outside(region_of(location), cluster.get("nodeLocations") or [], cloud)


@TABLE.check("cluster", "version-offered")
def _version(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    version = cluster.get("minMasterVersion")
    if versions.resolve(version):
        return None
    return (
        f'Master version "{version}" is unsupported, or newer than this rehearsal knows '
        f"(it runs {versions.VERSION} and takes 1.{versions.MINORS[0]} to 1.{versions.MINORS[-1]})."
    )


@TABLE.check("cluster", "version-in-channel")
def _extended(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    version, channel = cluster.get("minMasterVersion"), at(cluster, "releaseChannel.channel")
    if channel == "EXTENDED" or not versions.extended_only(version):
        return None
    return f'Master version "{version}" is in extended support: it is available in the Extended channel only.'


@TABLE.check("cluster", "cluster-ranges-valid")
def _ranges(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    earlier: list[tuple[str, ipaddress.IPv4Network | ipaddress.IPv6Network]] = []
    for text in filter(None, (at(cluster, path) for path in RANGE_BLOCKS)):
        if text.startswith("/"):  # Google chooses
            continue
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            return f"Invalid CIDR block '{text}': {error}."
        for other, known in earlier:
            if network.overlaps(known):
                return f"Requested CIDR {text} overlaps with {other}."
        earlier.append((text, network))
    return None


@TABLE.check("cluster", "encryption-key")
def _encryption(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    encryption = cluster.get("databaseEncryption") or {}
    if encryption.get("state") != "ENCRYPTED":
        return None
    key, region = encryption.get("keyName") or "", region_of(cluster.get("location") or "")
    match = KEY.fullmatch(key)
    if match is None:
        form = "projects/P/locations/L/keyRings/R/cryptoKeys/K"
        return f"Invalid database_encryption.key_name '{key}': use {form}."
    if match[1] != region:
        return f"database_encryption.key_name is in location '{match[1]}'; the cluster needs a key in '{region}'."
    return None


@TABLE.check("cluster", "private-endpoint-reserved-networks")
def _reserved_networks(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if not at(cluster, "privateClusterConfig.enablePrivateEndpoint"):
        return None
    for block in at(cluster, "masterAuthorizedNetworksConfig.cidrBlocks") or []:
        network = ipaddress.ip_network(block["cidrBlock"])
        if not any(network.version == 4 and network.subnet_of(reserved) for reserved in PRIVATE_RANGES):
            return (
                f'Invalid master authorized networks: network "{block["cidrBlock"]}" is not a reserved network, '
                "which is required for private endpoints."
            )
    return None


@TABLE.check("cluster", "maintenance-availability")
def _availability(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    window = at(cluster, "maintenancePolicy.recurringWindow")
    if window is None:
        return None
    try:
        start, end = (datetime.fromisoformat(window[key].replace("Z", "+00:00")) for key in ("startTime", "endTime"))
    except ValueError as error:
        return f"Invalid recurring maintenance window: {error}."
    parts = dict(part.partition("=")[::2] for part in window["recurrence"].split(";"))
    days = (parts.get("BYDAY") or "MO").split(",")
    opened = {"DAILY": 32, "WEEKLY": 32 // 7 * len(days)}.get(parts.get("FREQ", ""))
    hours = (end - start).total_seconds() / 3600
    if hours <= 0 or opened is None or not _DAYS.issuperset(days):
        return f"Invalid recurring maintenance window: from {start} to {end}, {window['recurrence']}."
    if hours >= 4 and opened * hours >= 48:
        return None
    return (
        "Error validating maintenance policy: maintenance policy would go longer than 32d without 48h maintenance "
        "availability of >=4h contiguous duration."
    )


@TABLE.check("cluster", "maintenance-exclusions-limited")
def _exclusions(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    whole = [
        each
        for each in at(cluster, "maintenancePolicy.maintenanceExclusions") or []
        if each.get("endTime") and at(each, "exclusionOptions.scope") in (None, "NO_UPGRADES")
    ]
    if len(whole) > 3:
        return f"{len(whole)} maintenance exclusions of scope NO_UPGRADES; at most 3 are allowed."
    for each in whole:
        start, end = (datetime.fromisoformat(each[key].replace("Z", "+00:00")) for key in ("startTime", "endTime"))
        if not 0 < (end - start).total_seconds() <= 90 * 24 * 3600:
            return f"Maintenance exclusion '{each.get('exclusionName')}' of scope NO_UPGRADES: at most 90 days."
    return None


def zones_outside(region: str, zones: list[str], cloud: SimulatedCloud) -> str | None:
    """The error in ``zones`` as node locations of ``region``; ``None`` if they are valid."""
    for zone in zones:
        if zone not in cloud.catalog.regions.get(region, ()):
            return f'Node location "{zone}" is not a zone of region "{region}" that this rehearsal knows.'
    return None
