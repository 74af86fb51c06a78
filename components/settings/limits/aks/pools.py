"""Valid pool settings that AKS does not support."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits import common
from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.aks.cloud import DRIVER_ON_UBUNTU_ONLY
from facts.catalog.aks.naming import POOL_NAME_LIMIT, pool_name
from facts.catalog.aks.nodes import most_nodes
from facts.concepts.counts import counted

# https://learn.microsoft.com/azure/aks/use-labels#reserved-prefixes
_OWN_PREFIX: Final = "kubernetes.azure.com/"
# https://learn.microsoft.com/azure/aks/use-system-pools
_SMALLEST_SYSTEM_VCPUS: Final = 2
_SMALLEST_SYSTEM_GIB: Final = 4
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/utils/gpu/gpu.go, and
# https://learn.microsoft.com/azure/aks/upgrade-os-version
FIRST_FOR_AMD: Final = 35

RESERVATION: Final = re.compile(
    r"(?P<group>/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<name>[^/]+))/providers/Microsoft\.Compute/"
    r"capacityReservationGroups/[^/]+",
    re.IGNORECASE,
)
"""The resource ID of a capacity reservation group; ``group`` is the ID of its resource group."""


def pool_problems(settings: Settings) -> Iterator[Problem]:
    """All problems, some more than once: a pool of several sizes or with a fallback is several specs."""
    if settings.autoscaler == "managed":
        yield from _pool_names(settings)
        yield from _one_type(settings)
        yield from _unneeded_minutes(settings)
    else:
        yield from _outside_zones(settings)
    yield from _drivers(settings)
    yield from common.partition_problems(settings)
    yield from _reservations(settings)
    yield from _labels_and_taints(settings)
    yield from _sizes(settings)
    yield from _upgrades(settings)
    yield from _admin_pool(settings)


def _pool_names(settings: Settings) -> Iterator[Problem]:
    """Different pool names that Azure's limit would make equal."""
    paths = {settings.admin_pool.name: "adminPool", **{pool.name: pool.declared_at for pool in settings.pools}}
    alike: dict[str, list[str]] = defaultdict(list)
    for name in paths:
        alike[pool_name(name)].append(name)
    for short, names in alike.items():
        for name in names[1:]:
            yield Problem(
                f"{paths[name]}.name",
                f"pool '{name}' would be '{short}' in Azure ({POOL_NAME_LIMIT} characters at most), as is '{names[0]}'",
                "Choose another name",
            )


def _one_type(settings: Settings) -> Iterator[Problem]:
    for pool in settings.pools:
        if len(pool.nodes.machine_types) > 1:
            yield Problem(
                f"{pool.declared_at}.machineType",
                f"the pool lists {len(pool.nodes.machine_types)} machine types, but a pool on aks has one",
                f"Write machineType: {pool.nodes.machine_type} or another of them, or write autoscaling.autoscaler: "
                "node-auto-provisioning",
            )


def _outside_zones(settings: Settings) -> Iterator[Problem]:
    """Whose label of the zone changed: https://github.com/Azure/karpenter-provider-azure/pull/1735."""
    outside = catalog.of(settings.cloud).outside_zones(settings.region)
    for pool in settings.pools:
        if outside in pool.nodes.zones:
            yield Problem(
                f"{pool.declared_at}.zones",
                f"{outside} is outside of all zones, and this program does not know how node auto-provisioning labels "
                "such nodes",
                "Write zones, or autoscaling.autoscaler: managed",
            )


