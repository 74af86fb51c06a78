"""Valid settings that AKS does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits import common, rows
from components.settings.limits.aks import network
from components.settings.limits.aks.pools import pool_problems
from components.settings.limits.aks.refused import FORMS, GUID, REFUSED
from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.aks.resource_ids import ENCRYPTION_SET, IDENTITY


def _account(settings: Settings) -> Iterator[Problem]:
    if not GUID.fullmatch(settings.project):
        key = catalog.of(settings.cloud).account.key
        yield Problem(
            key,
            f"'{settings.project}' is not a subscription ID",
            f"Write the ID that 'az account show --query id' prints: pulumi config set {key} <id>",
        )


def _disk_key(settings: Settings) -> Iterator[Problem]:
    """A set must be in its disks' subscription: https://learn.microsoft.com/azure/virtual-machines/disk-encryption#restrictions"""
    match = ENCRYPTION_SET.fullmatch(settings.security.disk_key or "")
    if match is not None and match["subscription"].lower() != settings.project.lower():
        yield Problem(
            "security.diskKey",
            f"the disk encryption set is in subscription {match['subscription']}, not in {settings.project}",
            "Use a disk encryption set of the same subscription and region; its key may be elsewhere",
        )


def _identities(settings: Settings) -> Iterator[Problem]:
    """The provider looks up nothing in other subscriptions, and Azure wants the identities' object ids."""
    security = settings.security
    for key, id in (
        ("nodeIdentity", security.node_identity),
        ("controlPlaneIdentity", security.control_plane_identity),
    ):
        match = IDENTITY.fullmatch(id or "")
        if match is not None and match["subscription"].lower() != settings.project.lower():
            yield Problem(
                f"security.{key}",
                f"the identity is in subscription {match['subscription']}, not in {settings.project}",
                f"Write /subscriptions/{settings.project}/resourceGroups/<group>/providers/Microsoft.ManagedIdentity/"
                "userAssignedIdentities/<name>; its roles may be on resources of other subscriptions",
            )


def _joined(settings: Settings) -> Iterator[Problem]:
    if settings.existing_cluster is not None and settings.existing_cluster.resource_group is None:
        yield Problem(
            "existingCluster.resourceGroup",
            "missing: Azure knows a cluster by its name in a resource group",
            "Write the group that az aks list -o table prints, not the group of its nodes, which begins with MC_",
        )


CHECKS: Final = (
    functools.partial(rows.refused, rows=REFUSED),
    network.existing,
    _account,
    common.version_problems,
    functools.partial(rows.other_forms, forms=FORMS),
    pool_problems,
    _disk_key,
    _identities,
    network.range_problems,
    _joined,
)
"""What AKS does not support."""
