"""What AKS cannot do although the settings can say it. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

import catalog
from catalog.aks.cloud import DRIVER_ON_UBUNTU_ONLY, MIG_GPUS
from catalog.aks.keys import ENCRYPTION_SET, KEY, KEY_FORM
from catalog.aks.naming import POOL_NAME_LIMIT, pool_name
from catalog.aks.nodes import most_nodes
from components.settings.limits import common
from components.settings.limits.names import Names, name_problems
from components.settings.problems import Problem
from components.settings.settings import Settings
from concepts.pool import Pool

# https://learn.microsoft.com/azure/aks/use-labels#reserved-prefixes
_OWN_PREFIX: Final = "kubernetes.azure.com/"
# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
_CLUSTER_NAME: Final = re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9_-]{0,61}[A-Za-z0-9]")
_DISK_GB: Final = range(30, 2049)
# https://learn.microsoft.com/azure/aks/concepts-network-cni-overview, .../concepts-network-azure-cni-overlay
_KEPT_RANGES: Final = ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")
_LARGEST_SERVICE_PREFIX: Final = 13
# https://learn.microsoft.com/azure/aks/use-system-pools
_SMALLEST_SYSTEM_VCPUS: Final = 2
_SMALLEST_SYSTEM_GIB: Final = 4
# A subscription's id is one, and a group's.
_GUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

EXISTING_NETWORK: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Network/"
    r"virtualNetworks/(?P<name>[^/]+)",
    re.IGNORECASE,
)
"""The resource id of a virtual network, as a stack file writes it."""

RESERVATION: Final = re.compile(
    r"(?P<group>/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<name>[^/]+))/providers/Microsoft\.Compute/"
    r"capacityReservationGroups/[^/]+",
    re.IGNORECASE,
)
"""The resource id of a capacity reservation group; its ``group`` is that of the resource group that it is in."""

_KMS_KEYS: Final = common.KmsKeys(
    cloud="AKS",
    written=KEY,
    is_not="the resource id of a version of a key in Key Vault; a key's URL is not enough, as it does not tell where "
    "to grant the cluster the use of the key",
    remedy=f"Write {KEY_FORM}",
)


# https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
_DISK_KEYS: Final = common.KmsKeys(
    cloud="AKS",
    written=ENCRYPTION_SET,
    is_not="the resource id of a disk encryption set, by which Azure's disks know a key",
    remedy="Write /subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.Compute/"
    "diskEncryptionSets/<name>; or leave it out, and kmsKey encrypts disks, too",
)

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
_GROUP: Final = r"/subscriptions/(?P<subscription>[0-9a-fA-F-]{36})/resourceGroups/(?P<group>[-\w.()]+)/providers"

CONTAINER: Final = re.compile(
    _GROUP + r"/Microsoft\.Storage/storageAccounts/(?P<account>[a-z0-9]{3,24})/blobServices/default"
    r"/containers/(?P<container>[-a-z0-9]{3,63})",
    re.IGNORECASE,
)
"""The resource id of a container of blobs, as a stack file writes it."""

_NAMES: Final = Names(
    bucket=CONTAINER,
    bucket_example="/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Storage/storageAccounts/ACCOUNT"
    "/blobServices/default/containers/CONTAINER: Azure grants by a resource's id",
    secret=re.compile(
        _GROUP + r"/Microsoft\.KeyVault/vaults/[-\w]{3,24}(/secrets/[-0-9a-zA-Z]{1,127})?", re.IGNORECASE
    ),
    secret_example="/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/VAULT/secrets/SECRET",
)


def refusals(settings: Settings) -> list[Problem]:
    """All of them, each once; none for settings that AKS can fulfil."""
    unread = list(_existing_network(settings))
    if unread:
        return unread
    found = (
        *_account(settings),
        *_cluster_name(settings),
        *common.people_problems(
            settings,
            _GUID,
            "the object id of a group in Entra",
            "Write the id that 'az ad group show --group <name> --query id' prints; put pipelines' identities and "
            "single people into a group",
        ),
        *_pool_names(settings),
        *_drivers(settings),
        *_partitions(settings),
        *_reservations(settings),
        *_labels_and_taints(settings),
        *_sizes(settings),
        *_disks(settings),
        *_upgrades(settings),
        *common.near_and_fast(settings, "AKS"),
        *_unneeded_minutes(settings),
        *_admin_pool(settings),
        *common.kms_key_problems(settings, _KMS_KEYS, _DISK_KEYS),
        *common.no_rules_of_roles(settings, "AKS", "Azure Policy bounds which roles may be assigned"),
        *_disk_key(settings),
        *_control_plane(settings),
        *_registry(settings),
        *name_problems(settings, _NAMES),
        *_ranges(settings),
    )
    # A pool of several sizes or with a fallback is several specs with the same problem.
    return list(dict.fromkeys(found))


def _account(settings: Settings) -> Iterator[Problem]:
    if not _GUID.fullmatch(settings.project):
        key = catalog.of(settings.cloud).account_key
        yield Problem(
            key,
            f"'{settings.project}' is not the id of a subscription",
            f"Write the id that 'az account show --query id' prints: pulumi config set {key} <id>",
        )


def _cluster_name(settings: Settings) -> Iterator[Problem]:
    if not _CLUSTER_NAME.fullmatch(settings.cluster_name):
        yield Problem(
            "clusterName",
            f"'{settings.cluster_name}' is no name of an AKS cluster",
            "Use 1 to 63 letters, digits, '-' and '_', with a letter or digit at both ends",
        )


def _pool_names(settings: Settings) -> Iterator[Problem]:
    """Names that are different here and one in Azure."""
    paths = {settings.admin_pool.name: "adminPool", **{pool.name: pool.declared_at for pool in _pools(settings)}}
    alike: dict[str, list[str]] = defaultdict(list)
    for name in paths:
        alike[pool_name(name)].append(name)
    for short, names in alike.items():
        for name in names[1:]:
            yield Problem(
                f"{paths[name]}.name",
                f"pool '{name}' would be '{short}' in Azure ({POOL_NAME_LIMIT} characters), as '{names[0]}' is already",
                "Choose another name",
            )


def _drivers(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.gpus.drivers == "daemonset":
            yield Problem(
                f"{pool.declared_at}.drivers",
                "there is no driver installer for AKS's node images to run as a DaemonSet",
                "Write drivers: managed (AKS installs it), or none if the GPU Operator does",
            )
        if pool.gpus.driver_version == "latest":
            yield Problem(
                f"{pool.declared_at}.driverVersion",
                "AKS installs the one driver version that belongs to the node image",
                "Leave it out, or write drivers: none and install your own",
            )
        if pool.gpus.drivers == "managed" and pool.image != "ubuntu" and pool.gpus.type in DRIVER_ON_UBUNTU_ONLY:
            yield Problem(
                f"{pool.declared_at}.image",
                f"AKS has the driver of {pool.gpus.type} on Ubuntu only",
                "Write image: ubuntu, or leave it out",
            )


def _partitions(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.gpus.time_sharing is not None:
            yield Problem(
                f"{pool.declared_at}.timeSharing",
                "AKS's autoscaler counts the GPUs of an empty pool as they are built in, not as they are shared, so "
                "it would add a node for each pod (https://github.com/Azure/AKS/issues/3427)",
                "Leave it out, or write mig, which the autoscaler miscounts too, but whose parts are pods' own",
            )
        if pool.gpus.mig is not None and pool.gpus.type not in MIG_GPUS:
            yield Problem(
                f"{pool.declared_at}.mig",
                f"{pool.gpus.type} cannot be partitioned",
                f"Leave it out, or use one of {', '.join(sorted(MIG_GPUS))}",
            )


def _reservations(settings: Settings) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups"""
    for pool in settings.gpu_pools:
        reservation = pool.gpus.reservation
        written = RESERVATION.fullmatch(reservation or "")
        if reservation is not None and (written is None or written["subscription"].lower() != settings.project.lower()):
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"'{reservation}' is not the resource id of a capacity reservation group of subscription "
                f"{settings.project}; AKS takes no name",
                f"Write /subscriptions/{settings.project}/resourceGroups/<group>/providers/Microsoft.Compute/"
                "capacityReservationGroups/<name>; the cluster's identity becomes Contributor of that resource group",
            )


