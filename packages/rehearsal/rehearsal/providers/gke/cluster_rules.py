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
from rehearsal.providers.gke.cloud import Rules, is_zone, region_of
from rehearsal.providers.gke.machine_rules import LABELING, bad_resource_label
from rehearsal.providers.values import at

CLUSTER_RULES: Final = Rules()

REST: Final = "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/projects.locations.clusters"
PRIVATE: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/private-cluster-concept"
VPC_NATIVE: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips"
AUTHORIZED: Final = "https://cloud.google.com/kubernetes-engine/docs/how-to/authorized-networks"
SECRETS: Final = "https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets"
PROVIDER: Final = (
    "https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container/"
    "resource_container_cluster.go.tmpl"
)

NAME: Final = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
KEY: Final = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
# With private nodes; the page once said 50 without them, the API's own description 10.
MAX_AUTHORIZED_NETWORKS: Final = 100
RANGE_NAMES: Final = ("clusterSecondaryRangeName", "servicesSecondaryRangeName")
RANGE_BLOCKS: Final = ("clusterIpv4CidrBlock", "servicesIpv4CidrBlock")


def cluster_zones(cluster: Properties, cloud: SimulatedCloud) -> tuple[str, ...]:
    """Zones of a cluster's nodes: its own and the further ones of a zonal cluster, the region's of a regional one.

    A regional cluster without ``nodeLocations`` uses three zones of its region:
    https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters
    """
    location, further = cluster["location"], tuple(cluster.get("nodeLocations") or ())
    if is_zone(location):
        return tuple(sorted({location, *further}))
    return tuple(sorted(further)) or cloud.catalog.regions.get(location, ())[:3]


