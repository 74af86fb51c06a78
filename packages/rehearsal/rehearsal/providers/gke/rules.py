"""What GKE refuses in a node pool and in a cluster, one rule per reason, and the versions of Kubernetes that it offers.

The simulated control plane really runs one of them, ``KUBERNETES``.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime, timezone
from typing import Any, Final

from facts.catalog.gke.cloud import CATALOG
from facts.catalog.gke.networks import PRIVATE_RANGES
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE, is_zone, region_of
from rehearsal.providers.gke.nodes import CLASS_LABEL, EFFECTS, PARTITIONS, TPU_MACHINE, gpu_called, slice_nodes
from rehearsal.providers.rules import bad_labels, bad_taints, minors_up, tag_rules

_DAY: Final = 24 * 3600
LIFETIME_SECONDS: Final = (30, 120 * _DAY)
"""https://cloud.google.com/compute/docs/instances/limit-vm-runtime"""
LENT_SECONDS: Final = 7 * _DAY
"""The longest of flex-start: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/dws"""
MAX_LABEL_CHARACTERS: Final = 1024
WITHOUT_PERSISTENT_DISK: Final = re.compile(r"(a3-ultragpu|a4|a4x|c4|c4a|c4d|ct6e|g4|n4|n4a|n4d|tpu7x)-.*")
WITHOUT_HYPERDISK_BALANCED: Final = re.compile(r"(a2|c2|c2d|custom|e2|f1|g1|g2|n1|n2|n2d|t2a|t2d)-.*")
WITHOUT_LOCAL_SSD: Final = re.compile(r"(custom|e2|f1|g1|t2a|t2d|n4|n4a|n4d)-.*")
TPU_TOPOLOGIES: Final = {
    "ct6e-standard-1t": ("1x1",),
    "ct6e-standard-4t": ("2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"),
    "ct6e-standard-8t": ("2x4",),
    "tpu7x-standard-4t": (
        *("2x2x1", "2x2x2", "2x2x4", "2x4x4"),
        *("4x4x4", "4x4x8", "4x8x8", "8x8x8", "8x8x16", "8x16x16"),
    ),
}
SSD_COUNTS: Final = (
    "nodeConfig.localSsdCount",
    "nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount",
    "nodeConfig.localNvmeSsdBlockConfig.localSsdCount",
)