def _labels_and_taints(settings: Settings) -> Iterator[Problem]:
    own_taints = catalog.of(settings.cloud).spot_taints
    for pool in _pools(settings):
        for key in sorted(key for key in pool.labels if key.startswith(_OWN_PREFIX)):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                f"AKS keeps labels that begin with {_OWN_PREFIX} to itself",
                f"Leave it out, or use a domain of your own, such as 'example.com/{key.removeprefix(_OWN_PREFIX)}'",
            )
        for taint in pool.taints:
            if taint.key.startswith(_OWN_PREFIX) and taint not in own_taints:
                yield Problem(
                    f"{pool.declared_at}.taints",
                    f"AKS keeps taints that begin with {_OWN_PREFIX} to itself: {taint}",
                    "Leave it out (AKS taints spot nodes by itself), or use a domain of your own",
                )


def _sizes(settings: Settings) -> Iterator[Problem]:
    for pool in _pools(settings):
        if pool.max_nodes > (most := most_nodes(pool.machine_type)):
            yield Problem(
                f"{pool.declared_at}.maxNodes",
                f"an AKS pool of {pool.machine_type} has {most} nodes at most",
                f"Write {most} or less, and several pools for more",
            )


def _upgrades(settings: Settings) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling"""
    for pool in _pools(settings):
        if pool.upgrade is None:
            continue
        surge, missing = pool.upgrade.max_surge, pool.upgrade.max_unavailable
        if surge and missing:
            yield Problem(
                f"{pool.declared_at}.upgrade",
                "AKS upgrades by surplus nodes or with some missing, not both",
                "Leave out maxSurge or maxUnavailable",
            )
        elif not surge and not missing and (surge, missing) != (None, None):
            yield Problem(
                f"{pool.declared_at}.upgrade", "AKS upgrades 1 node or more at a time", "Write maxUnavailable: 1"
            )
        if all(each.spot for each in _pools(settings) if each.declared_at == pool.declared_at):
            yield Problem(
                f"{pool.declared_at}.upgrade",
                "AKS takes no such settings of spot pools (https://learn.microsoft.com/azure/aks/spot-node-pool)",
                "Leave it out",
            )


def _disks(settings: Settings) -> Iterator[Problem]:
    paths = {
        "adminPool.diskGb": settings.admin_pool,
        **{f"{pool.declared_at}.diskGb": pool for pool in _pools(settings)},
    }
    for path, pool in paths.items():
        if pool.disk_gb not in _DISK_GB:
            yield Problem(
                path,
                f"an AKS node's disk has {_DISK_GB.start} to {_DISK_GB.stop - 1} GB, not {pool.disk_gb}",
                f"Write {_DISK_GB.start if pool.disk_gb < _DISK_GB.start else _DISK_GB.stop - 1}",
            )


def _unneeded_minutes(settings: Settings) -> Iterator[Problem]:
    everywhere = settings.idle_minutes
    for pool in _pools(settings):
        if pool.unneeded_minutes not in (None, everywhere):
            yield Problem(
                f"{pool.declared_at}.unneededMinutes",
                f"AKS's autoscaler has one time for all pools, here {everywhere} minutes",
                f"Write autoscaling.unneededMinutes: {pool.unneeded_minutes} for all pools, and leave it out here",
            )


def _admin_pool(settings: Settings) -> Iterator[Problem]:
    pool = settings.admin_pool
    if pool.spot:
        yield Problem(
            "adminPool.capacity",
            "a system pool of AKS cannot be a spot pool (https://learn.microsoft.com/azure/aks/spot-node-pool)",
            "Write capacity: on-demand, or leave it out",
        )
    machine = catalog.machine(settings.cloud, pool.machine_type)
    if machine and (machine.vcpus < _SMALLEST_SYSTEM_VCPUS or machine.memory_gib < _SMALLEST_SYSTEM_GIB):
        yield Problem(
            "adminPool.machineType",
            f"a system pool needs machines of {_SMALLEST_SYSTEM_VCPUS} vCPUs and {_SMALLEST_SYSTEM_GIB} GiB at least",
            f"Write for example {catalog.of(settings.cloud).default_admin_machine}",
        )


def _control_plane(settings: Settings) -> Iterator[Problem]:
    network = settings.network
    if network.dns_endpoint:
        yield common.no_dns_endpoint("AKS")
    if network.control_plane_cidr is not None:
        yield Problem(
            "network.controlPlaneCidr",
            "the control plane of AKS is in a network of Azure's, whose addresses nobody can choose",
            "Leave it out",
        )
    if network.private_endpoint and network.authorized_networks:
        yield Problem(
            "network.authorizedNetworks",
            "AKS does not combine them with a private control plane "
            "(https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges)",
            "Leave them out: with privateEndpoint only the cluster's network reaches the control plane",
        )


def _registry(settings: Settings) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/container-registry/container-registry-retention-policy"""
    registry = settings.workloads.registry
    if registry is not None and registry.untagged_days is not None:
        yield Problem(
            "workloads.registry.untaggedDays",
            "Azure deletes untagged images by itself only in the Premium tier, which costs as much as a small machine "
            "while nobody uses it",
            "Leave it out, and run `acr purge` when the registry is full "
            "(https://learn.microsoft.com/azure/container-registry/container-registry-auto-purge)",
        )