def _drivers(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        needed = pool.gpus.drivers == "managed" or not pool.gpus.of_nvidia
        if needed and pool.nodes.image != "ubuntu" and pool.gpus.type in DRIVER_ON_UBUNTU_ONLY:
            yield Problem(
                f"{pool.declared_at}.image",
                f"AKS supports {pool.gpus.type} on Ubuntu only",
                "Write image: ubuntu, or leave it out",
            )
        version = settings.kubernetes.version
        if not pool.gpus.of_nvidia and version is not None and common.minor(version) < FIRST_FOR_AMD:
            yield Problem(
                "kubernetes.version",
                f"{pool.gpus.type} needs Ubuntu 24.04 and an autoscaler that counts {pool.gpus.resource}, which come "
                f"with Kubernetes 1.{FIRST_FOR_AMD}",
                f"Write '{common.oldest_version(settings, FIRST_FOR_AMD)}' or newer, or leave it out",
            )


def _reservations(settings: Settings) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups"""
    for pool in settings.gpu_pools:
        reservation = pool.scaling.reservation
        written = RESERVATION.fullmatch(reservation or "")
        if reservation is not None and (written is None or written["subscription"].lower() != settings.project.lower()):
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"'{reservation}' is not the resource id of a capacity reservation group of subscription "
                f"{settings.project}; AKS does not accept a name",
                f"Write /subscriptions/{settings.project}/resourceGroups/<group>/providers/Microsoft.Compute/"
                "capacityReservationGroups/<name>; the cluster's identity becomes Contributor of that resource group",
            )


def _labels_and_taints(settings: Settings) -> Iterator[Problem]:
    own_taints = catalog.of(settings.cloud).labels.spot_taints
    for pool in settings.pools:
        for key in sorted(key for key in pool.nodes.labels if key.startswith(_OWN_PREFIX)):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                f"labels that begin with {_OWN_PREFIX} are reserved by AKS",
                "Leave it out, or name it in a domain of your own, such as "
                f"'example.com/{key.removeprefix(_OWN_PREFIX)}'",
            )
        for taint in pool.nodes.taints:
            if taint.key.startswith(_OWN_PREFIX) and taint not in own_taints:
                yield Problem(
                    f"{pool.declared_at}.taints",
                    f"taints that begin with {_OWN_PREFIX} are reserved by AKS: {taint}",
                    "Leave it out (AKS taints spot nodes by itself), or use a domain of your own",
                )


def _sizes(settings: Settings) -> Iterator[Problem]:
    for pool in settings.pools:
        if pool.scaling.max_nodes > (most := most_nodes(pool.nodes.machine_type)):
            yield Problem(
                f"{pool.declared_at}.maxNodes",
                f"an AKS pool of {pool.nodes.machine_type} has at most {most} nodes",
                f"Write {most} or less, and further pools for more nodes",
            )


def _upgrades(settings: Settings) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling"""
    for pool in settings.pools:
        if pool.nodes.upgrade is None:
            continue
        surge, missing = pool.nodes.upgrade.max_surge, pool.nodes.upgrade.max_unavailable
        if not surge and not missing and (surge, missing) != (None, None):
            yield Problem(
                f"{pool.declared_at}.upgrade", "AKS upgrades at least 1 node at a time", "Write maxUnavailable: 1"
            )
        if all(each.scaling.spot for each in settings.pools if each.declared_at == pool.declared_at):
            yield Problem(
                f"{pool.declared_at}.upgrade",
                "AKS has no upgrade settings for spot pools (https://learn.microsoft.com/azure/aks/spot-node-pool)",
                "Leave it out",
            )


def _unneeded_minutes(settings: Settings) -> Iterator[Problem]:
    if settings.existing_cluster is not None:
        for pool in settings.pools:
            if pool.scaling.unneeded_minutes is not None:
                yield Problem(
                    f"{pool.declared_at}.unneededMinutes",
                    "AKS's autoscaler has one idle time for all pools, which the cluster's owner sets",
                    "Leave it out; the preview says what it is",
                )
        return
    everywhere = settings.idle_minutes
    for pool in settings.pools:
        if (minutes := pool.scaling.unneeded_minutes) not in (None, everywhere):
            yield Problem(
                f"{pool.declared_at}.unneededMinutes",
                f"AKS's autoscaler has one idle time for all pools, here {counted(everywhere, 'minute')}",
                f"Write autoscaling.unneededMinutes: {minutes} for all pools, and leave it out here",
            )


def _admin_pool(settings: Settings) -> Iterator[Problem]:
    pool = settings.admin_pool
    machine = catalog.of(settings.cloud).machines.get(pool.nodes.machine_type)
    if machine and (machine.vcpus < _SMALLEST_SYSTEM_VCPUS or machine.memory_gib < _SMALLEST_SYSTEM_GIB):
        yield Problem(
            "adminPool.machineType",
            f"a system pool needs machines with at least {_SMALLEST_SYSTEM_VCPUS} vCPUs and {_SMALLEST_SYSTEM_GIB} GiB",
            f"Write for example {catalog.of(settings.cloud).machines.default_admin}",
        )
