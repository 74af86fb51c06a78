"""Valid settings that GKE does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from components.settings.limits import common, windows
from components.settings.limits.names import Names, name_problems
from components.settings.problems import Problem
from components.settings.settings import Settings
from facts import catalog
from facts.catalog.gke.networks import EXISTING_NETWORK, NAME, PRIVATE_RANGES
from facts.concepts.counts import counted
from facts.concepts.pool import CapacityType, Pool

_KMS_KEYS: Final = common.KmsKeys(
    cloud="GKE",
    written=re.compile(r"projects/[^/]+/locations/(?P<region>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+"),
    is_not="the full name of a Cloud KMS key",
    remedy="Write projects/<project>/locations/{region}/keyRings/<ring>/cryptoKeys/<key>",
    elsewhere="Use a key of a key ring in {region}",
)

# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#master_ipv4_cidr_block
_CONTROL_PLANE_PREFIX: Final = 28

# 48 hours in any 32 days, so 12 in each of the four whole weeks; and three exclusions of 30 days without any upgrade:
# https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions. Some later copies of that
# page count 92 days and allow longer exclusions; the stricter limits satisfy both.
_WINDOWS: Final = windows.Windows(cloud="GKE", least_hours=12, longest_exclusion_days=30, most_exclusions=3)

# https://cloud.google.com/iam/docs/principal-identifiers: those with a user or group name in the cluster.
_PERSON: Final = re.compile(r"(user|group|serviceAccount):[^@\s:]+@[^@\s:]+\.[^@\s:]+")

_UPGRADED_AT_ONCE: Final = 20
_ORDER: Final[tuple[CapacityType, ...]] = ("reserved", "spot", "on-demand")

# GKE takes no block of another project's reservation.
_RESERVATION: Final = re.compile(rf"projects/[^/]+/reservations/{NAME}|{NAME}(/reservationBlocks/{NAME})?")

# GKE sets these from the pool's properties. The API's description of ``NodeConfig.labels`` (discovery document of
# container.v1beta1) calls a conflict with such a key unpredictable. Users may set other keys with this prefix.
_OWN_LABELS: Final = frozenset(
    f"cloud.google.com/{name}"
    for name in (
        "gke-accelerator",
        "gke-accelerator-count",
        "gke-boot-disk",
        "gke-container-runtime",
        "gke-flex-start",
        "gke-gpu-driver-version",
        "gke-gpu-sharing-strategy",
        "gke-max-shared-clients-per-gpu",
        "gke-nodepool",
        "gke-os-distribution",
        "gke-preemptible",
        "gke-provisioning",
        "gke-spot",
        "machine-family",
    )
)


# https://cloud.google.com/storage/docs/buckets#naming,
# https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/create
_NAMES: Final = Names(
    bucket=re.compile(r"(?!goog)(?!.*google)[a-z0-9][-_.a-z0-9]{1,61}[a-z0-9]"),
    bucket_example="my-datasets",
    secret=re.compile(r"[-\w]{1,255}", re.ASCII),
    secret_example="wandb-key",
)


def refusals(settings: Settings) -> list[Problem]:
    """The settings that GKE does not support, each once."""
    problems = (
        *_drivers(settings),
        *_partitions(settings),
        *_labels(settings),
        *_resource_labels(settings),
        *common.kms_key_problems(settings, _KMS_KEYS),
        *common.no_rules_of_roles(settings, "GKE", "use the organisation's deny policies to limit permissions"),
        *name_problems(settings, _NAMES),
        *_people(settings),
        *windows.problems(settings, _WINDOWS),
        *_control_plane(settings),
        *_private_endpoint(settings),
        *_existing_network(settings),
        *_reservations(settings),
        *_fallback_orders(settings),
        *_upgrades(settings),
        *_placement(settings),
        *_streaming(settings),
        *_minimum(settings),
        *_nat(settings),
        *_autoscaling(settings),
    )
    # A pool of several sizes or with a fallback is several specs with the same problem.
    return list(dict.fromkeys(problems))


def _drivers(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.image == "ubuntu" and pool.gpus.driver_version == "latest":
            yield Problem(
                f"{pool.declared_at}.driverVersion",
                "GKE installs the latest driver on Container-Optimized OS only",
                "Write driverVersion: default, or image: cos",
            )


def _resource_labels(settings: Settings) -> Iterator[Problem]:
    """Google reserves these keys: https://github.com/openshift/hypershift/pull/7251 lists its prefixes."""
    for key in settings.labels:
        if key.startswith("goog"):
            yield Problem(f"labels.{key}", "keys that begin with 'goog' are reserved by Google", "Write another key")


