"""The provider's functions: who the project is, versions and zones, clusters and subnetworks that exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke import cloud as google
from rehearsal.providers.gke import cluster, node_pool, rules
from rehearsal.providers.gke.network import SUBNETWORK


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
        "number": google.project_number(project),
        "orgId": "",
        "projectId": project,
        "pulumiLabels": {},
        "tags": {},
    }


def get_engine_versions(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``container.getEngineVersions``: the one version that runs here, for every channel."""
    location = args.get("location") or cloud.default("zone") or cloud.default("region") or ""
    if google.region_of(location) not in cloud.catalog.regions:
        raise google.bad_request(f'Location "{location}" is not known to this rehearsal.')
    prefix = args.get("versionPrefix") or ""
    offered = [rules.VERSION] if rules.VERSION.startswith(prefix) else []
    channels = dict.fromkeys(rules.CHANNELS, rules.VERSION)
    return {
        "defaultClusterVersion": rules.VERSION,
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
    if (problem := google.unknown_region(cloud, region)) is not None:
        raise google.bad_request(problem)
    project = args.get("project") or cloud.default("project")
    up = args.get("status") in (None, "", "UP")
    names = sorted(cloud.catalog.regions[region]) if up else []
    return {"id": f"projects/{project}/regions/{region}", "names": names, "project": project, "region": region}


def get_subnetwork(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``compute.getSubnetwork``: a subnetwork by name, of any project that one may look into."""
    place = {key: args.get(key) or cloud.default(key) for key in ("project", "region")}
    id = f"projects/{place['project']}/regions/{place['region']}/subnetworks/{args.get('name')}"
    record = cloud.find(id, SUBNETWORK)
    if record is None:
        raise google.not_found(f"The resource '{id}' was not found")
    return {"privateIpGoogleAccess": False, "secondaryIpRanges": [], **record.state, "id": id}


def get_cluster(cloud: SimulatedCloud, args: Properties) -> Properties:
    """``container.getCluster``: a cluster by name and location, with all its pools, whoever declared them.

    One that is not there: ``d.SetId("")`` and then ``fmt.Errorf("%s not found", id)``, as in
    https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/data_source_google_container_cluster.go
    """
    project = args.get("project") or cloud.default("project")
    location = args.get("location") or cloud.default("zone") or cloud.default("region")
    id = f"projects/{project}/locations/{location}/clusters/{args.get('name')}"
    record = cloud.find(id, cluster.CLUSTER)
    if record is None:
        raise ProviderError(f"{id} not found")
    pools = [node_pool.as_answered(each).state for each in node_pool.pools_of(cloud, id)]
    own = ("cluster", "deletionPolicy", "id", "location", "operation", "project")
    listed = [{key: value for key, value in pool.items() if key not in own} for pool in pools]
    return {"workloadIdentityConfigs": [], **_as_lists({**record.state, "nodePools": listed}), "id": id}


_MAPS: Final = frozenset({"effectiveLabels", "labels", "metadata", "pulumiLabels", "resourceLabels"})
"""Blocks that are maps of the user's own keys; a function has every other one as a list, in the plural."""


def _as_lists(state: Properties) -> Properties:
    """A resource's state as the provider's function of the same name has it."""
    result: Properties = {}
    for key, value in state.items():
        if isinstance(value, dict) and key not in _MAPS:
            result[_plural(key)] = [_as_lists(value)]
        elif isinstance(value, list):
            result[key] = [_as_lists(each) if isinstance(each, dict) else each for each in value]
        else:
            result[key] = value
    return result


def _plural(name: str) -> str:
    if name.endswith(("us", "ss")):
        return f"{name}es"
    if name.endswith("s"):
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


FUNCTIONS: Final[Mapping[str, Callable[[SimulatedCloud, Properties], Properties]]] = {
    "gcp:organizations/getProject:getProject": get_project,
    "gcp:container/getCluster:getCluster": get_cluster,
    "gcp:container/getEngineVersions:getEngineVersions": get_engine_versions,
    "gcp:compute/getSubnetwork:getSubnetwork": get_subnetwork,
    "gcp:compute/getZones:getZones": get_zones,
}