@CLUSTER_RULES.add("cluster-name", f"{REST}#Cluster", "name")
def _name(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if NAME.fullmatch(cluster["name"]):
        return None
    return (
        f"Invalid value for field \"cluster.name\": '{cluster['name']}'. "
        "Must be a match of regex '[a-z]([-a-z0-9]{0,38}[a-z0-9])?' (at most 40 characters)"
    )


@CLUSTER_RULES.add("cluster-location", "https://cloud.google.com/compute/docs/regions-zones", "location")
def _location(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    location = cluster.get("location")
    if not location:
        return "Cannot determine location: set location, or region or zone in the provider's configuration."
    zones = cloud.catalog.regions.get(region_of(location))
    if zones is None or (is_zone(location) and location not in zones):
        return f'Location "{location}" is not known to this rehearsal.'
    return None


@CLUSTER_RULES.add("node-locations-in-region", f"{REST}#Cluster", "location", "nodeLocations")
def _node_locations(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    location = cluster.get("location") or ""
    return zones_outside(region_of(location), cluster.get("nodeLocations") or [], cloud)


@CLUSTER_RULES.add("node-locations-exclude-primary", PROVIDER, "location", "nodeLocations")
def _primary_zone(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if cluster.get("location") in (cluster.get("nodeLocations") or []):
        return "when using a multi-zonal cluster, node_locations should not contain the original 'zone'"
    return None


@CLUSTER_RULES.add("initial-node-count", f"{REST}#Cluster", "initialNodeCount", "nodePools", "enableAutopilot")
def _initial(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if cluster.get("initialNodeCount") or cluster.get("nodePools") or cluster.get("enableAutopilot"):
        return None
    return "Cluster.initial_node_count must be greater than zero."


@CLUSTER_RULES.add("version-offered", "https://cloud.google.com/kubernetes-engine/versioning", "minMasterVersion")
def _version(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    version = cluster.get("minMasterVersion")
    if versions.resolve(version):
        return None
    return (
        f'Master version "{version}" is unsupported, or newer than this rehearsal knows '
        f"(it runs {versions.VERSION} and takes 1.{versions.MINORS[0]} to 1.{versions.MINORS[-1]})."
    )


@CLUSTER_RULES.add(
    "version-in-channel",
    "https://cloud.google.com/kubernetes-engine/versioning",
    "minMasterVersion",
    "releaseChannel",
)
def _extended(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    version, channel = cluster.get("minMasterVersion"), at(cluster, "releaseChannel.channel")
    if channel == "EXTENDED" or not versions.extended_only(version):
        return None
    return f'Master version "{version}" is in extended support: it is available in the Extended channel only.'


@CLUSTER_RULES.add(
    "private-nodes-need-alias-ips",
    f"{PRIVATE}#overview",
    "privateClusterConfig",
    "ipAllocationPolicy",
    "networkingMode",
)
def _private(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if at(cluster, "privateClusterConfig.enablePrivateNodes") and not vpc_native(cluster):
        return "Private nodes need a VPC-native cluster: set ip_allocation_policy and networking_mode VPC_NATIVE."
    return None


@CLUSTER_RULES.add("private-endpoint-needs-private-nodes", PRIVATE, "privateClusterConfig")
def _private_endpoint(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    access = cluster.get("privateClusterConfig") or {}
    if access.get("enablePrivateEndpoint") and not access.get("enablePrivateNodes"):
        return "A private endpoint needs private nodes: set private_cluster_config.enable_private_nodes."
    return None


@CLUSTER_RULES.add("control-plane-range", f"{PRIVATE}#overview", "privateClusterConfig.masterIpv4CidrBlock")
def _control_plane(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    text = at(cluster, "privateClusterConfig.masterIpv4CidrBlock")
    if text is None:
        return None
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        return f"Invalid master_ipv4_cidr_block '{text}': {error}."
    if network.prefixlen == 28:
        return None
    return f"Invalid master_ipv4_cidr_block '{text}': it must be a /28, not a /{network.prefixlen}."


@CLUSTER_RULES.add("range-names-or-blocks", PROVIDER, "ipAllocationPolicy")
def _names_or_blocks(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    policy = cluster.get("ipAllocationPolicy") or {}
    for name, block in zip(RANGE_NAMES, RANGE_BLOCKS, strict=True):
        if policy.get(name) and policy.get(block):
            return f"ip_allocation_policy.{name} conflicts with ip_allocation_policy.{block}: give one of them."
    return None


@CLUSTER_RULES.add("ip-allocation-or-cluster-range", PROVIDER, "ipAllocationPolicy", "clusterIpv4Cidr")
def _policy_or_range(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if cluster.get("ipAllocationPolicy") and cluster.get("clusterIpv4Cidr"):
        return "clusterIpv4Cidr conflicts with ip_allocation_policy: give one of them."
    return None


@CLUSTER_RULES.add("cluster-ranges-valid", VPC_NATIVE, "ipAllocationPolicy", "privateClusterConfig")
def _ranges(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    earlier: list[tuple[str, ipaddress.IPv4Network | ipaddress.IPv6Network]] = []
    for text in explicit_ranges(cluster):
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            return f"Invalid CIDR block '{text}': {error}."
        for other, known in earlier:
            if network.overlaps(known):
                return f"Requested CIDR {text} overlaps with {other}."
        earlier.append((text, network))
    return None


@CLUSTER_RULES.add("authorized-networks", f"{AUTHORIZED}#limitations", "masterAuthorizedNetworksConfig")
def _authorized(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    blocks = at(cluster, "masterAuthorizedNetworksConfig.cidrBlocks") or []
    if len(blocks) > MAX_AUTHORIZED_NETWORKS:
        return f"{len(blocks)} authorized networks; at most {MAX_AUTHORIZED_NETWORKS} are allowed."
    for block in blocks:
        try:
            ipaddress.ip_network(block["cidrBlock"])
        except (KeyError, ValueError) as error:
            return f"Invalid authorized network {block}: {error}."
    return None


@CLUSTER_RULES.add("workload-pool", f"{REST}#Cluster.WorkloadIdentityConfig", "workloadIdentityConfig", "project")
def _workload_pool(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    pool = at(cluster, "workloadIdentityConfig.workloadPool")
    if pool is None or pool == f"{cluster['project']}.svc.id.goog":
        return None
    return f"workload_pool '{pool}' is not supported: use '{cluster['project']}.svc.id.goog'."


@CLUSTER_RULES.add("encryption-key", SECRETS, "databaseEncryption", "location")
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


@CLUSTER_RULES.add(
    "private-endpoint-reserved-networks",
    "https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/153",
    "privateClusterConfig.enablePrivateEndpoint",
    "masterAuthorizedNetworksConfig",
)
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


@CLUSTER_RULES.add(
    "dataplane-v2-has-network-policy",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/dataplane-v2",
    "datapathProvider",
    "networkPolicy",
)
def _network_policy(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if cluster.get("datapathProvider") == "ADVANCED_DATAPATH" and at(cluster, "networkPolicy.enabled"):
        return "Network policy is part of Dataplane V2: do not enable network_policy with ADVANCED_DATAPATH."
    return None


@CLUSTER_RULES.add(
    "multi-networking-needs-dataplane-v2",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/setup-multinetwork-support-for-pods",
    "enableMultiNetworking",
    "datapathProvider",
)
def _multi_networking(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    if cluster.get("enableMultiNetworking") and cluster.get("datapathProvider") != "ADVANCED_DATAPATH":
        return "Multi-networking needs Dataplane V2: set datapath_provider ADVANCED_DATAPATH."
    return None


@CLUSTER_RULES.add(
    "security-group-name",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac",
    "authenticatorGroupsConfig",
)
def _security_group(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    group = at(cluster, "authenticatorGroupsConfig.securityGroup")
    if group is None or re.fullmatch(r"gke-security-groups@[^@\s]+\.[^@\s]+", group):
        return None
    return f"Invalid security_group '{group}': the group must be called gke-security-groups@YOUR-DOMAIN."


@CLUSTER_RULES.add("maintenance-window", f"{REST}#Cluster.DailyMaintenanceWindow", "maintenancePolicy")
def _window(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    start = at(cluster, "maintenancePolicy.dailyMaintenanceWindow.startTime")
    if start is None or re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", start):
        return None
    return f"Invalid start_time '{start}' of the daily maintenance window: use HH:MM, in GMT."


@CLUSTER_RULES.add(
    "maintenance-availability",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/maintenance-windows-and-exclusions",
    "maintenancePolicy",
)
def _availability(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    window = at(cluster, "maintenancePolicy.recurringWindow")
    if window is None:
        return None
    try:
        start, end = (datetime.fromisoformat(window[key].replace("Z", "+00:00")) for key in ("startTime", "endTime"))
    except ValueError as error:
        return f"Invalid recurring maintenance window: {error}."
    parts = dict(part.partition("=")[::2] for part in window["recurrence"].split(";"))
    days = len((parts.get("BYDAY") or "MO").split(","))
    opened = {"DAILY": 32, "WEEKLY": 32 // 7 * days}.get(parts.get("FREQ", ""))
    hours = (end - start).total_seconds() / 3600
    if hours <= 0 or opened is None:
        return f"Invalid recurring maintenance window: from {start} to {end}, {window['recurrence']}."
    if hours >= 4 and opened * hours >= 48:
        return None
    return (
        "Error validating maintenance policy: maintenance policy would go longer than 32d without 48h maintenance "
        "availability of >=4h contiguous duration."
    )


@CLUSTER_RULES.add(
    "maintenance-exclusions-limited",
    "https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions",
    "maintenancePolicy.maintenanceExclusions",
)
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
        if not 0 < (end - start).total_seconds() <= 30 * 24 * 3600:
            return f"Maintenance exclusion '{each.get('exclusionName')}' of scope NO_UPGRADES: at most 30 days."
    return None


@CLUSTER_RULES.add("maintenance-exclusion-ends-once", PROVIDER, "maintenancePolicy")
def _exclusion(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    for exclusion in at(cluster, "maintenancePolicy.maintenanceExclusions") or []:
        if bool(exclusion.get("endTime")) == bool(at(exclusion, "exclusionOptions.endTimeBehavior")):
            name = exclusion.get("exclusionName")
            return (
                f"Maintenance exclusion '{name}': give exactly one of end_time and exclusion_options.end_time_behavior."
            )
    return None


@CLUSTER_RULES.add(
    "gpu-metrics-need-prometheus",
    "https://cloud.google.com/kubernetes-engine/docs/how-to/dcgm-metrics",
    "monitoringConfig",
)
def _gpu_metrics(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    monitoring = cluster.get("monitoringConfig") or {}
    if "DCGM" in (monitoring.get("enableComponents") or []) and at(monitoring, "managedPrometheus.enabled") is False:
        return "The component DCGM needs Managed Service for Prometheus: set managed_prometheus.enabled."
    return None


@CLUSTER_RULES.add("cluster-resource-labels", LABELING, "resourceLabels")
def _resource_labels(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    return bad_resource_label(cluster.get("resourceLabels") or {})


def vpc_native(cluster: Properties) -> bool:
    """Whether pods get alias addresses: the default since the provider's version 5 unless ``ROUTES`` is chosen."""
    return cluster.get("networkingMode") != "ROUTES" and not cluster.get("clusterIpv4Cidr")


def explicit_ranges(cluster: Properties) -> list[str]:
    """Address blocks given as ``A.B.C.D/N`` (``/N`` alone: Google chooses)."""
    candidates = [at(cluster, f"ipAllocationPolicy.{key}") for key in RANGE_BLOCKS]
    candidates.append(at(cluster, "privateClusterConfig.masterIpv4CidrBlock"))
    return [text for text in candidates if text and not text.startswith("/")]


def zones_outside(region: str, zones: list[str], cloud: SimulatedCloud) -> str | None:
    """The error in ``zones`` as node locations of ``region``; ``None`` if they are valid."""
    for zone in zones:
        if zone not in cloud.catalog.regions.get(region, ()):
            return f'Node location "{zone}" is not a zone of region "{region}" that this rehearsal knows.'
    return None