@TABLE.check("node-pool", "machine-on-demand")
def _on_demand(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType")
    machine = cloud.catalog.machines.get(type_) if type_ else None
    if machine is None or machine.provisioning == "any":
        return None
    ways = [at(pool, f"nodeConfig.{key}") for key in ("spot", "preemptible", "flexStart")]
    if any(ways) or at(pool, "queuedProvisioning.enabled"):
        return None
    reserved = at(pool, "nodeConfig.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION"
    if reserved and machine.provisioning == "spot-or-reservation":
        return None
    return f"Machine type '{type_}' is not available on demand: use spot, flex-start or (large sizes) a reservation."


@TABLE.check("node-pool", "accelerator-exists")
def _accelerator(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if gpu_called(cloud, accelerator["type"]) is None:
            known = ", ".join(sorted(a.name for a in cloud.catalog.machines.accelerators.values()))
            return f"Accelerator type '{accelerator['type']}' is not known to this rehearsal. Known: {known}."
    return None


@TABLE.check("node-pool", "accelerator-fits-machine")
def _fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType") or "e2-medium"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        gpu, count = gpu_called(cloud, accelerator["type"]), int(accelerator["count"])
        if gpu is not None and cloud.catalog.machines.with_gpus(type_, gpu, count) is None:
            return f"Machine type '{type_}' cannot have {count} accelerators of type '{accelerator['type']}'."
    return None


@TABLE.check("node-pool", "tpu-slice")
def _tpu_slice(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_, placement = at(pool, "nodeConfig.machineType") or "e2-medium", pool.get("placementPolicy") or {}
    match, topology = TPU_MACHINE.fullmatch(type_), placement.get("tpuTopology")
    if match is None:
        return f"tpu_topology is for machine types with TPUs, not for {type_}." if topology else None
    if at(pool, "nodeConfig.guestAccelerators"):
        return f"Machine type '{type_}' has TPUs, and no accelerators are attached to it."
    chips = int(match[1])
    if topology and topology not in TPU_TOPOLOGIES.get(type_, (topology,)):
        return f"Topology '{topology}' is not supported by machine type '{type_}'."
    if not topology:
        return None
    if (size := slice_nodes(topology, chips)) == 1:
        # https://github.com/AI-Hypercomputer/xpk/pull/825
        return "TPU topology can't be specified with single-host TPU slice pool."
    if type_.startswith("tpu7x-"):
        if not placement.get("policyName"):
            # https://github.com/vllm-project/ci-infra/pull/547
            refused = f"Creation of a managed instance group with {type_} machine type with placement policy"
            return f"{refused} is not supported. Use workload policy instead."
    elif placement.get("type") != "COMPACT":
        return "A multi-host TPU slice needs placement_policy.type COMPACT."
    if len(pool.get("nodeLocations") or ()) > 1:
        return "Multi-host TPU node pools must be zonal."
    starts = [pool.get(key) for key in ("nodeCount", "initialNodeCount") if pool.get(key)]
    if any(count != size for count in starts):
        return f"A multi-host TPU node pool of topology '{topology}' has zero or {size} nodes."
    # The maximum per zone, even if the total is set: https://github.com/vllm-project/ci-infra/pull/545
    if pool.get("autoscaling") and (most := at(pool, "autoscaling.maxNodeCount") or 0) != size:
        return f'Maximum node count {most:g} is not a valid size of TPU pod slice with topology "{topology}"'
    return None


@TABLE.check("node-pool", "surge-not-both-zero")
def _surge(pool: Properties, cloud: SimulatedCloud) -> str | None:
    settings = pool.get("upgradeSettings")
    if not settings or settings.get("strategy", "SURGE") != "SURGE":
        return None
    surge, unavailable = int(settings.get("maxSurge") or 0), int(settings.get("maxUnavailable") or 0)
    if surge + unavailable == 0:
        return "upgrade_settings: max_surge and max_unavailable cannot both be 0."
    if surge + unavailable > 20:
        return f"upgrade_settings: max_surge plus max_unavailable is {surge + unavailable}, at most 20 is allowed."
    return None


@TABLE.check("node-pool", "labels-valid")
def _labels(pool: Properties, cloud: SimulatedCloud) -> str | None:
    return bad_labels(at(pool, "nodeConfig.labels") or {})


@TABLE.check("node-pool", "labels-length")
def _labels_length(pool: Properties, cloud: SimulatedCloud) -> str | None:
    characters = sum(len(key) + len(value) for key, value in (at(pool, "nodeConfig.labels") or {}).items())
    if characters <= MAX_LABEL_CHARACTERS:
        return None
    return f"The node labels have {characters} characters in all, at most {MAX_LABEL_CHARACTERS} are allowed."


@TABLE.check("node-pool", "label-of-a-class")
def _label_of_a_class(pool: Properties, cloud: SimulatedCloud) -> str | None:
    key = CLASS_LABEL
    name = (at(pool, "nodeConfig.labels") or {}).get(key)
    taint = {"key": key, "value": name, "effect": "NO_SCHEDULE"}
    if name is None or any(taint.items() <= each.items() for each in at(pool, "nodeConfig.taints") or []):
        return None
    return f'Node labels with key "{key}" are managed by GKE or Kubernetes and must not be manually specified.'


@TABLE.check("node-pool", "taints-valid")
def _taints(pool: Properties, cloud: SimulatedCloud) -> str | None:
    taints: list[dict[str, Any]] = at(pool, "nodeConfig.taints") or []
    for taint in taints:
        if taint["effect"] not in EFFECTS:
            return f"Taint '{taint['key']}' has effect '{taint['effect']}'; use {', '.join(EFFECTS)}."
    return bad_taints(taints)


@TABLE.check("node-pool", "max-run-duration")
def _lifetime(pool: Properties, cloud: SimulatedCloud) -> str | None:
    text, lent = at(pool, "nodeConfig.maxRunDuration"), at(pool, "nodeConfig.flexStart")
    least, most = (
        LIFETIME_SECONDS[0],
        LENT_SECONDS if lent or at(pool, "queuedProvisioning.enabled") else LIFETIME_SECONDS[1],
    )
    if text is None or least <= float(str(text).removesuffix("s")) <= most:
        return None
    return f"max_run_duration {text} must be at least {least}s and at most {most}s ({most // _DAY} days)."


@TABLE.check("node-pool", "disk-fits-machine")
def _disk_fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine, disk = at(pool, "nodeConfig.machineType") or "e2-medium", at(pool, "nodeConfig.diskType") or "pd-balanced"
    lacking = WITHOUT_PERSISTENT_DISK if disk.startswith("pd-") else WITHOUT_HYPERDISK_BALANCED
    if disk.startswith(("pd-", "hyperdisk-balanced")) and lacking.fullmatch(machine):
        return f"[{disk}] features are not compatible for creating instance with machine type {machine}."
    return None


@TABLE.check("node-pool", "local-ssd-on-machine")
def _local_ssd(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine = at(pool, "nodeConfig.machineType") or "e2-medium"
    if any(at(pool, path) for path in SSD_COUNTS) and WITHOUT_LOCAL_SSD.fullmatch(machine):
        return f"Machine type '{machine}' takes no local SSD."
    known = cloud.catalog.machines.get(machine)
    counts = [count for path in SSD_COUNTS if (count := at(pool, path))]
    if known is not None and known.local_ssds and any(count != known.local_ssds for count in counts):
        return f"Machine type '{machine}' has {known.local_ssds} local SSDs, no other number."
    return None


@TABLE.check("node-pool", "partition-size")
def _partition(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        size, sizes = accelerator.get("gpuPartitionSize"), PARTITIONS.get(accelerator["type"], ())
        if size and size not in sizes:
            known = f"It has {', '.join(sizes)}" if sizes else "It cannot be partitioned"
            return f"Accelerator '{accelerator['type']}' has no partition size '{size}'. {known}."
    return None


KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""

# Google's patch number after ``-gke.`` has no counterpart here.
VERSION: Final = f"{KUBERNETES}-gke.1000000"
CHANNELS: Final = ("RAPID", "REGULAR", "STABLE", "EXTENDED")
# Which ones Google offers changes by the week (https://cloud.google.com/kubernetes-engine/docs/release-schedule): those
# of November 2026.
MINORS: Final = range(32, 38)
_VERSION: Final = re.compile(r"1\.(\d+)(\.\d+(-gke\.\d+)?)?")


def resolve(requested: str | None) -> str | None:
    """The version for ``requested`` (nothing, ``latest``, ``-``, ``1.34`` or a full version); ``None`` if not offered.

    Another version than the control plane's is accepted and reported by cluster and nodes, but not run.

    https://cloud.google.com/kubernetes-engine/versioning#specifying_cluster_version
    """
    if not requested or requested in ("latest", "-") or requested == VERSION:
        return VERSION
    match = _VERSION.fullmatch(requested)
    if match is None or int(match[1]) not in MINORS:
        return None
    if match[3]:
        return requested
    parts = requested.split(".")
    if KUBERNETES.split(".")[: len(parts)] == parts:
        return VERSION
    return f"{requested if match[2] else requested + '.0'}-gke.1000000"


def extended_only(version: str | None) -> bool:
    """Whether the version is in extended support by today, as the catalogue knows it
    (https://cloud.google.com/kubernetes-engine/versioning). The control plane's own never is: without it nothing runs
    here."""
    match = _VERSION.fullmatch(version or "")
    own = match is None or minors_up(KUBERNETES, match[0]) == 0
    return not own and CATALOG.choices.ended(version, datetime.now(timezone.utc).date())


def not_newer(version: str, master: str) -> bool:
    """Whether nodes of ``version`` may be in a cluster of ``master``."""
    return _numbers(version) <= _numbers(master)[: len(_numbers(version))]


def minors_behind(version: str, master: str) -> int:
    """How many minor versions older than ``master`` nodes of ``version`` are; 0 if it names none (``latest``)."""
    minor = _numbers(version)[1:2]
    return _numbers(master)[1] - minor[0] if minor else 0


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


KEY: Final = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window (32, when exclusions had 30 days)
_COUNTED_DAYS: Final = 92
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
    if resolve(version):
        return None
    return (
        f'Master version "{version}" is unsupported, or newer than this rehearsal knows '
        f"(it runs {VERSION} and takes 1.{MINORS[0]} to 1.{MINORS[-1]})."
    )


@TABLE.check("cluster", "version-in-channel")
def _extended(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    version, channel = cluster.get("minMasterVersion"), at(cluster, "releaseChannel.channel")
    if channel == "EXTENDED" or not extended_only(version):
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


@TABLE.check("cluster", "a-way-in")
def _way_in(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    by_address = at(cluster, "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled")
    by_name = at(cluster, "controlPlaneEndpointsConfig.dnsEndpointConfig.allowExternalTraffic")
    if by_address is False and not by_name:
        return "IP endpoints can be disabled only if the DNS endpoint allows external traffic."
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
    weekly = {"DAILY": 7, "WEEKLY": len(days)}.get(parts.get("FREQ", ""))
    hours = (end - start).total_seconds() / 3600
    if hours <= 0 or weekly is None or not _DAYS.issuperset(days):
        return f"Invalid recurring maintenance window: from {start} to {end}, {window['recurrence']}."
    closed = [0, *(_days(each) for each in _without_upgrades(cluster))]
    if hours >= 4 and all((_COUNTED_DAYS - days) // 7 * weekly * hours >= 48 for days in closed):
        return None
    return (
        f"Error validating maintenance policy: maintenance policy would go longer than {_COUNTED_DAYS}d without 48h"
        " maintenance availability of >=4h contiguous duration."
    )


@TABLE.check("cluster", "maintenance-exclusions-limited")
def _exclusions(cluster: Properties, cloud: SimulatedCloud) -> str | None:
    whole = _without_upgrades(cluster)
    if len(whole) > 3:
        return f"{len(whole)} maintenance exclusions of scope NO_UPGRADES; at most 3 are allowed."
    for each in whole:
        if not 0 < _days(each) <= 90:
            return f"Maintenance exclusion '{each.get('exclusionName')}' of scope NO_UPGRADES: at most 90 days."
    return None


def _without_upgrades(cluster: Properties) -> list[Properties]:
    return [
        each
        for each in at(cluster, "maintenancePolicy.maintenanceExclusions") or []
        if each.get("endTime") and at(each, "exclusionOptions.scope") in (None, "NO_UPGRADES")
    ]


def _days(exclusion: Properties) -> float:
    start, end = (datetime.fromisoformat(exclusion[key].replace("Z", "+00:00")) for key in ("startTime", "endTime"))
    return (end - start).total_seconds() / 86400


def zones_outside(region: str, zones: list[str], cloud: SimulatedCloud) -> str | None:
    """The error in ``zones`` as node locations of ``region``; ``None`` if they are valid."""
    for zone in zones:
        if zone not in cloud.catalog.regions.get(region, ()):
            return f'Node location "{zone}" is not a zone of region "{region}" that this rehearsal knows.'
    return None


# Of labels on clusters and machines: https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels
TAGS: Final = tag_rules(
    "resourceLabels",
    "nodeConfig.resourceLabels",
    source="https://cloud.google.com/compute/docs/labeling-resources#requirements",
    key=r"[a-z][a-z0-9_-]{0,62}",
    value=r"[a-z0-9_-]{0,63}",
    most=64,
    refusal="Invalid label '{key}': keys and values are of lower-case letters, digits, '_' and '-'.",
)