def _existing_network(settings: Settings) -> Iterator[Problem]:
    existing = settings.network.existing
    if existing is None:
        return
    written = EXISTING_NETWORK.fullmatch(existing.network)
    if written is None or written["subscription"].lower() != settings.project.lower():
        yield Problem(
            "network.existing.network",
            f"'{existing.network}' is not the resource id of a virtual network of subscription {settings.project}",
            f"Write /subscriptions/{settings.project}/resourceGroups/<group>/providers/Microsoft.Network/"
            "virtualNetworks/<name>",
        )
    if len(existing.subnets) > 1:
        yield Problem(
            "network.existing.subnets",
            "all pools are in one subnet, which is in all zones",
            f"Write the name of one: subnets: [{existing.subnets[0]}]",
        )
    for key, name in (("podRange", existing.pod_range), ("serviceRange", existing.service_range)):
        if name is not None:
            yield Problem(
                f"network.existing.{key}",
                "a virtual network does not know the addresses of AKS's pods and services",
                f"Leave it out; {key.replace('Range', 'Cidr')} chooses them",
            )
    if not settings.network.private_endpoint:
        yield Problem(
            "network.privateEndpoint",
            "nodes reach a public control plane from the addresses of your network's way out, which would have to be "
            "among those that it lets in, and are not known here",
            "Write privateEndpoint: true, and run the program where the network is reached",
        )


