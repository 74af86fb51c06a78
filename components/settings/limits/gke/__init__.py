"""Valid settings that GKE does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Final

from components.settings.limits import common, keys, windows
from components.settings.limits.gke.pools import pool_problems
from components.settings.problems import Problem
from components.settings.settings import Settings
from facts.catalog import tables
from facts.catalog.gke.networks import EXISTING_NETWORK, NAME, PRIVATE_RANGES
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import CLASS_LABEL

# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#master_ipv4_cidr_block
_CONTROL_PLANE_PREFIX: Final = 28

# 48 hours in any 92 days: https://cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window; three exclusions
# without any upgrade: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions.
# Earlier copies count 32 days, so 12 hours in each of the four whole weeks, which satisfy both.
_OPEN_HOURS, _COUNTED_DAYS = 48, 92
_WINDOWS: Final = windows.Windows(least_hours=12, most_exclusions=3)

_OWN_LABELS: Final = frozenset(row["label"] for row in tables.rows("gke", "own_labels"))


def refusals(settings: Settings) -> Iterator[Problem]:
    """The settings that GKE does not support."""
    yield from keys.refused(settings)
    yield from common.version_problems(settings)
    yield from common.partition_problems(settings, "; or timeSharing: {clientsPerGpu: 2}")
    yield from _labels(settings)
    yield from _resource_labels(settings)
    yield from keys.other_forms(settings, known={"network": EXISTING_NETWORK})
    yield from _data_key(settings)
    yield from _people(settings)
    yield from windows.problems(settings, _windows(settings))
    yield from _control_plane(settings)
    yield from _private_endpoint(settings)
    yield from _existing_network(settings)
    yield from pool_problems(settings)


def _windows(settings: Settings) -> windows.Windows:
    """An exclusion leaves as many weekly windows open as the hours need."""
    weeks = math.ceil(_OPEN_HOURS / settings.maintenance.hours)
    return replace(_WINDOWS, longest_exclusion_days=_COUNTED_DAYS - 7 * weeks)


def _data_key(settings: Settings) -> Iterator[Problem]:
    """https://docs.cloud.google.com/filestore/docs/cmek#supported_tiers"""
    if settings.security.data_key is None:
        return
    if settings.workloads.registry is None and settings.workloads.checkpoints is None:
        yield Problem(
            "security.dataKey",
            "nothing to encrypt: the stack has neither a registry nor checkpoints",
            "Leave it out, or set workloads: {registry: {}, checkpoints: {}}",
        )
    if settings.workloads.shared_volume is not None:
        yield Problem(
            "workloads.sharedVolume",
            "Filestore's basic tier, which the program uses, cannot be encrypted with security.dataKey",
            "Leave one of the two out, or mount a Filestore instance of the zonal tier with your own PersistentVolume",
        )


def _resource_labels(settings: Settings) -> Iterator[Problem]:
    """Google reserves these keys: https://github.com/openshift/hypershift/pull/7251 lists its prefixes."""
    for key in settings.labels:
        if key.startswith("goog"):
            yield Problem(f"labels.{key}", "keys that begin with 'goog' are reserved by Google", "Write another key")


def _labels(settings: Settings) -> Iterator[Problem]:
    """A ComputeClass finds its pools by a label with a taint, and the API was seen to refuse the label:
    https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes#manual-node-pools,
    https://github.com/hashicorp/terraform-provider-google/pull/19677"""
    for pool in settings.pools:
        name = pool.labels.get(CLASS_LABEL)
        if name is not None and Taint(CLASS_LABEL, name, "NoSchedule") not in pool.taints:
            yield Problem(
                f"{pool.declared_at}.labels.{CLASS_LABEL}",
                "GKE needs the same taint on the nodes of a ComputeClass",
                f"Add taints: [{{key: {CLASS_LABEL}, value: {name}, effect: NoSchedule}}], or leave the label out",
            )
        for key in sorted(_OWN_LABELS & pool.labels.keys()):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                "GKE sets this label itself",
                f"Leave it out, or use a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _people(settings: Settings) -> Iterator[Problem]:
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