def _partitions(settings: Settings) -> Iterator[Problem]:
    accelerators = catalog.of("gke").accelerators
    partitioned = [gpu for gpu, accelerator in accelerators.items() if accelerator.partitions]
    for pool in settings.gpu_pools:
        sizes = accelerators[pool.gpus.type].partitions
        if pool.gpus.mig is None or pool.gpus.mig in sizes:
            continue
        if sizes:
            message, remedy = f"GKE has no {pool.gpus.mig} partitions", f"Write one of {', '.join(sizes)}"
        else:
            message = f"{pool.gpus.type} does not support MIG"
            remedy = f"Leave it out, or use one of {', '.join(partitioned)}; or timeSharing: {{clientsPerGpu: 2}}"
        yield Problem(f"{pool.declared_at}.mig", message, remedy)


def _labels(settings: Settings) -> Iterator[Problem]:
    for pool in settings.pools:
        for key in sorted(_OWN_LABELS & pool.labels.keys()):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                "GKE sets this label itself",
                f"Leave it out, or use a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _people(settings: Settings) -> Iterator[Problem]:
    yield from common.people_problems(
        settings,
        _PERSON,
        "an IAM member",
        "Write for example group:research@example.com, user:ann@example.com or "
        "serviceAccount:ci@my-project.iam.gserviceaccount.com",
    )
    groups = [(index, who) for index, entry in enumerate(settings.access) if (who := entry.who).startswith("group:")]
    for index, who in groups:
        if (domain := who.rpartition("@")[2]) != (first := groups[0][1].rpartition("@")[2]):
            yield Problem(
                f"access[{index}].who",
                f"all groups of a cluster must be in one domain: the first group is in {first}, this one in {domain}",
                f"Write a group of {first}",
            )


def _control_plane(settings: Settings) -> Iterator[Problem]:
    cidr = settings.network.control_plane_cidr
    if cidr is not None and IPv4Network(cidr).prefixlen != _CONTROL_PLANE_PREFIX:
        yield Problem(
            "network.controlPlaneCidr",
            f"{cidr} has prefix /{IPv4Network(cidr).prefixlen}, but GKE needs /{_CONTROL_PLANE_PREFIX}",
            f"Write a range with prefix /{_CONTROL_PLANE_PREFIX}, or leave it out to let GKE choose",
        )


def _private_endpoint(settings: Settings) -> Iterator[Problem]:
    """GKE's words: "is not a reserved network, which is required for private endpoints"
    (https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/153)."""
    if not settings.network.private_endpoint:
        return
    if not settings.network.dns_endpoint and settings.network.existing is None:
        yield Problem(
            "network.privateEndpoint",
            "the control plane would be reachable only from the network that this stack creates, so the program "
            "itself could not create objects in the cluster",
            "Add dnsEndpoint: true, which is reachable from anywhere with IAM. Or write privateEndpoint: false and "
            "your address in authorizedNetworks",
        )
    for index, allowed in enumerate(settings.network.authorized_networks):
        if not any(IPv4Network(allowed.cidr).subnet_of(private) for private in PRIVATE_RANGES):
            yield Problem(
                f"network.authorizedNetworks[{index}].cidr",
                f"{allowed.cidr} is public, but a private endpoint is reachable from private addresses only",
                "Write the range inside your network, such as 10.20.0.0/16, or privateEndpoint: false",
            )