def _ranges(settings: Settings) -> Iterator[Problem]:
    network = settings.network
    ranges = {"nodeCidr": network.node_cidr, "podCidr": network.pod_cidr, "serviceCidr": network.service_cidr}
    for key, written in ranges.items():
        taken = [kept for kept in _KEPT_RANGES if written and ip_network(written).overlaps(ip_network(kept))]
        if taken:
            yield Problem(
                f"network.{key}", f"{written} overlaps with what AKS keeps: {', '.join(taken)}", "Choose another range"
            )
    if ip_network(network.service_cidr).prefixlen < _LARGEST_SERVICE_PREFIX:
        yield Problem(
            "network.serviceCidr",
            f"{network.service_cidr} is larger than AKS takes",
            f"Write a range with prefix /{_LARGEST_SERVICE_PREFIX} or longer",
        )


def _pools(settings: Settings) -> list[Pool]:
    return [*settings.gpu_pools, *settings.cpu_pools]


def _disk_key(settings: Settings) -> Iterator[Problem]:
    """A set is of its disks' subscription: https://learn.microsoft.com/azure/virtual-machines/disk-encryption#restrictions"""
    match = ENCRYPTION_SET.fullmatch(settings.security.disk_key or "")
    if match is not None and match["subscription"].lower() != settings.project.lower():
        yield Problem(
            "security.diskKey",
            f"the set is in subscription {match['subscription']}, and the disks will be in {settings.project}",
            "Use a set of the same subscription and region; its key may be elsewhere",
        )
