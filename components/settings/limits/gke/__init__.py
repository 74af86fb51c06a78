"""Valid settings that GKE does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits import common, rows
from components.settings.limits.gke.pools import pool_problems
from components.settings.limits.gke.refused import FORMS, REFUSED
from components.settings.pools.settings import Settings
from facts.catalog import tables
from facts.catalog.gke.networks import NAME, PRIVATE_RANGES
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import CLASS_LABEL

# Hours open to upgrades in any so many days, which 4 a week are. Older copies of the page say 32 days, of
# the time when an exclusion had 30 days and not 90: both leave 48 hours.
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window
_OPEN_HOURS, _COUNTED_DAYS = 48, 92
# Without any upgrade: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
_MOST_EXCLUSIONS: Final = 3

_OWN_LABELS: Final = frozenset(row["label"] for row in tables.rows("gke", "own_labels"))


def _exclusions(settings: Settings) -> Iterator[Problem]:
    """One that is too long leaves fewer weekly windows open than the hours need."""
    maintenance = settings.maintenance
    longest = _COUNTED_DAYS - 7 * math.ceil(_OPEN_HOURS / maintenance.hours)
    for index, exclusion in enumerate(maintenance.exclusions):
        if exclusion.days > longest:
            message = f"{exclusion.days} days without upgrades, but GKE allows at most {longest}"
            yield Problem(f"maintenance.exclusions[{index}].last", message, "Write an earlier day")
    if (count := len(maintenance.exclusions)) > _MOST_EXCLUSIONS:
        message = f"GKE supports {_MOST_EXCLUSIONS} exclusions; there are {count}"
        yield Problem("maintenance.exclusions", message, "Remove past exclusions")


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
        name = pool.nodes.labels.get(CLASS_LABEL)
        if name is not None and Taint(CLASS_LABEL, name, "NoSchedule") not in pool.nodes.taints:
            yield Problem(
                f"{pool.declared_at}.labels.{CLASS_LABEL}",
                "GKE needs the same taint on the nodes of a ComputeClass",
                f"Add taints: [{{key: {CLASS_LABEL}, value: {name}, effect: NoSchedule}}], or leave the label out",
            )
        own = pool.nodes.cloud_labels
        for key in sorted(
            key for key in _OWN_LABELS & pool.nodes.labels.keys() if own.get(key) != pool.nodes.labels[key]
        ):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                "GKE sets this label itself",
                f"Leave it out, or name it in a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
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


def _private_endpoint(settings: Settings) -> Iterator[Problem]:
    """GKE's words: "is not a reserved network, which is required for private endpoints"
    (https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/153)."""
    if not settings.network.private_endpoint:
        return
    for index, allowed in enumerate(settings.network.authorized_networks):
        if not any(IPv4Network(allowed.cidr).subnet_of(private) for private in PRIVATE_RANGES):
            yield Problem(
                f"network.authorizedNetworks[{index}].cidr",
                f"{allowed.cidr} is public, but a private endpoint is reachable from private addresses only",
                "Write the range inside your network, such as 10.20.0.0/16, or privateEndpoint: false",
            )


def addresses_off(settings: Settings) -> bool:
    """Whether ``raw`` leaves the control plane its name alone."""
    ways = settings.raw.get("controlPlaneEndpointsConfig") or {}
    return bool((ways.get("ipEndpointsConfig") or {}).get("enabled") is False)


def _addresses(settings: Settings) -> Iterator[Problem]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/concepts/network-isolation"""
    if not addresses_off(settings):
        return
    network, off = settings.network, "raw switches the control plane's addresses off"
    if not network.dns_endpoint:
        yield Problem("network.dnsEndpoint", f"{off}, so nobody could reach it", "Write dnsEndpoint: true")
    if network.authorized_networks:
        yield Problem("network.authorizedNetworks", f"{off}, which these ranges are for", "Leave it out")
    if network.private_endpoint:
        yield Problem("network.privateEndpoint", f"{off}, also the private one", "Leave it out")


def _existing_network(settings: Settings) -> Iterator[Problem]:
    """Names as in https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-shared-vpc."""
    existing = settings.network.existing
    if existing is not None and len(existing.subnets) != 1:
        yield Problem(
            "network.existing.subnets",
            "a GKE cluster uses one subnet, which spans all zones of its region",
            "Write the name of one: subnets: [nodes]",
        )
    elif existing is not None and not re.fullmatch(NAME, existing.subnets[0]):
        name = existing.subnets[0].rpartition("/")[2]
        yield Problem(
            "network.existing.subnets",
            f"'{existing.subnets[0]}' is no name of a subnet",
            f"Write the name alone: subnets: [{name if re.fullmatch(NAME, name) else 'nodes'}]",
        )


CHECKS: Final = (
    functools.partial(rows.refused, rows=REFUSED),
    common.version_problems,
    functools.partial(common.partition_problems, otherwise=" and write timeSharing: {clientsPerGpu: 2}"),
    _labels,
    _resource_labels,
    functools.partial(rows.other_forms, forms=FORMS),
    _people,
    _exclusions,
    _private_endpoint,
    _addresses,
    _existing_network,
    pool_problems,
)
"""What GKE does not support."""