def _existing_network(settings: Settings) -> Iterator[Problem]:
    """Names as in https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc."""
    existing = settings.network.existing
    if existing is None:
        return
    if not EXISTING_NETWORK.fullmatch(existing.network):
        yield Problem(
            "network.existing.network",
            f"'{existing.network}' is not a VPC network",
            "Write its name, or projects/<host project>/global/networks/<name> for a Shared VPC",
        )
    if len(existing.subnets) != 1 or not re.fullmatch(NAME, existing.subnets[0]):
        yield Problem(
            "network.existing.subnets",
            "a GKE cluster uses one subnet, which spans all zones of its region",
            "Write the name of one: subnets: [nodes]",
        )
    for key, written, whose in (
        ("podRange", existing.pod_range, "pods"),
        ("serviceRange", existing.service_range, "services"),
    ):
        if written is None:
            yield Problem(
                f"network.existing.{key}",
                f"missing: {whose} need a secondary range of the subnet",
                f"Write its name: {key}: {whose}",
            )


def _reservations(settings: Settings) -> Iterator[Problem]:
    """Names as in ``gke-node-pool/main.tf`` of https://github.com/GoogleCloudPlatform/cluster-toolkit; their zone:
    https://cloud.google.com/compute/docs/instances/reservations-overview"""
    for pool in settings.gpu_pools:
        reservation, where = pool.gpus.reservation, f"{pool.declared_at}.reservation"
        if reservation is None:
            continue
        if not _RESERVATION.fullmatch(reservation):
            yield Problem(
                where,
                f"'{reservation}' is not the name of a reservation",
                "Write its name, projects/<project>/reservations/<name> if another project shares it, or "
                "<name>/reservationBlocks/<block> for a block of it",
            )
        elif len(pool.zones) > 1:
            yield Problem(
                where,
                f"a reservation is in one zone, but the pool is in {', '.join(pool.zones)}",
                f"Write zones: [{pool.zones[0]}] if that is the reservation's, or reservation: {{name: {reservation}, "
                f"zone: {pool.zones[0]}}} if only the reserved nodes are there",
            )


def _fallback_orders(settings: Settings) -> Iterator[Problem]:
    """GKE's autoscaler has an order of its own (docs/adr/0004-fallback-pools.md):
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#operating_criteria"""
    sizes: dict[tuple[str, int], list[Pool]] = {}
    for pool in settings.pools:
        sizes.setdefault((pool.declared_at, pool.gpus_per_node), []).append(pool)
    for (path, _), pools in sizes.items():
        capacity_types = list(dict.fromkeys(pool.capacity_type for pool in pools))
        if len(capacity_types) == 1:
            continue
        unknown = [capacity_type for capacity_type in capacity_types if capacity_type not in _ORDER]
        expected = [capacity_type for capacity_type in _ORDER if capacity_type in capacity_types]
        if unknown:
            yield Problem(
                f"{path}.capacity",
                f"{unknown[0]} has no documented place in the fallback order of GKE's autoscaler, which may wait for "
                "it without trying the others",
                f"Write capacity: {unknown[0]} in a separate pool that jobs select, and the others in a second pool",
            )
        elif capacity_types != expected:
            yield Problem(
                f"{path}.capacity",
                f"GKE's autoscaler has a fixed fallback order: {', '.join(_ORDER)}",
                f"Write [{', '.join(expected)}]",
            )
        for pool in pools:
            if pool.gpus_per_node and "/" in (pool.gpus.reservation or ""):
                yield Problem(
                    f"{path}.reservation",
                    f"GKE's autoscaler tries a reservation first only if it is in this project and names no block, "
                    f"unlike {pool.gpus.reservation}",
                    "Write it in a separate pool with capacity: reserved that jobs select",
                )


