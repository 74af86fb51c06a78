"""The provider's data sources: who the project is, which versions and zones there are."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final

from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke import versions
from rehearsal.providers.gke.cloud import region_of
from rehearsal.providers.gke.errors import bad_request, not_found
from rehearsal.providers.gke.network import SUBNETWORK


def project_number(project: str) -> str:
    """A stable 12-digit number for a project id, as Google gives every project one."""
    return str(10**11 + zlib.crc32(project.encode()))


def get_project(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``organizations.getProject``: the named project, or the configured one."""
    project = args.get("projectId") or cloud.default("project")
    if not project:
        raise ProviderError("project: required field is not set; set gcp:project or give project_id")
    return {
        "autoCreateNetwork": True,
        "billingAccount": "",
        "deletionPolicy": "PREVENT",
        "effectiveLabels": {},
        "folderId": "",
        "id": f"projects/{project}",
        "labels": {},
        "name": project,
        "number": project_number(project),
        "orgId": "",
        "projectId": project,
        "pulumiLabels": {},
        "tags": {},
    }


def get_engine_versions(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``container.getEngineVersions``: the one version that runs here, for every channel."""
    location = args.get("location") or cloud.default("zone") or cloud.default("region") or ""
    if region_of(location) not in cloud.catalog.regions:
        raise bad_request(f'Location "{location}" is not known to this rehearsal.')
    prefix = args.get("versionPrefix") or ""
    offered = [versions.VERSION] if versions.VERSION.startswith(prefix) else []
    channels = dict.fromkeys(versions.CHANNELS, versions.VERSION)
    return {
        "defaultClusterVersion": versions.VERSION,
        "id": location,
        "latestMasterVersion": offered[0] if offered else "",
        "latestNodeVersion": offered[0] if offered else "",
        "location": location,
        "project": args.get("project") or cloud.default("project"),
        "releaseChannelDefaultVersion": channels,
        "releaseChannelLatestVersion": channels,
        "releaseChannelUpgradeTargetVersion": channels,
        "validMasterVersions": offered,
        "validNodeVersions": offered,
        "versionPrefix": prefix,
    }


def get_zones(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``compute.getZones``: the zones of a region; none are down."""
    region = args.get("region") or cloud.default("region") or ""
    zones = cloud.catalog.regions.get(region)
    if zones is None:
        raise bad_request(f"Invalid value for field 'region': '{region}'. Unknown region.")
    project = args.get("project") or cloud.default("project")
    up = args.get("status") in (None, "", "UP")
    names = sorted(zones) if up else []
    return {"id": f"projects/{project}/regions/{region}", "names": names, "project": project, "region": region}


def get_subnetwork(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``compute.getSubnetwork``: a subnetwork by name, of any project that one may look into."""
    place = {key: args.get(key) or cloud.default(key) for key in ("project", "region")}
    id = f"projects/{place['project']}/regions/{place['region']}/subnetworks/{args.get('name')}"
    record = cloud.find(id, SUBNETWORK)
    if record is None:
        raise not_found(f"The resource '{id}' was not found")
    return {"privateIpGoogleAccess": False, "secondaryIpRanges": [], **record.state, "id": id}


FUNCTIONS: Final[Mapping[str, Callable[[SimulatedCloud, Properties], Properties]]] = {
    "gcp:organizations/getProject:getProject": get_project,
    "gcp:container/getEngineVersions:getEngineVersions": get_engine_versions,
    "gcp:compute/getSubnetwork:getSubnetwork": get_subnetwork,
    "gcp:compute/getZones:getZones": get_zones,
}