def _placement(settings: Settings) -> Iterator[Problem]:
    """https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement, whose machines include no N1; for
    zones: https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/modules/compute/gke-node-pool/main.tf"""
    for pool in settings.gpu_pools:
        if pool.compact and len(pool.zones) > 1:
            yield Problem(
                f"{pool.declared_at}.placement",
                f"compact placement needs one zone, but the pool is in {', '.join(pool.zones)}",
                f"Write zones: [{pool.zones[0]}], or leave placement out",
            )
        if pool.compact and pool.machine_type.startswith(("n1-", "custom-")):
            yield Problem(
                f"{pool.declared_at}.placement",
                f"compact placement does not support N1 machines, and {pool.gpus.type} runs on N1 only",
                "Leave it out, or use nvidia-l4 or a newer GPU",
            )


def _streaming(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.image_streaming and pool.image != "cos":
            yield Problem(
                f"{pool.declared_at}.imageStreaming",
                "GKE streams images on Container-Optimized OS only",
                "Write image: cos, or leave imageStreaming out",
            )


def _upgrades(settings: Settings) -> Iterator[Problem]:
    """https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies#surge"""
    for pool in settings.pools:
        if pool.upgrade is None:
            continue
        if pool.upgrade.drain_minutes is not None:
            yield Problem(
                f"{pool.declared_at}.upgrade.drainMinutes",
                "GKE has no such setting: it respects disruption budgets and grace periods for up to an hour",
                "Leave it out",
            )
        at_once = (pool.upgrade.max_surge or 0) + (pool.upgrade.max_unavailable or 0)
        if not 1 <= at_once <= _UPGRADED_AT_ONCE:
            yield Problem(
                f"{pool.declared_at}.upgrade",
                f"maxSurge and maxUnavailable together must be 1 to {_UPGRADED_AT_ONCE} nodes on GKE",
                "Write for example maxUnavailable: 1",
            )


def _minimum(settings: Settings) -> Iterator[Problem]:
    """GKE starts a pool with the same number of nodes in every zone, and later never adds nodes to reach its minimum:
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#minimum_and_maximum_node_pool_size"""
    for pool in settings.cpu_pools:
        zones = len(pool.zones)
        started = math.ceil(pool.min_nodes / zones) * zones
        if started > pool.max_nodes:
            fewer = next(n for n in range(zones, 0, -1) if math.ceil(pool.min_nodes / n) * n <= pool.max_nodes)
            yield Problem(
                f"{pool.declared_at}.minNodes",
                f"{counted(pool.min_nodes, 'node')} over {counted(zones, 'zone')}: GKE starts the same "
                f"number in every zone, so {started}, but maxNodes is {pool.max_nodes}",
                f"Write maxNodes: {started} or more, or fewer zones, such as [{', '.join(pool.zones[:fewer])}]",
            )


def _nat(settings: Settings) -> Iterator[Problem]:
    # https://cloud.google.com/nat/docs/overview
    if settings.network.nat is not None:
        yield Problem(
            "network.nat",
            "Cloud NAT is a regional service: one gateway serves all zones",
            "Leave it out",
        )


def _autoscaling(settings: Settings) -> Iterator[Problem]:
    """GKE's autoscaler has profiles. Google decides how it chooses a pool and how long it waits.

    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#autoscaling_profiles
    """
    waiting = [
        ("autoscaling", settings.unneeded_minutes),
        *((pool.declared_at, pool.unneeded_minutes) for pool in settings.pools),
    ]
    for path, minutes in waiting:
        if minutes is not None:
            yield Problem(
                f"{path}.unneededMinutes",
                "the pinned Google Cloud provider has no input for this (the API has NodeConfig.consolidationDelay)",
                "Leave it out; autoscaling.profile controls how soon idle nodes are removed",
            )
